import { expect, test } from 'vitest';
import { startNextSegment } from '../../kernel/segment/segments.ts';
import { invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  refusal,
  task,
} from '../../verbs.ts';
import { deadGroups, die, list, redrive, rerun } from '../bulk_changes/bulk_changes.ts';

databasePerFile();
invariantsAfterEach();
let count = 0;

const queue = () => `d${++count}`;
const brief = async (q: string) =>
  (await deadGroups(client, q)).map(({ error, tasks }) => [error, tasks]);

test('dead tasks are grouped by their error message, the most frequent first', async () => {
  const q = queue();
  const text = 'long '.repeat(100);
  const ids = await die(client, q, [
    { name: 'Error', message: 'timeout' },
    'no such user',
    { message: 'timeout', stack: 'elsewhere' },
    { code: 7 },
    text,
    null,
    { message: 'timeout' },
    'no such user',
  ]);
  const groups = await deadGroups(client, q);
  expect(groups.slice(0, 2)).toMatchObject([
    { error: 'timeout', tasks: 3, newest_id: ids[6], counted_all: true },
    { error: 'no such user', tasks: 2, newest_id: ids[7] },
  ]);
  const rest = groups.slice(2).map(({ error, tasks }) => `${tasks} ${error}`);
  expect(rest.sort()).toEqual([`1 ${text.slice(0, 200)}`, '1 null', '1 {"code": 7}']);
  expect(groups[0]?.newest_at).toBeInstanceOf(Date);
  expect(await deadGroups(client, q, 1)).toHaveLength(1);
});

test("retried, completed and other queues' tasks are in no group, and lost ones are", async () => {
  const q = queue();
  await die(client, queue(), ['elsewhere']);
  await client.query(`select tock.put_queue($1, '{"max_lost": 1}')`, [q]);
  await enqueue(client, q, [{}, {}, {}]);
  const runs = await claim(client, q, { limit: 3 });
  const [a = '', b = '', lost = ''] = runs.map((run) => run.id);
  await fail(client, leaseOf(runs), [{ id: a, error: 'goes on' }]);
  await complete(client, leaseOf(runs), [{ id: b, result: 1 }]);
  expect(await deadGroups(client, q)).toEqual([]);
  await expire(client, leaseOf(runs));
  await reap(client);
  expect(await deadGroups(client, q)).toMatchObject([{ tasks: 1, newest_id: lost }]);
});

test('a bounded number of dead tasks is counted, and the answer tells that there are more', async () => {
  const q = queue();
  await die(client, q, Array(20).fill('x'));
  expect(await deadGroups(client, q, 100, 5)).toMatchObject([{ tasks: 5, counted_all: false }]);
  await redrive(client, q);
  expect(await deadGroups(client, q, 100, 5)).toMatchObject([{ tasks: 0, counted_all: false }]);
  expect(await deadGroups(client, q)).toEqual([]);
});

test('dead tasks are redriven once, with their options, and show it', async () => {
  const q = queue();
  const ids = await die(client, q, ['a', 'b', 'a'], { priority: 3, tenant: 't' });
  const done = await redrive(client, q, { reason: 'mended' });
  expect(done).toMatchObject({ redriven: 3, cursor: null });
  expect(await redrive(client, q)).toMatchObject({ redriven: 0, ids: [], cursor: null });
  expect(await brief(q)).toEqual([]);
  expect((await list(client, { queue: q, state: 'dead', rerun: false })).tasks).toEqual([]);
  expect((await list(client, { queue: q, state: 'dead', rerun: true })).tasks).toHaveLength(3);
  const got = (await drain(client, q)).flat();
  expect(got.map((run) => run.payload).toSorted()).toEqual([0, 1, 2]);
  expect(got[0]).toMatchObject({ priority: 3, tenant: 't', attempt: 1 });
  expect(got.map((run) => run.id).toSorted()).toEqual(done.ids.toSorted());
  const stored = (await task(client, ids[0] as string)) as unknown as { reruns: { id: string }[] };
  expect(stored.reruns).toMatchObject([{ kind: 'redrive', reason: 'mended' }]);
  expect(await task(client, stored.reruns[0]?.id as string)).toMatchObject({ rerun_of: ids[0] });
});

