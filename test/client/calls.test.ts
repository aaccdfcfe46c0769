import { expect, test } from 'vitest';
import { createTock, LeaseLost } from '../../client/index.ts';
import { payloadTasks, queue, there, tock, useClientService } from './service.ts';

useClientService();

const depth = async (q: string) => {
  const { rows } = await there.owner.query('select ready, running from tock.queue_stats($1)', [q]);
  return { ready: Number(rows[0].ready), running: Number(rows[0].running) };
};

test('an enqueue adds its tasks once, even if answers are lost', async () => {
  const q = queue();
  there.fate('lost', 'refused', 'unsent', 'lost');
  const id = await tock.enqueue(q, { n: 1 });
  expect(await tock.task(id)).toMatchObject({ payload: { n: 1 }, state: 'ready' });
  there.fate('lost');
  const ids = await tock.enqueueMany(q, [{ payload: 1 }, { payload: 2, priority: 0 }]);
  expect(new Set(ids).size).toBe(2);
  expect(await depth(q)).toEqual({ ready: 3, running: 0 });
});

test('a claim whose answer was lost returns the same tasks and leases no others', async () => {
  const q = queue();
  await tock.enqueueMany(q, [{ payload: 1 }, { payload: 2 }]);
  there.fate('lost', 'lost');
  const lease = await tock.claim(q);
  expect(lease?.tasks).toMatchObject([{ payload: 1 }]);
  expect(await depth(q)).toEqual({ ready: 1, running: 1 });
  there.fate('lost');
  const { leases } = await tock.claimAny([q, { queue: queue(), weight: 2 }], { limit: 5 });
  expect(leases.map((leasedTasks) => leasedTasks.tasks.map((task) => task.payload))).toEqual([[2]]);
  expect(await depth(q)).toEqual({ ready: 0, running: 2 });
});

test('a bulk change whose answer was lost has started once, and can be watched and stopped', async () => {
  const q = queue();
  await tock.enqueueMany(q, [{ payload: 1 }, { payload: 2 }]);
  there.fate('lost');
  const id = await tock.startBulkChange(q, { change: 'cancel', state: 'ready' });
  expect(await tock.bulkChange(id)).toMatchObject({ queue: q, state: 'running', changed: 0 });
  await there.owner.query('select tock.run_bulk_changes()');
  expect(await tock.bulkChange(id)).toMatchObject({ state: 'done', changed: 2 });
  const other = await tock.startBulkChange(q, { change: 'reprioritize', priority: 1 });
  expect(await tock.stopBulkChange(other)).toBe('stopped');
  const all = await tock.bulkChanges({ queue: q });
  expect(all.map((change) => change.id)).toEqual([other, id]);
  expect([await tock.bulkChange('4711'), await tock.stopBulkChange('4711')]).toEqual([null, null]);
  await expect(tock.startBulkChange(q, { change: 'reprioritize' })).rejects.toMatchObject({
    status: 422,
    problem: { field: 'priority' },
  });
});

test('an outcome whose answer was lost is reported again and counts once', async () => {
  const q = queue();
  await tock.enqueueMany(q, [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
  const lease = await tock.claim(q, { limit: 3 });
  if (!lease) throw new Error('no lease');
  const [a, b, c] = lease.tasks.map(({ id }) => id) as [string, string, string];
  const spawn = { tasks: [{ payload: 'child' }] };
  there.fate('lost', 'lost');
  expect(await lease.complete([{ id: a, result: 'r', spawn }])).toMatchObject({ completed: 1 });
  there.fate('lost');
  expect(await lease.fail([{ id: b, error: 'e', fatal: true }])).toMatchObject({ dead: 1 });
  there.fate('lost');
  expect(await lease.release([c])).toMatchObject({ released: 1 });
  expect(await depth(q)).toEqual({ ready: 2, running: 0 });
});

test('a rerun whose answer was lost makes one task', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  await tock.work(q, () => {}, { until: 'empty' });
  there.fate('lost');
  const [again] = await tock.rerun([id], { reason: 'why not' });
  expect((await tock.task(id))?.reruns).toMatchObject([{ id: again?.rerun_id, reason: 'why not' }]);
});

test('a pool shows its members, and a stale fencing token unassigns nothing', async () => {
  const pool = queue();
  await tock.pools.join(pool, 'w1');
  const { fencing_token } = await tock.pools.assignTask(pool, 'leader');
  expect(await tock.pools.listMembers(pool)).toMatchObject([{ worker: 'w1', task: 'leader' }]);
  expect(await tock.pools.listPools()).toContainEqual(expect.objectContaining({ pool, held: 1 }));
  const stale = { fencing_token: `${Number(fencing_token) - 1}` };
  expect(await tock.pools.unassignTask(pool, 'leader', stale)).toBe(false);
  expect(await tock.pools.unassignTask(pool, 'unknown')).toBe(false);
  const current = { fencing_token: fencing_token as string };
  expect(await tock.pools.unassignTask(pool, 'leader', current)).toBe(true);
  expect(await tock.pools.unassignTask(pool, 'leader', current)).toBe(false);
  expect(await tock.pools.assignTasks(pool, ['a', 'b'])).toMatchObject([
    { task: 'a', state: 'assigned' },
    { task: 'b', state: 'none' },
  ]);
  expect(await tock.pools.addTasks(pool, ['c', 'd'])).toBe(2);
});

test('claimForWorker() returns the same task until its lease ends', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(2));
  const first = await tock.claimForWorker(q, 'me', 60);
  const again = await tock.claimForWorker(q, 'me', 60);
  expect(first?.tasks).toHaveLength(1);
  expect(again).toMatchObject({ lease: first?.lease, tasks: first?.tasks });
});

