import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../../test_database.ts';
import { refusal, value } from '../../verbs.ts';
import {
  addTasks,
  assignAll,
  assignTask,
  expireWorker,
  joinPool,
  leavePool,
  poolState,
  reapPools,
  takeTask,
  unassignTask,
} from './pools.ts';

databasePerFile();

const nobody = { worker: null, fencing_token: null, leased_until: null };

test('a task elects one worker, and keeps it while its lease lasts', async () => {
  for (const worker of ['a', 'b']) await joinPool(client, 'elect', worker);
  const first = await assignTask(client, 'elect', 't1');
  expect(first).toMatchObject({ state: 'assigned', worker: 'a' });
  expect(await assignTask(client, 'elect', 't1')).toEqual({ ...first, state: 'held' });
  expect(await assignTask(client, 'elect', 't2')).toMatchObject({ state: 'assigned', worker: 'b' });
  expect(await assignTask(client, 'elect', 't3')).toEqual({ state: 'none', ...nobody });
  expect(await unassignTask(client, 'elect', 't1')).toBe(true);
  expect(await assignTask(client, 'elect', 't3')).toMatchObject({ state: 'assigned', worker: 'a' });
  expect(await poolState(client, 'elect')).toEqual([
    ['a', 't3', 'held'],
    ['b', 't2', 'held'],
  ]);
});

test('the worker that has been free for longest is elected', async () => {
  for (const worker of ['a', 'b', 'c']) await joinPool(client, 'turns', worker);
  const elected: unknown[] = [];
  for (let n = 0; n < 7; n++) {
    elected.push((await assignTask(client, 'turns', `t${n}`)).worker);
    await unassignTask(client, 'turns', `t${n}`);
  }
  expect(elected).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a']);
});

test('take_task gives a worker the oldest task, and its own again instead of a second one', async () => {
  expect(await addTasks(client, 'take', ['t1', 't2', 't3', 't1'])).toBe(3);
  expect(await addTasks(client, 'take', ['t3', 't4'])).toBe(1);
  const first = await takeTask(client, 'take', 'w1');
  expect(first).toMatchObject({ state: 'taken', task: 't1' });
  const again = await takeTask(client, 'take', 'w1', 600);
  expect(again).toMatchObject({ ...first, state: 'held', leased_until: expect.any(Date) });
  expect(Number(again.leased_until)).toBeGreaterThan(Number(first.leased_until));
  expect(await takeTask(client, 'take', 'w2')).toMatchObject({ task: 't2' });
  const { fencing_token } = first;
  expect(await unassignTask(client, 'take', 't1', { fencing_token })).toBe(true);
  // w1 never joined, so it has no row without its task.
  expect(await poolState(client, 'take')).toEqual([
    ['w2', 't2', 'held'],
    [null, 't3', 'waiting'],
    [null, 't4', 'waiting'],
  ]);
  expect(await takeTask(client, 'take', 'w1')).toMatchObject({ state: 'taken', task: 't3' });
  expect(await takeTask(client, 'take', 'w3')).toMatchObject({ state: 'taken', task: 't4' });
  const empty = { state: 'empty', leased_until: null };
  expect(await takeTask(client, 'take', 'w4')).toMatchObject(empty);
});

test('a named pair of a new task and a new worker is assigned to the first caller', async () => {
  const first = await assignTask(client, 'both', 't1', { worker: 'a' });
  expect(first).toMatchObject({ state: 'assigned', worker: 'a' });
  const again = await assignTask(client, 'both', 't1', { worker: 'b' });
  expect(again).toEqual({ ...first, state: 'held' });
  const none = { state: 'none', ...nobody };
  expect(await assignTask(client, 'both', 't2', { worker: 'a' })).toEqual(none);
  expect(await assignTask(client, 'both', 't2', { worker: 'b' })).toMatchObject({ worker: 'b' });
});

test('a task can wait for a worker', async () => {
  const waits = { state: 'waiting', ...nobody };
  expect(await assignTask(client, 'wait', 't1', { wait: true })).toEqual(waits);
  expect(await assignTask(client, 'wait', 't1')).toEqual(waits);
  await joinPool(client, 'wait', 'a');
  expect(await takeTask(client, 'wait', 'a')).toMatchObject({ state: 'taken', task: 't1' });
  expect(await assignTask(client, 'wait', 't1')).toMatchObject({ state: 'held', worker: 'a' });
  expect(await unassignTask(client, 'wait', 't1', { again: true })).toBe(true);
  expect(await poolState(client, 'wait')).toEqual([
    ['a', null, 'free'],
    [null, 't1', 'waiting'],
  ]);
  expect(await unassignTask(client, 'wait', 't1')).toBe(true);
  expect(await unassignTask(client, 'wait', 't1')).toBe(false);
});

