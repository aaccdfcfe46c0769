import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { createSegments } from '../../kernel/segment/segments.ts';
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
let count = 0;

const queue = () => `d${++count}`;
const brief = async (q: string) =>
  (await deadGroups(client, q)).map(({ error, tasks }) => [error, tasks]);

test('dead tasks are grouped by their error message, the most frequent first', async () => {
  const q = queue();
  const text = `${'long '.repeat(100)}`;
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
  const rest = groups.slice(2).map(({ error, tasks }) => [error, tasks]);
  expect(new Map(rest as [string, number][])).toEqual(
    new Map<unknown, number>([
      ['{"code": 7}', 1],
      [text.slice(0, 200), 1],
      [null, 1],
    ]),
  );
  expect(groups[0]?.newest_at).toBeInstanceOf(Date);
  expect(await deadGroups(client, q, 1)).toHaveLength(1);
});

test("retried, completed and other queues' tasks are in no group", async () => {
  const q = queue();
  await die(client, queue(), ['elsewhere']);
  await enqueue(client, q, [{}, {}, {}]);
  const runs = await claim(client, q, { limit: 3 });
  const [a = '', b = ''] = runs.map((run) => run.id);
  await fail(client, leaseOf(runs), [{ id: a, error: 'goes on' }]);
  await complete(client, leaseOf(runs), [{ id: b, result: 1 }]);
  expect(await deadGroups(client, q)).toEqual([]);
});

test('a task that was lost too often counts as dead', async () => {
  const q = queue();
  await client.query(`select tock.put_queue($1, '{"max_lost": 1}')`, [q]);
  const [id] = await enqueue(client, q, [{}]);
  await expire(client, leaseOf(await claim(client, q)));
  await reap(client);
  expect(await deadGroups(client, q)).toMatchObject([{ tasks: 1, newest_id: id }]);
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
  await expectInvariants(client);
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

test('a redrive is bounded and continues by its cursor until all are redriven', async () => {
  const q = queue();
  const ids = await die(client, q, Array(25).fill('x'));
  const made = new Set<string>();
  let cursor: string | null = null;
  let calls = 0;
  do {
    const part = await redrive(client, q, { limit: 10, cursor });
    expect(part.redriven).toBeLessThanOrEqual(10);
    for (const id of part.ids) made.add(id);
    cursor = part.cursor;
    calls++;
  } while (cursor);
  expect([made.size, calls]).toEqual([25, 3]);
  const again = await redrive(client, q, { again: true });
  expect(again.redriven).toBe(25);
  expect((await drain(client, q)).flat()).toHaveLength(50);
  expect(await task(client, ids[3] as string)).toMatchObject({ reruns: [{}, {}] });
});

/** Claims all tasks and fails each for good. */
async function killAll(q: string) {
  for (;;) {
    const runs = await claim(client, q, { limit: 100 });
    if (runs.length === 0) return;
    await fail(client, leaseOf(runs), { error: 'x', fatal: true });
  }
}

test.each([false, true])('a redrive ends though all tasks die again; again: %s', async (again) => {
  const q = queue();
  const ids = await die(client, q, Array(25).fill('x'));
  const made = new Set<string>();
  let cursor: string | null = null;
  let calls = 0;
  do {
    const part = await redrive(client, q, { limit: 10, cursor, again });
    for (const id of part.ids) made.add(id);
    cursor = part.cursor;
    await killAll(q);
  } while (cursor !== null && ++calls < 10);
  expect([cursor, made.size]).toEqual([null, 25]);
  expect(await brief(q)).toEqual([['x', 25]]);
  expect(await task(client, ids[7] as string)).toMatchObject({ reruns: [{}] });
});

test('a redrive repeated with its request id gives the same ids and redrives nothing more', async () => {
  const q = queue();
  await die(client, q, Array(6).fill('x'));
  const first = await redrive(client, q, { limit: 4, request_id: 'r' });
  expect(await redrive(client, q, { limit: 4, request_id: 'r' })).toEqual(first);
  expect((await drain(client, q)).flat()).toHaveLength(4);
  expect(await refusal(redrive(client, q, { limit: 5, request_id: 'r' }))).toMatchObject({
    code: 'TK422',
    detail: 'request_id',
  });
});

test('a redriven task is sent to another queue when that is named', async () => {
  const [q, other] = [queue(), queue()];
  await die(client, q, ['x'], { tenant: 't' });
  const { ids } = await redrive(client, q, { to_queue: other });
  expect(await claim(client, q)).toEqual([]);
  expect(await claim(client, other)).toMatchObject([{ id: ids[0], tenant: 't' }]);
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
  await client.query(
    `select setval('tock.positions', e.end_position) from tock.segments e where e.number = tock.newest_segment()`,
  );
  await createSegments(client);
  const young = await die(client, q, ['young']);
  expect(await brief(q)).toEqual([
    ['old', 2],
    ['young', 1],
  ]);
  const tasks = (await list(client, { queue: q, state: 'dead' })).tasks.map(({ id }) => id);
  expect(tasks).toEqual([...young, ...old.toReversed()]);
  expect(await redrive(client, q)).toMatchObject({ redriven: 3, cursor: null });
  expect((await drain(client, q)).flat()).toHaveLength(3);
  await expectInvariants(client);
});

test('invalid arguments are refused with their field', async () => {
  const q = queue();
  const fields = async (promise: Promise<unknown>) => {
    const { code, detail } = await refusal(promise);
    return [code, detail];
  };
  expect(await fields(redrive(client, '-'))).toEqual(['TK422', 'queue']);
  expect(await fields(redrive(client, q, { to_queue: '*' }))).toEqual(['TK422', 'queue']);
  expect(await fields(redrive(client, q, { limit: 10_001 }))).toEqual(['TK422', 'limit']);
  expect(await fields(redrive(client, q, { cursor: 'zz' }))).toEqual(['TK422', 'cursor']);
  expect(await fields(deadGroups(client, q, 0))).toEqual(['TK422', 'limit']);
  expect(await fields(deadGroups(client, q, 1, 0))).toEqual(['TK422', 'scan_limit']);
});
