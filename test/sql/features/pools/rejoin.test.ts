import { expect, test } from 'vitest';
import { overlapping } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { value } from '../../verbs.ts';
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

test.each([null, 'w0'])(
  'a task that is added during its assign, to %s, has one worker',
  async (worker) => {
    const pool = `both-${worker}`;
    await joinPool(client, pool, 'w0');
    await joinPool(client, pool, 'w1');
    const [, assigned] = await overlapping(
      (on) => addTasks(on, pool, ['t']),
      (on) => assignTask(on, pool, 't', { worker }),
    );
    expect(assigned).toMatchObject({ state: 'assigned', worker: 'w0' });
    const free = ['w1', null, 'free'];
    expect(await poolState(client, pool)).toEqual([['w0', 't', 'held'], free]);
    if (worker) {
      // The worker joined, so it is free again without its task.
      await unassignTask(client, pool, 't');
      expect(await poolState(client, pool)).toContainEqual(['w0', null, 'free']);
    } else {
      // The task was added, so it waits again when its worker leaves.
      await leavePool(client, pool, 'w0');
      expect(await poolState(client, pool)).toEqual([free, [null, 't', 'waiting']]);
    }
  },
);

test('a worker that is free again keeps its lease length, and a stale fencing token frees nobody', async () => {
  await joinPool(client, 'again', 'a', { seconds: 900 });
  const { fencing_token } = await assignTask(client, 'again', 't');
  expect(await unassignTask(client, 'again', 't', { fencing_token: '1' })).toBe(false);
  expect(await unassignTask(client, 'again', 't', { fencing_token })).toBe(true);
  expect(await unassignTask(client, 'again', 't', { fencing_token })).toBe(false);
  const last = await assignTask(client, 'again', 't');
  expect(BigInt(last.fencing_token as string)).toBeGreaterThan(BigInt(fencing_token as string));
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
  let first = 0;
  const [, second] = await overlapping(
    (on) => joinPool(on, 'tokens', 'w'),
    (on) => assignTask(on, 'tokens', 't', { worker: 'w' }),
    'rollback',
    async () => {
      await addTasks(client, 'tokens', ['t']);
      const { state, fencing_token } = await takeTask(client, 'tokens', 'v');
      expect(state).toBe('taken');
      expect(await unassignTask(client, 'tokens', 't', { fencing_token })).toBe(true);
      first = Number(fencing_token);
    },
  );
  expect(second).toMatchObject({ state: 'assigned', worker: 'w' });
  expect(Number(second.fencing_token)).toBeGreaterThan(first);
});

test('an expired worker that joins waits for the lock of its pairing', async () => {
  await joinPool(client, 'out', 'w');
  await assignTask(client, 'out', 't');
  await expireWorker(client, 'out', 'w');
  // A call that holds the worker's pairing lock may be about to insert the worker's row. So a join waits for
  // that lock.
  const lock = "select pg_advisory_xact_lock(tock.pairing_key('out', 'worker', 'w'))";
  const [, joined] = await overlapping(
    (on) => on.query(lock),
    (on) => joinPool(on, 'out', 'w'),
  );
  expect(joined).toMatchObject({ state: 'free' });
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
