import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../../test_database.ts';
import { pidOf, value, waitUntilBlocked } from '../../verbs.ts';
import {
  addTasks,
  assignAll,
  assignTask,
  expireWorker,
  joinPool,
  leavePool,
  type PoolAnswer,
  poolState,
  takeTask,
  unassignTask,
} from './pools.ts';

databasePerFile();

const connections = (count: number) =>
  Promise.all(Array.from({ length: count }, () => db.connect()));

test('a new worker that joins, takes and is assigned concurrently has one row, and no call fails', async () => {
  const tasks = Array.from({ length: 400 }, (_, n) => `t${n}`);
  await addTasks(client, 'doors', tasks);
  const all = await connections(12);
  for (let round = 0; round < 25; round++) {
    const answers = await Promise.all(
      all.map((on, n) => {
        if (n % 3 === 0) return joinPool(on, 'doors', 'me');
        if (n % 3 === 1) return takeTask(on, 'doors', 'me');
        return assignTask(on, 'doors', `own${n}`, { worker: 'me' });
      }),
    );
    const successes = answers.filter(({ state }) => state === 'taken' || state === 'assigned');
    expect(successes).toHaveLength(1);
    const mine = (await poolState(client, 'doors')).filter(([worker]) => worker === 'me');
    expect(mine).toHaveLength(1);
    await leavePool(client, 'doors', 'me');
  }
  const [waiting, own] = [/^t/, /^own/].map((name) => async () => {
    const stand = await poolState(client, 'doors');
    return stand.filter(([, task]) => task && name.test(task)).length;
  }) as [() => Promise<number>, () => Promise<number>];
  expect([await waiting(), await own()]).toEqual([400, 0]);
});

test('a task that is added and assigned concurrently has one worker', async () => {
  await joinPool(client, 'both', 'w0');
  await joinPool(client, 'both', 'w1');
  const [open, other] = (await connections(2)) as [pg.Client, pg.Client];
  const pid = await pidOf(other);
  await open.query('begin');
  await addTasks(open, 'both', ['t']);
  const assigned = assignTask(other, 'both', 't');
  await waitUntilBlocked(client, pid);
  await open.query('commit');
  expect(await assigned).toMatchObject({ state: 'assigned', worker: 'w0' });
  expect(await poolState(client, 'both')).toEqual([
    ['w0', 't', 'held'],
    ['w1', null, 'free'],
  ]);
  // The task was added, so it waits again when its worker leaves.
  await leavePool(client, 'both', 'w0');
  expect(await poolState(client, 'both')).toContainEqual([null, 't', 'waiting']);
});

test('an expired free worker is not elected, and is removed', async () => {
  for (const worker of ['a', 'b', 'c']) await joinPool(client, 'gone', worker);
  await expireWorker(client, 'gone', 'a');
  expect(await assignTask(client, 'gone', 't')).toMatchObject({ state: 'assigned', worker: 'b' });
  expect(await poolState(client, 'gone')).toEqual([
    ['b', 't', 'held'],
    ['c', null, 'free'],
  ]);
});

test('a worker that is free again is last in the wait list, keeps its lease length, and gets a higher fencing token', async () => {
  await joinPool(client, 'again', 'a', { seconds: 900 });
  await joinPool(client, 'again', 'b', { seconds: 900 });
  const first = await assignTask(client, 'again', 't');
  expect(first).toMatchObject({ worker: 'a' });
  expect(await unassignTask(client, 'again', 't', { fencing_token: '1' })).toBe(false);
  expect(await unassignTask(client, 'again', 't', { fencing_token: first.fencing_token })).toBe(
    true,
  );
  expect(await unassignTask(client, 'again', 't', { fencing_token: first.fencing_token })).toBe(
    false,
  );
  expect(await assignTask(client, 'again', 't2')).toMatchObject({ worker: 'b' });
  const last = await assignTask(client, 'again', 't');
  expect(last).toMatchObject({ worker: 'a' });
  expect(BigInt(last.fencing_token as string)).toBeGreaterThan(
    BigInt(first.fencing_token as string),
  );
  const seconds = ((last.leased_until as Date).getTime() - Date.now()) / 1000;
  expect(Math.abs(seconds - 900)).toBeLessThan(30);
});

