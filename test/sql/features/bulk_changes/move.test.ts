import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { change, states, taskInState } from '../../kernel/change/changes.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  refusal,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { move } from './bulk_changes.ts';

databasePerFile();
let count = 0;

const queue = () => `m${++count}`;
const queueOf = (id: string) => value<string>(client, 'select tock.queue_of_task($1)', [id]);

test.each(states)(
  'a %s task is moved when it has not started, and refused when it has',
  async (state) => {
    const [q, to] = [queue(), queue()];
    const { id } = await taskInState(client, q, state);
    const goes = state === 'waiting' || state === 'ready';
    expect(await move(client, [id], to)).toEqual([{ id, state, changed: goes }]);
    expect(await task(client, id)).toMatchObject({ id, queue: goes ? to : q, state });
    expect(await queueOf(id)).toBe(goes ? to : q);
    expect(await move(client, [id], to)).toMatchObject([{ changed: false }]);
    await makeDue(client, to);
    await promote(client);
    expect(await claim(client, q)).toEqual([]);
    expect((await claim(client, to)).map((run) => run.id)).toEqual(goes ? [id] : []);
    await expectInvariants(client);
  },
);

test("a moved task keeps its options, and has its tenant's bucket in the new queue", async () => {
  const [q, to] = [queue(), queue()];
  await client.query(
    `select tock.put_queue($1, '{"lanes": 1}'), tock.put_queue($2, '{"lanes": 64}')`,
    [q, to],
  );
  const tenants = Array.from({ length: 20 }, (_, n) => `tenant ${n}`);
  const ids = await enqueue(
    client,
    q,
    tenants.map((tenant, n) => ({
      tenant,
      payload: n,
      priority: 2,
      ...(n % 2 && { timeout_seconds: 9 }),
      ...(n % 5 === 0 && { delay_seconds: 50 }),
    })),
  );
  await change(client, [ids[1] as string], { payload: 'changed' });
  expect((await move(client, ids, to)).every((row) => row.changed)).toBe(true);
  await makeDue(client, to);
  await promote(client);
  const lanes = await rows(
    client,
    `select distinct t.tenant, s.lane = tock.lane_in($1, t.tenant, t.options) as own, s.lane >= 1024 as asks
     from tock.resolve_tasks($2) w cross join lateral tock.task(w.task_id) t
     join tock.streams s on s.number = w.current_id & 1048575 and s.queue = $1`,
    [to, ids],
  );
  expect(lanes).toHaveLength(20);
  expect(lanes.filter((row) => row.own)).toHaveLength(20);
  expect(lanes.filter((row) => row.asks)).toHaveLength(10);
  const got = (await drain(client, to)).flat();
  expect(new Set(got.map(({ tenant, payload }) => `${tenant} ${payload}`))).toEqual(
    new Set(tenants.map((tenant, n) => `${tenant} ${n === 1 ? 'changed' : n}`)),
  );
  expect(got.every((run) => run.priority === 2)).toBe(true);
  await expectInvariants(client);
});

test('a failed task that waits for its next attempt is moved with its attempts', async () => {
  const [q, to] = [queue(), queue()];
  const [id] = (await enqueue(client, q, [{ payload: 'p' }])) as [string];
  await fail(client, leaseOf(await claim(client, q)), { retry_in_seconds: 100, error: 'e' });
  expect(await move(client, [id], to)).toEqual([{ id, state: 'waiting', changed: true }]);
  await makeDue(client, to);
  await promote(client);
  expect(await claim(client, to)).toMatchObject([{ id, attempt: 2, payload: 'p' }]);
  expect(await queueOf(id)).toBe(to);
  expect((await task(client, id))?.runs).toHaveLength(2);
});

test("each id of a task's runs shows the task's current queue", async () => {
  const [q, to, third] = [queue(), queue(), queue()];
  const [id] = (await enqueue(client, q, [{ delay_seconds: 100 }])) as [string];
  const ids = [id];
  for (const here of [q, to, third]) {
    if (here !== q) await move(client, [id], here);
    await makeDue(client, here);
    await promote(client);
    const [run] = await claim(client, here);
    await fail(client, run?.lease as string, { retry_in_seconds: 100 });
    // The ids of the run and of the entry that waits for the next attempt.
    const current = 'select w.current_id from tock.resolve_tasks(array[$1::bigint]) w';
    ids.push(run?.run_id as string, await value(client, current, [id]));
  }
  expect(new Set(ids).size).toBe(7);
  for (const taskId of ids) expect(await queueOf(taskId)).toBe(third);
});

test('a task is moved onward, and back', async () => {
  const [q, to, third] = [queue(), queue(), queue()];
  const [id] = (await enqueue(client, q, [{ payload: 'p' }])) as [string];
  for (const next of [to, third, q]) await move(client, [id], next);
  expect(await queueOf(id)).toBe(q);
  for (const other of [to, third]) expect(await claim(client, other)).toEqual([]);
  const runs = await claim(client, q);
  expect(runs).toMatchObject([{ id, payload: 'p' }]);
  await complete(client, leaseOf(runs));
  expect(await queueOf(id)).toBe(q);
  await expectInvariants(client);
});

test('a task that is being claimed is not moved until the claim ends, and runs in one queue only', async () => {
  const [q, to] = [queue(), queue()];
  const [id] = (await enqueue(client, q, [{}])) as [string];
  const other = await db.connect();
  await other.query('begin');
  const runs = await claim(other, q);
  expect(runs).toHaveLength(1);
  await expect(move(client, [id], to)).rejects.toMatchObject({ code: 'TK503' });
  await other.query('commit');
  expect(await move(client, [id], to)).toEqual([{ id, state: 'running', changed: false }]);
  expect(await claim(client, to)).toEqual([]);
  expect(await queueOf(id)).toBe(q);
  expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 1 });
  expect(await task(client, id)).toMatchObject({ queue: q, state: 'done' });
  await expectInvariants(client);
});

test('a task with a concurrency key or a unique key is not moved', async () => {
  const [q, to] = [queue(), queue()];
  const ids = await enqueue(client, q, [
    { concurrency_key: 'a', delay_seconds: 100 },
    { unique_key: 'k' },
    { timeout_seconds: 5 },
  ]);
  const answer = await move(client, ids, to);
  const changed = new Map(answer.map((row) => [row.id, row.changed]));
  expect(ids.map((id) => changed.get(id))).toEqual([false, false, true]);
});

test('a move of nothing creates no queue, and a move of a task does', async () => {
  const [q, to] = [queue(), queue()];
  const { id } = await taskInState(client, q, 'done');
  const [keyed] = (await enqueue(client, q, [{ unique_key: 'k' }])) as [string];
  for (const ids of [['9223372036854775807'], ['0', '1'], [id, keyed]]) await move(client, ids, to);
  const known = 'select count(*)::int from tock.queues where name = $1';
  expect(await value(client, known, [to])).toBe(0);
  const ids = await enqueue(client, q, [{}, { delay_seconds: 50 }]);
  expect((await move(client, ids, to)).map((row) => row.changed)).toEqual([true, true]);
  expect(await value(client, known, [to])).toBe(1);
});

test('unknown ids are left out, and invalid arguments are refused', async () => {
  expect(await move(client, ['9223372036854775807'], queue())).toEqual([]);
  const [id] = (await enqueue(client, queue(), numberedTasks(1))) as [string];
  expect(await refusal(move(client, [id], '*'))).toMatchObject({ code: 'TK422', detail: 'queue' });
  expect(await refusal(move(client, [], 'q'))).toMatchObject({ code: 'TK422', detail: 'ids' });
});
