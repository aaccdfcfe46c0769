import pg from 'pg';
import { expect, test } from 'vitest';
import type { SqlPool } from '../../client/sql.ts';
import { conditionTimeout } from '../timeout.ts';
import { expireLeases, noTasksDone } from './service.ts';
import {
  add,
  db,
  effects,
  enqueue,
  fresh,
  owner,
  pool,
  task,
  useSqlDatabase,
  worked,
} from './sql_database.ts';

useSqlDatabase();

test("a refused commit fails the task with PostgreSQL's error", async () => {
  const [queue, ids] = await enqueue(1001);
  const { counts, heard } = await worked(queue, async (n, context) => {
    await add(n, context);
    await add(n, context);
  });
  expect(counts).toEqual({ ...noTasksDone, failed: 1 });
  expect(heard).toMatchObject([{ message: expect.stringMatching(/unique/) }]);
  const error = { message: expect.stringMatching(/duplicate key/) };
  expect((await task(ids[0])).runs).toMatchObject([{ state: 'failed', error }]);
  expect(await effects(1001)).toEqual([]);
});

test('a task fails if a query that its handler did not await has failed', async () => {
  const [queue] = await enqueue(1002);
  const late: SqlPool = {
    query: (text, values) => pool.query(text, values),
    async connect() {
      const client = await pool.connect();
      return {
        release: (error) => client.release(error),
        async query(text, values) {
          if (text === 'commit') await client.query('select 1 / 0').catch(() => {});
          return client.query(text, values);
        },
      };
    },
  };
  expect(await worked(queue, add, {}, late)).toMatchObject({
    counts: { done: 0, failed: 1 },
    heard: [{ message: expect.stringMatching(/^Nothing was committed/) }],
  });
  expect(await effects(1002)).toEqual([]);
});

test('a handler that releases its connection does not stop the worker', async () => {
  const [queue] = await enqueue(1008, 1009);
  const { counts, heard } = await worked(queue, async (n, context) => {
    await add(n, context);
    if (n === 1008) (context.client as pg.PoolClient).release();
  });
  expect(counts).toMatchObject({ ...noTasksDone, done: 2 });
  expect(heard).toMatchObject([{ message: expect.stringMatching(/already been released/) }]);
});

test('a task without a working connection is released, not failed', async () => {
  const [queue, ids] = await enqueue(1003);
  const broken = () => Promise.reject(new Error('Connection terminated unexpectedly'));
  const released: unknown[] = [];
  const answers = [
    () => Promise.reject(new Error('timeout exceeded when trying to connect')),
    async () => ({ query: broken, release: (how?: unknown) => void released.push(how) }),
    () => pool.connect(),
  ];
  const poor: SqlPool = {
    query: (text, values) => pool.query(text, values),
    connect: () => (answers.shift() as SqlPool['connect'])(),
  };
  const { counts, heard } = await worked(queue, add, {}, poor);
  expect(counts).toEqual({ ...noTasksDone, done: 1, released: 2 });
  expect(heard).toHaveLength(2);
  expect(released).toEqual([true]);
  expect((await task(ids[0])).runs.at(-1)).toMatchObject({ state: 'done', attempt: 1 });
});

type Claim = (done: () => Promise<{ rows: never[] }>) => Promise<{ rows: never[] }>;

/** A pool whose first claim is run by `claim`. */
function onClaim(claim: Claim): SqlPool {
  let first = true;
  return {
    connect: () => pool.connect(),
    query(text, values) {
      const done = () => pool.query(text, values) as Promise<{ rows: never[] }>;
      if (!first || !text.includes('tock.claim(')) return done();
      first = false;
      return claim(done);
    },
  };
}

test.each([
  ['a name that is not resolved', { code: 'EAI_AGAIN' }],
  ['a statement that takes too long', { code: '57014' }],
  ['a standby', { code: '25006' }],
  ['claims that meet', { code: '23505', constraint: 'leases_1_pkey' }],
  ['a partition to come', { code: '23514', table: 'runs' }],
  ['a segment that was dropped', { code: '42P01' }],
  ['a dropped segment', { code: '42883', message: 'function tock.claim_7(text) does not exist' }],
])('a worker continues after %s', async (_, details) => {
  const [queue] = await enqueue(fresh());
  const from = onClaim(() => Promise.reject(Object.assign(new Error('no'), details)));
  expect((await worked(queue, add, {}, from)).counts).toEqual({ ...noTasksDone, done: 1 });
});

test("a worker continues if a claim's answer was lost and its lease has ended before the repeat", async () => {
  const [queue] = await enqueue(1004);
  const from = onClaim(async (done) => {
    await done();
    await expireLeases(owner);
    throw new Error('Connection terminated unexpectedly');
  });
  expect((await worked(queue, add, {}, from)).counts).toEqual({ ...noTasksDone, done: 1 });
});

test('broken idle connections in a pool without a listener do not stop the worker', async () => {
  const own = new pg.Pool({ connectionString: db.url, max: 3, application_name: 'unheard' });
  const connections = await Promise.all([own.connect(), own.connect()]);
  for (const connection of connections) connection.release();
  const [queue] = await enqueue(1005, 1006);
  const kill = `select pg_terminate_backend(pid, ${conditionTimeout}) as killed from pg_stat_activity
    where application_name = 'unheard' and state = 'idle'`;
  const handle: typeof add = async (n, context) => {
    // Without this listener, the error event of the broken connection would end the test's process.
    expect(own.listenerCount('error')).toBe(1);
    if (n === 1005) expect((await owner.query(kill)).rows).toEqual([{ killed: true }]);
    return add(n, context);
  };
  expect((await worked(queue, handle, {}, own)).counts).toEqual({ ...noTasksDone, done: 2 });
  expect(own.listenerCount('error')).toBe(0);
  await own.end();
});

test('a pool without a connection for heartbeats is refused before a claim', async () => {
  const [queue, ids] = await enqueue(1007);
  await expect(worked(queue, add, { concurrency: 3 })).rejects.toThrow(
    'workSql: the pool has 3 connections; increase its max to 4: one for each handler, and one for heartbeats',
  );
  expect((await task(ids[0])).runs).toMatchObject([{ state: 'ready' }]);
});