test('a worker whose every second answer is lost does each task once', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(4));
  const done: unknown[] = [];
  there.fate(...Array.from({ length: 20 }, () => ['lost', 'fine'] as const).flat());
  const worked = await tock.work(q, (task) => void done.push(task.payload), { until: 'empty' });
  there.fate();
  expect(worked).toMatchObject({ done: 4, lost: 0 });
  expect(done).toEqual([0, 1, 2, 3]);
  expect(await depth(q)).toEqual({ ready: 0, running: 0 });
});

test('a refusal has its field and hint, and is not retried', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  await tock.work(q, () => {}, { until: 'empty' });
  there.seen.length = 0;
  await expect(tock.enqueue(q, 1, { priority: 12 })).rejects.toMatchObject({
    name: 'TockError',
    status: 422,
    field: 'priority',
    message: 'priority: a whole number from 0 to 9',
    hint: expect.stringMatching(/openapi\.json/),
  });
  const lease = '00000000-0000-4000-8000-00000000000f';
  await expect(tock.leases.complete(lease)).rejects.toBeInstanceOf(LeaseLost);
  await expect(tock.change(id, { priority: 1 })).rejects.toMatchObject({ status: 409 });
  expect(await tock.task('5242880')).toBeNull();
  expect(there.seen).toHaveLength(4);
});

test('a POST by call() has its effect once, even if its answer was lost', async () => {
  const q = queue();
  const body = { payload: 1 };
  for (const requestBody of [body, JSON.stringify(body), { ...body, request_id: 'mine' }]) {
    there.fate('lost', 'lost');
    await tock.call('POST', `/v1/queues/${q}/tasks`, requestBody);
  }
  expect(await depth(q)).toEqual({ ready: 3, running: 0 });
});

test('a lossless parser keeps numbers that no double can hold', async () => {
  const q = queue();
  const parse = (json: string) =>
    JSON.parse(json.replace(/"payload": ?(\d{17,})/, '"payload":"$1"'));
  const exact = createTock({ ...there.options, parse });
  await tock.call('POST', `/v1/queues/${q}/tasks`, '{"payload":12345678901234567890}');
  expect((await exact.claim(q))?.tasks).toMatchObject([{ payload: '12345678901234567890' }]);
});

test('tasks, leases and reasons for late tasks are listed', async () => {
  const q = queue();
  const [id, other] = await tock.enqueueMany(q, [{ payload: 1, tenant: 'ann' }, { payload: 2 }]);
  const page = await tock.tasks({ queue: q, tenant: 'ann' });
  expect(page.tasks).toMatchObject([{ id, queue: q, state: 'ready' }]);
  expect((await tock.tasks({ limit: 1 })).tasks).toMatchObject([{ id: other }]);
  await tock.claim(q, { worker: 'one' });
  const { leases } = await tock.openLeases({ queue: q, worker: 'one' });
  expect(leases).toMatchObject([{ queue: q, worker: 'one', runs: 1, late: false }]);
  expect(await tock.openLeases({ queue: q, worker: 'two' })).toMatchObject({ leases: [] });
  expect(await tock.workers({ queue: q })).toMatchObject([{ worker: 'one', open_leases: 1 }]);
  // A task that has been ready for 15 seconds is a reason.
  await there.owner.query('update tock.runs set created_at = clock_timestamp()');
  expect(await tock.why(q)).toEqual([]);
  await tock.call('PUT', `/v1/queues/${q}`, { paused: true });
  await tock.enqueue(q, 3);
  expect(await tock.why(q)).toMatchObject([{ finding: expect.stringContaining('paused') }]);
  await expect(tock.archived({ queue: q })).rejects.toMatchObject({ status: 409 });
});