test('dead tasks are redriven by error, and by tenant', async () => {
  const q = queue();
  const errors = ['a', { message: 'b' }, 'a', { message: 'b' }];
  await die(client, q, errors, { tenant: 'one' });
  await die(client, q, ['a'], { tenant: 'two' });
  expect(await redrive(client, q, { error: 'b' })).toMatchObject({ redriven: 2 });
  expect(await redrive(client, q, { error: 'a', tenant: 'two' })).toMatchObject({ redriven: 1 });
  expect(await brief(q)).toEqual([['a', 2]]);
  expect(await redrive(client, q, { error: 'nobody says this' })).toMatchObject({ redriven: 0 });
});

/** Claims all tasks and fails each for good. */
async function killAll(q: string) {
  for (const runs of await drain(client, q))
    await fail(client, leaseOf(runs), { error: 'x', fatal: true });
}

test.each([false, true])(
  'a redrive in parts ends though all tasks die again; again: %s',
  async (again) => {
    const q = queue();
    const ids = await die(client, q, Array(25).fill('x'));
    const made = new Set<string>();
    let cursor: string | null = null;
    let calls = 0;
    do {
      const part = await redrive(client, q, { limit: 10, cursor, again });
      expect(part.redriven).toBeLessThanOrEqual(10);
      for (const id of part.ids) made.add(id);
      cursor = part.cursor;
      await killAll(q);
    } while (cursor !== null && ++calls < 10);
    expect([cursor, made.size]).toEqual([null, 25]);
    expect(await brief(q)).toEqual([['x', 25]]);
    expect(await task(client, ids[7] as string)).toMatchObject({ reruns: [{}] });
    if (!again) return;
    // With again, tasks that were redriven before are redriven once more.
    expect(await redrive(client, q, { again })).toMatchObject({ redriven: 50 });
    expect(await task(client, ids[7] as string)).toMatchObject({ reruns: [{}, {}] });
  },
);

test('a redrive repeated with its request id gives the same ids and redrives nothing more', async () => {
  const q = queue();
  await die(client, q, Array(6).fill('x'));
  const first = await redrive(client, q, { limit: 4, request_id: 'r' });
  expect(await redrive(client, q, { limit: 4, request_id: 'r' })).toEqual(first);
  expect((await drain(client, q)).flat()).toHaveLength(4);
  const refused = await refusal(redrive(client, q, { limit: 5, request_id: 'r' }));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'request_id' });
});

test('a task that was rerun by its id is not redriven, and a redriven task can be rerun', async () => {
  const q = queue();
  const [a, b] = (await die(client, q, ['x', 'x'])) as [string, string];
  await rerun(client, [a]);
  expect(await redrive(client, q)).toMatchObject({ redriven: 1 });
  expect(await rerun(client, [b])).toMatchObject([{ refused: null }]);
  expect((await drain(client, q)).flat()).toHaveLength(3);
});

test('dead tasks of earlier segments are grouped and redriven too', async () => {
  const q = queue();
  const old = await die(client, q, ['old', 'old']);
  await startNextSegment(client);
  const young = await die(client, q, ['young']);
  expect(await brief(q)).toEqual([
    ['old', 2],
    ['young', 1],
  ]);
  const tasks = (await list(client, { queue: q, state: 'dead' })).tasks.map(({ id }) => id);
  expect(tasks).toEqual([...young, ...old.toReversed()]);
  expect(await redrive(client, q)).toMatchObject({ redriven: 3, cursor: null });
  expect((await drain(client, q)).flat()).toHaveLength(3);
});

test('invalid arguments are refused with their field', async () => {
  const q = queue();
  for (const [detail, call] of [
    ['queue', () => redrive(client, '-')],
    ['queue', () => redrive(client, q, { to_queue: '*' })],
    ['limit', () => redrive(client, q, { limit: 10_001 })],
    ['cursor', () => redrive(client, q, { cursor: 'zz' })],
    ['limit', () => deadGroups(client, q, 0)],
    ['scan_limit', () => deadGroups(client, q, 1, 0)],
  ] as const)
    expect(await refusal(call())).toMatchObject({ code: 'TK422', detail });
});
