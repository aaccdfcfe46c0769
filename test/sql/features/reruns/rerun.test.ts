import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import {
  cancel,
  change,
  erase,
  type State,
  states,
  taskInState,
} from '../../kernel/change/changes.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, drain, enqueue, leaseOf, refusal, rows, task } from '../../verbs.ts';
import { rerun } from '../bulk_changes/bulk_changes.ts';

databasePerFile();
let count = 0;

const queue = () => `r${++count}`;
const ended: State[] = ['done', 'dead', 'cancelled'];

test.each(states)(
  'a %s task is run again when it has ended, and refused when not',
  async (state) => {
    const q = queue();
    const { id } = await taskInState(client, q, state);
    const [row] = await rerun(client, [id]);
    if (!ended.includes(state)) {
      expect(row).toEqual({ id, state, rerun_id: null, refused: 'unfinished' });
      expect(await rows(client, 'select from tock.reruns where of_id = $1', [id])).toEqual([]);
      return;
    }
    expect(row).toMatchObject({ id, state, refused: null });
    const again = row?.rerun_id as string;
    expect(await claim(client, q, { limit: 9 })).toMatchObject([
      { id: again, attempt: 1, payload: 'as sent' },
    ]);
    expect((await task(client, id))?.state).toBe(state);
    await expectInvariants(client);
  },
);

test('a rerun has the last payload and options of its task, and both name each other', async () => {
  const q = queue();
  const backoff = { kind: 'fixed' };
  const own = { payload: 1, priority: 2, tenant: 't', max_attempts: 3, backoff };
  const [id = ''] = await enqueue(client, q, [own]);
  await change(client, [id], { payload: { changed: true }, priority: 7 });
  await complete(client, leaseOf(await claim(client, q)));
  const [row] = await rerun(client, [id], null, 'a new rule');
  const rerun_id = row?.rerun_id as string;
  expect(await task(client, rerun_id)).toMatchObject({
    ...{ state: 'ready', queue: q, payload: { changed: true }, priority: 7, tenant: 't' },
    ...{ max_attempts: 3, attempt: 1, options: { backoff }, rerun_of: id, reruns: [] },
  });
  const reruns = [{ id: rerun_id, kind: 'rerun', reason: 'a new rule' }];
  expect(await task(client, id)).toMatchObject({ state: 'done', rerun_of: null, reruns });
  const lane = `select lane >= 1024 as asks, priority from tock.streams
    where number = $1::bigint & 1048575`;
  expect(await rows(client, lane, [rerun_id])).toEqual([{ asks: true, priority: 7 }]);
  await expectInvariants(client);
});

test('a rerun repeated with its request id gives the same ids and runs nothing twice', async () => {
  const q = queue();
  const tasks = [await taskInState(client, q, 'done'), await taskInState(client, q, 'cancelled')];
  const late = await taskInState(client, queue(), 'running');
  const ids = [...tasks, late].map(({ id }) => id);
  const first = await rerun(client, ids, 'again');
  expect(first.map((row) => row.refused)).toEqual([null, null, 'unfinished']);
  await complete(client, late.lease);
  expect(await rerun(client, ids.toReversed(), 'again')).toEqual(first);
  expect((await drain(client, q)).flat()).toHaveLength(2);
  const refused = await refusal(rerun(client, ids.slice(1), 'again'));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'request_id' });
  const second = await rerun(client, ids, 'once more');
  expect(new Set([...first, ...second].map((row) => row.rerun_id)).size).toBe(6);
});

test('a rerun can be repeated with another plan and with its ids in another order', async () => {
  const ids: string[] = [];
  for (const q of [queue(), queue(), queue()]) {
    for (let n = 0; n < 4; n++) ids.unshift((await taskInState(client, q, 'done')).id);
  }
  const [sorting, hashing] = [await db.connect(), await db.connect()];
  await sorting.query('set enable_hashagg = off');
  await hashing.query('set enable_sort = off');
  const first = await rerun(hashing, ids, 'planned');
  expect(await rerun(sorting, ids.toSorted(), 'planned')).toEqual(first);
  expect(await rerun(hashing, ids.toReversed(), 'planned')).toEqual(first);
});

test('a rerun that was refused leaves its request id free for when the task has ended', async () => {
  const q = queue();
  const { id, lease } = await taskInState(client, q, 'running');
  expect(await rerun(client, [id], 'early')).toMatchObject([{ refused: 'unfinished' }]);
  await complete(client, lease);
  const first = await rerun(client, [id], 'early');
  expect(first).toMatchObject([{ state: 'done', refused: null }]);
  expect(await rerun(client, [id], 'early')).toEqual(first);
  expect((await drain(client, q)).flat()).toHaveLength(1);
});

