import { expect, test } from 'vitest';
import { change, states, taskInState } from '../../kernel/change/changes.ts';
import { begin, invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerFile } from '../../test_database.ts';
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
import { putQueue } from '../queue_limits/limits.ts';
import { move } from './bulk_changes.ts';

databasePerFile();
invariantsAfterEach();
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
  },
);

test("a moved task keeps its options, and has its tenant's bucket in the new queue", async () => {
  const [q, to] = [queue(), queue()];
  await putQueue(client, q, { lanes: 1 });
  await putQueue(client, to, { lanes: 64 });
  const tenants = Array.from({ length: 20 }, (_, n) => `tenant ${n}`);
  const tasks = tenants.map((tenant, payload) => ({
    ...{ tenant, payload, priority: 2 },
    ...(payload % 2 && { timeout_seconds: 9 }),
    ...(payload % 5 === 0 && { delay_seconds: 50 }),
  }));
  const ids = await enqueue(client, q, tasks);
  await change(client, [ids[1] as string], { payload: 'changed' });
  expect((await move(client, ids, to)).every((row) => row.changed)).toBe(true);
  await makeDue(client, to);
  await promote(client);
  const lanes = await rows(
    client,
    `select count(*)::int as own, count(*) filter (where s.lane >= 1024)::int as asks
     from tock.resolve_tasks($2) w cross join lateral tock.task(w.task_id) t
     join tock.streams s on s.number = w.current_id & 1048575 and s.queue = $1
     where s.lane = tock.lane_in($1, t.tenant, t.options)`,
    [to, ids],
  );
  expect(lanes).toEqual([{ own: 20, asks: 10 }]);
  const got = (await drain(client, to)).flat();
  expect(new Set(got.map((run) => `${run.tenant} ${run.payload} ${run.priority}`))).toEqual(
    new Set(tenants.map((tenant, n) => `${tenant} ${n === 1 ? 'changed' : n} 2`)),
  );
});

test('a failed task is moved with its attempts, and the ids of its runs show its current queue', async () => {
  const [q, to, third] = [queue(), queue(), queue()];
  const [id] = (await enqueue(client, q, [{ delay_seconds: 100 }])) as [string];
  const ids = [id];
  for (const here of [q, to, third]) {
    if (here !== q) await move(client, [id], here);
    await makeDue(client, here);
    await promote(client);
    const [run] = await claim(client, here);
    expect(run).toMatchObject({ id, attempt: 1 + (ids.length - 1) / 2 });
    await fail(client, run?.lease as string, { retry_in_seconds: 100 });
    // The ids of the run and of the entry that waits for the next attempt.
    const current = 'select w.current_id from tock.resolve_tasks(array[$1::bigint]) w';
    ids.push(run?.run_id as string, await value(client, current, [id]));
  }
  expect(new Set(ids).size).toBe(7);
  for (const taskId of ids) expect(await queueOf(taskId)).toBe(third);
});

test('a task that is being claimed is not moved until the claim ends, and runs in one queue only', async () => {
  const [q, to] = [queue(), queue()];
  const [id] = (await enqueue(client, q, [{}])) as [string];
  const other = await begin();
  const runs = await claim(other, q);
  expect(runs).toHaveLength(1);
  await expect(move(client, [id], to)).rejects.toMatchObject({ code: 'TK503' });
  await other.query('commit');
  expect(await move(client, [id], to)).toEqual([{ id, state: 'running', changed: false }]);
  expect(await claim(client, to)).toEqual([]);
  expect(await queueOf(id)).toBe(q);
  expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 1 });
  expect(await task(client, id)).toMatchObject({ queue: q, state: 'done' });
});

test('a task with a concurrency key, a unique key or a pipeline is not moved', async () => {
  const [q, to] = [queue(), queue()];
  const ids = await enqueue(client, q, [
    { concurrency_key: 'a', delay_seconds: 100 },
    { unique_key: 'k' },
    { pipeline: [q, 'next'] },
    { pipeline: [q, 'next'], delay_seconds: 100 },
    { timeout_seconds: 5 },
  ]);
  const answer = await move(client, ids, to);
  const changed = new Map(answer.map((row) => [row.id, row.changed]));
  expect(ids.map((id) => changed.get(id))).toEqual([false, false, false, false, true]);
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