test("a heartbeat returns the worker's task, or that it has lost it", async () => {
  const free = { state: 'free', task: null, fencing_token: null };
  expect(await joinPool(client, 'beat', 'a')).toMatchObject(free);
  const { fencing_token } = await assignTask(client, 'beat', 't1');
  const held = await joinPool(client, 'beat', 'a', { seconds: 300 });
  expect(held).toMatchObject({ state: 'held', task: 't1', fencing_token });
  expect(Number(held.leased_until) - Date.now()).toBeGreaterThan(290_000);
  const beat = () => joinPool(client, 'beat', 'a', { fencing_token });
  expect(await beat()).toMatchObject({ state: 'held', task: 't1' });
  await expireWorker(client, 'beat', 'a');
  const lost = { state: 'lost', task: null, fencing_token: null, leased_until: null };
  expect(await beat()).toEqual(lost);
  expect(await unassignTask(client, 'beat', 't1', { fencing_token })).toBe(false);
  expect(await joinPool(client, 'beat', 'a')).toMatchObject({ state: 'free', task: null });
  // This worker is free now, and each heartbeat with the old fencing token still answers lost.
  expect(await beat()).toEqual(lost);
  const next = await assignTask(client, 'beat', 't1');
  expect(next).toMatchObject({ state: 'assigned', worker: 'a' });
  expect(BigInt(next.fencing_token as string)).toBeGreaterThan(BigInt(fencing_token as string));
  expect(await unassignTask(client, 'beat', 't1', { fencing_token })).toBe(false);
  expect(await beat()).toEqual(lost);
});

test('one of three candidates is elected leader, and another after its death', async () => {
  for (const worker of ['x', 'y', 'z']) await joinPool(client, 'shard-7', worker);
  const answers = await Promise.all(
    ['x', 'y', 'z'].map(async () => assignTask(await db.connect(), 'shard-7', 'leader')),
  );
  expect(new Set(answers.map(({ worker }) => worker)).size).toBe(1);
  expect(answers.map(({ state }) => state).sort()).toEqual(['assigned', 'held', 'held']);
  const [leader] = answers as [(typeof answers)[0]];
  await expireWorker(client, 'shard-7', leader.worker as string);
  const next = await assignTask(client, 'shard-7', 'leader');
  expect(next.state).toBe('assigned');
  expect(next.worker).not.toBe(leader.worker);
  expect(Number(next.fencing_token)).toBeGreaterThan(Number(leader.fencing_token));
  const { worker, fencing_token } = leader;
  const late = await joinPool(client, 'shard-7', worker as string, { fencing_token });
  expect(late.state).toBe('lost');
});

test('without ticks the next caller takes over from a worker that expired at any time', async () => {
  await client.query(
    "select tock.join_pool('asleep', 'free ' || n, 60) from generate_series(1, 200) n",
  );
  await addTasks(client, 'asleep', ['shard']);
  await assignTask(client, 'asleep', 'leader', { worker: 'a' });
  await takeTask(client, 'asleep', 'b');
  expect(await value(client, 'select tock.next_wake_at()')).toBeNull();
  await client.query(
    `update tock.pool_members set leased_until = leased_until - interval '2 hours', check_at = check_at - interval '2 hours'
     where pool = 'asleep' and worker is not null`,
  );
  await client.query(
    "update tock.maintenance_jobs set reached_at = now() - interval '3 hours' where name = 'reap_pools'",
  );
  expect(await takeTask(client, 'asleep', 'c')).toMatchObject({ state: 'taken', task: 'shard' });
  const next = await assignTask(client, 'asleep', 'leader', { worker: 'd' });
  expect(next.state).toBe('assigned');
  await client.query(
    "update tock.maintenance_jobs set reached_at = null where name = 'reap_pools'",
  );
  expect(await takeTask(client, 'asleep', 'e')).toMatchObject({ state: 'empty' });
});

test('one call assigns many tasks, each to its own worker', async () => {
  for (let n = 0; n < 6; n++) await joinPool(client, 'all', `w${n}`);
  const first = await assignTask(client, 'all', 'a');
  await assignTask(client, 'all', 'b');
  for (const worker of ['w1', 'w2']) await expireWorker(client, 'all', worker);
  await assignTask(client, 'all', 'z', { worker: 'elsewhere' });
  const answers = await assignAll(client, 'all', ['d', 'a', 'c', 'b', 'd', 'e', 'f']);
  expect(answers.map(({ task, state, worker }) => [task, state, worker])).toEqual([
    ['d', 'assigned', 'w3'],
    ['a', 'held', 'w0'],
    ['c', 'assigned', 'w4'],
    ['b', 'assigned', 'w5'],
    ['d', 'assigned', 'w3'],
    ['e', 'none', null],
    ['f', 'none', null],
  ]);
  expect(answers[1]?.fencing_token).toBe(first.fencing_token);
  expect(await poolState(client, 'all')).toEqual([
    ['elsewhere', 'z', 'held'],
    ['w0', 'a', 'held'],
    ['w3', 'd', 'held'],
    ['w4', 'c', 'held'],
    ['w5', 'b', 'held'],
  ]);
});