test("a rerun's request id belongs to the queues of its tasks", async () => {
  const [q, other] = [queue(), queue()];
  const [a, b, c] = await Promise.all([q, q, other].map((at) => taskInState(client, at, 'done')));
  const ids = [a, b, c].map((row) => row?.id as string) as [string, string, string];
  const first = await rerun(client, [ids[0], ids[2]], 'same');
  // This task is in another queue, so the same request id is a different one.
  const apart = await taskInState(client, queue(), 'done');
  expect(await rerun(client, [apart.id], 'same')).toMatchObject([{ refused: null }]);
  expect(await rerun(client, [ids[2], ids[0]], 'same')).toEqual(first);
  for (const some of [[ids[1]], [ids[2]], [ids[1], apart.id], [...ids, apart.id]]) {
    const rejection = await refusal(rerun(client, some, 'same'));
    expect(rejection).toMatchObject({ code: 'TK422', detail: 'request_id' });
  }
  expect((await drain(client, q)).flat()).toHaveLength(1);
  expect(await rerun(client, ['9223372036854775807'], 'same')).toEqual([]);
});

test('with p_again false a task that has a rerun is left out', async () => {
  const q = queue();
  const ids = await enqueue(client, q, [{}, {}]);
  for (const runs of await drain(client, q)) await complete(client, leaseOf(runs));
  const call = (which: string[]) =>
    rows(client, 'select id, refused from tock.rerun(p_ids => $1, p_again => false)', [which]);
  expect(await call(ids.slice(0, 1))).toEqual([{ id: ids[0], refused: null }]);
  expect(await call(ids)).toEqual([
    { id: ids[0], refused: 'rerun' },
    { id: ids[1], refused: null },
  ]);
  expect((await drain(client, q)).flat()).toHaveLength(2);
});

test('an erased task is not rerun, and unknown ids are left out', async () => {
  const q = queue();
  const { id } = await taskInState(client, q, 'done');
  await erase(client, id);
  const other = await taskInState(client, q, 'dead');
  const answer = await rerun(client, [id, other.id, '9223372036854775807']);
  expect(answer).toMatchObject([
    { id, state: 'done', rerun_id: null, refused: 'erased' },
    { id: other.id, refused: null },
  ]);
  expect((await drain(client, q)).flat()).toHaveLength(1);
  // A task without a payload is not an erased one.
  const [empty] = (await enqueue(client, q, [{}])) as [string];
  await cancel(client, [empty]);
  expect(await rerun(client, [empty])).toMatchObject([{ refused: null }]);
});

test('a rerun of a task with a concurrency key waits for admission, and one with a unique key loses that key', async () => {
  const q = queue();
  const ids = await enqueue(client, q, [
    { payload: 'g', concurrency_key: 'a', delay_seconds: 1000 },
    { payload: 'u', unique_key: 'k', delay_seconds: 1000 },
  ]);
  await cancel(client, ids);
  const again = await rerun(client, ids);
  const [limited, keyed] = await Promise.all(
    ids.map((id) => task(client, again.find((row) => row.id === id)?.rerun_id as string)),
  );
  expect(limited).toMatchObject({ state: 'waiting', options: { concurrency_key: 'a' } });
  expect(keyed).toMatchObject({ state: 'ready', options: null, payload: 'u' });
});

test('an expired task runs again, and does not expire at once', async () => {
  const q = queue();
  const [waits, ready] = (await enqueue(client, q, [
    { payload: 'w', delay_seconds: 1000, expires_in_seconds: 2000 },
    { payload: 'r', expires_in_seconds: 2000 },
  ])) as [string, string];
  const past = `options || '{"expires_at": "2020-01-01T00:00:00Z"}'`;
  await client.query(`update tock.waiting set options = ${past} where queue = $1`, [q]);
  await client.query(`update tock.runs set options = ${past} where position = $1::bigint >> 20`, [
    ready,
  ]);
  const again = await rerun(client, [waits, ready]);
  expect(again).toMatchObject([{ state: 'expired' }, { state: 'expired' }]);
  const got = (await drain(client, q)).flat();
  expect(got.map((run) => run.payload).toSorted()).toEqual(['r', 'w']);
});

test('an invalid rerun is refused with its field', async () => {
  const { id } = await taskInState(client, queue(), 'done');
  for (const [call, detail] of [
    [() => rerun(client, []), 'ids'],
    [() => rerun(client, [id], ''), 'request_id'],
    [() => rerun(client, [id], null, 'x'.repeat(201)), 'reason'],
  ] as const)
    expect(await refusal(call())).toMatchObject({ code: 'TK422', detail });
});