test('unassign after the lease has expired does not free the worker', async () => {
  await joinPool(client, 'past', 'a');
  await assignTask(client, 'past', 't');
  await expireWorker(client, 'past', 'a');
  expect(await unassignTask(client, 'past', 't')).toBe(false);
  expect(await poolState(client, 'past')).toEqual([]);
});

test('take_task under repeatable read takes a task or gets 40001', async () => {
  await addTasks(client, 'old', ['t1', 't2', 't3']);
  const old = await db.connect();
  await old.query('begin isolation level repeatable read; select 1');
  expect(await takeTask(old, 'old', 'mine')).toMatchObject({ state: 'taken', task: 't1' });
  await assignTask(client, 'old', 'elsewhere', { worker: 'his' });
  await expect(takeTask(old, 'old', 'his')).rejects.toMatchObject({ code: '40001' });
  await old.query('rollback');
});

test('the fencing token of a task grows, also if an assign has waited for its worker', async () => {
  const [open, slow] = (await connections(2)) as [pg.Client, pg.Client];
  const pid = await pidOf(slow);
  await open.query('begin');
  await joinPool(open, 'fencing_token', 'w');
  const waiting = assignTask(slow, 'fencing_token', 't', { worker: 'w' });
  await waitUntilBlocked(client, pid);
  await addTasks(client, 'fencing_token', ['t']);
  const first = await takeTask(client, 'fencing_token', 'v');
  expect(first).toMatchObject({ state: 'taken', task: 't' });
  expect(
    await unassignTask(client, 'fencing_token', 't', { fencing_token: first.fencing_token }),
  ).toBe(true);
  await open.query('rollback');
  const second = await waiting;
  expect(second).toMatchObject({ state: 'assigned', worker: 'w' });
  expect(Number(second.fencing_token)).toBeGreaterThan(Number(first.fencing_token));
});

test('an expired worker that joins waits for the lock of its pairing', async () => {
  await joinPool(client, 'out', 'w');
  await assignTask(client, 'out', 't');
  await expireWorker(client, 'out', 'w');
  const [open, other] = (await connections(2)) as [pg.Client, pg.Client];
  const pid = await pidOf(other);
  // A call that holds the worker's pairing lock may be about to insert the worker's row. So a join waits for
  // that lock.
  await open.query("begin; select pg_advisory_xact_lock(tock.pairing_key('out', 'worker', 'w'))");
  const joined = joinPool(other, 'out', 'w');
  await waitUntilBlocked(client, pid);
  await open.query('commit');
  expect(await joined).toMatchObject({ state: 'free' });
});

test.each([
  ['take', (pool: string) => takeTask(client, pool, 'me')],
  ['assign', (pool: string) => assignTask(client, pool, 'new')],
  ['assign_all', async (pool: string) => (await assignAll(client, pool, ['new']))[0] as PoolAnswer],
])(
  'after a restore no fencing token is given twice, with %s as the first verb',
  async (verb, call) => {
    const pool = `restored-${verb}`;
    await joinPool(client, pool, 'w');
    await addTasks(client, pool, ['t']);
    const before = await value<string>(client, 'select last_value from tock.pool_member_numbers');
    // Simulates another server: there current_segment() returns null until it is compiled again.
    await client.query(`select tock.guard(), setval('tock.system_identity', 7);
    create or replace function tock.current_segment() returns integer language plpgsql stable as 'begin return null; end'`);
    const { fencing_token } = await call(pool);
    await client.query('select tock.compile_current()');
    expect(Number(fencing_token)).toBeGreaterThan(Number(before) + 1_000_000);
    expect(await value(client, 'select tock.current_segment() is not null')).toBe(true);
  },
);