test('expired workers are removed: added tasks wait again, other assignments end', async () => {
  await addTasks(client, 'gone', ['offered']);
  await takeTask(client, 'gone', 'a');
  for (const worker of ['b', 'c', 'd', 'e']) await joinPool(client, 'gone', worker);
  expect(await assignTask(client, 'gone', 'given')).toMatchObject({ worker: 'b' });
  for (const worker of ['a', 'b', 'c']) await expireWorker(client, 'gone', worker);
  // Without a reap, an expired free worker is already left out of the election.
  expect(await assignTask(client, 'gone', 'other')).toMatchObject({ worker: 'd' });
  expect(await reapPools(client)).toBeGreaterThan(0);
  expect(await poolState(client, 'gone')).toEqual([
    ['d', 'other', 'held'],
    ['e', null, 'free'],
    [null, 'offered', 'waiting'],
  ]);
  const left = "select count(*)::int from tock.pool_members where pool = 'gone'";
  expect(await value(client, left)).toBe(3);
});

test('a worker with heartbeats survives reaping, and then expires', async () => {
  await joinPool(client, 'alive', 'a');
  const { fencing_token } = await assignTask(client, 'alive', 't');
  await client.query(
    "update tock.pool_members set check_at = now() - interval '1 minute' where pool = 'alive'",
  );
  await reapPools(client);
  expect(await poolState(client, 'alive')).toEqual([['a', 't', 'held']]);
  expect(await joinPool(client, 'alive', 'a', { fencing_token })).toMatchObject({ state: 'held' });
  const checked = `select leased_until >= check_at and check_at > now() from tock.pool_members
    where pool = 'alive'`;
  expect(await value(client, checked)).toBe(true);
  await expireWorker(client, 'alive', 'a');
  await client.query("select tock.run_maintenance('reap_pools')");
  expect(await poolState(client, 'alive')).toEqual([]);
});

test('the assignment of a worker that leaves ends, and an added task waits again', async () => {
  await addTasks(client, 'leave', ['o']);
  await takeTask(client, 'leave', 'a');
  await joinPool(client, 'leave', 'b');
  await assignTask(client, 'leave', 't', { worker: 'b' });
  expect(await leavePool(client, 'leave', 'a')).toBe(true);
  expect(await leavePool(client, 'leave', 'a')).toBe(false);
  expect(await leavePool(client, 'leave', 'b')).toBe(true);
  expect(await poolState(client, 'leave')).toEqual([[null, 'o', 'waiting']]);
});

test('pools are independent, and each is counted', async () => {
  await joinPool(client, 'one.pool', 'a');
  await joinPool(client, 'other.pool', 'a');
  await addTasks(client, 'other.pool', ['t']);
  expect((await assignTask(client, 'one.pool', 't')).worker).toBe('a');
  const { rows } = await client.query("select * from tock.pools() where pool like '%.pool'");
  expect(rows).toEqual([
    { pool: 'one.pool', free: '0', held: '1', waiting: '0' },
    { pool: 'other.pool', free: '1', held: '0', waiting: '1' },
  ]);
});

test.each([
  ['pool', () => joinPool(client, 'no pool', 'a')],
  ['pool', () => takeTask(client, "'; drop table", 'a')],
  ['pool', () => addTasks(client, 'x'.repeat(101), ['t'])],
  ['worker', () => joinPool(client, 'bad', '')],
  ['worker', () => takeTask(client, 'bad', 'x'.repeat(201))],
  ['worker', () => assignTask(client, 'bad', 't', { worker: '' })],
  ['worker', () => leavePool(client, 'bad', null as never)],
  ['task', () => assignTask(client, 'bad', '')],
  ['task', () => unassignTask(client, 'bad', null as never)],
  ['tasks', () => addTasks(client, 'bad', [])],
  ['tasks', () => assignAll(client, 'bad', Array(10_001).fill('t'))],
  ['tasks[1]', () => assignAll(client, 'bad', ['t', ''])],
  ['tasks', () => addTasks(client, 'bad', [['t'], ['u']])],
  ['tasks[2]', () => addTasks(client, 'bad', ['t', 'u', null])],
  ['lease_seconds', () => joinPool(client, 'bad', 'a', { seconds: 0 })],
  ['lease_seconds', () => takeTask(client, 'bad', 'a', 86_401)],
  ['lease_seconds', () => assignTask(client, 'bad', 't', { seconds: -1 })],
])('an invalid %s is refused, and changes nothing (%#)', async (field, call) => {
  expect(await refusal(call())).toMatchObject({ code: 'TK422', detail: field });
  expect(await poolState(client, 'bad')).toEqual([]);
});
