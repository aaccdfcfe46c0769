import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SqlContext, type SqlPool, type WorkOptions, workSql } from '../../client/sql.ts';
import { type Database, freshDatabase } from '../database.ts';
import { conditionTimeout } from '../timeout.ts';
import { noTasksDone } from './service.ts';

let db: Database;
let owner: pg.Client;
let pool: pg.Pool;
let count = 0;

beforeAll(async () => {
  db = await freshDatabase();
  owner = await db.connect();
  await owner.query('create table effects (n integer unique deferrable initially deferred)');
  pool = new pg.Pool({ connectionString: db.url, max: 3 });
  pool.on('error', () => {});
});
afterAll(async () => {
  await pool.end();
  await db.drop();
});

async function enqueue(...payloads: number[]): Promise<[queue: string, ids: string[]]> {
  const queue = `odd${++count}`;
  const tasks = JSON.stringify(payloads.map((payload) => ({ payload })));
  const { rows } = await owner.query('select tock.enqueue($1, $2)::text[] as ids', [queue, tasks]);
  return [queue, rows[0].ids];
}

const effects = async (...numbers: number[]) =>
  (await owner.query('select n from effects where n = any ($1) order by n', [numbers])).rows.map(
    ({ n }) => n,
  );
const runs = async (id?: string) =>
  (await owner.query('select runs from tock.task($1)', [id])).rows[0].runs;

type Handle = (payload: number, context: SqlContext) => unknown;

/** Works on a queue until it is empty, one task at a time. Returns the counts and the errors. */
async function worked(
  queue: string,
  handle: Handle,
  from: SqlPool = pool,
  options: WorkOptions = {},
) {
  const heard: { message: string }[] = [];
  const on_error = (error: unknown) => void heard.push(error as Error);
  const handler = (task: { payload: unknown }, context: SqlContext) =>
    handle(task.payload as number, context);
  const toTheEnd = { until: 'empty', on_error, ...options } as const;
  return { worked: await workSql(from, queue, handler, toTheEnd), heard };
}

const add = (n: number, { client }: SqlContext) =>
  client.query('insert into effects (n) values ($1)', [n]);

test.each([undefined, null, Object.create(null)])(
  'the changes of a handler that throws %s are rolled back, and the next task commits only its own',
  async (odd) => {
    const [first, second] = [++count, ++count];
    const [queue] = await enqueue(first, second);
    const handle: Handle = async (n, context) => {
      await add(n, context);
      if (n === first) throw odd;
    };
    expect((await worked(queue, handle)).worked).toEqual({ ...noTasksDone, done: 1, failed: 1 });
    expect(await effects(first, second)).toEqual([second]);
  },
);

test("a refused commit fails the task with PostgreSQL's error", async () => {
  const [queue, ids] = await enqueue(1001);
  const twice: Handle = async (n, context) => {
    await add(n, context);
    await add(n, context);
  };
  const { worked: came, heard } = await worked(queue, twice);
  expect(came).toEqual({ ...noTasksDone, failed: 1 });
  expect(heard).toMatchObject([{ message: expect.stringMatching(/unique/) }]);
  expect(await runs(ids[0])).toMatchObject([
    { state: 'failed', error: { message: expect.stringMatching(/duplicate key/) } },
  ]);
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
  expect(await worked(queue, add, late)).toMatchObject({
    worked: { done: 0, failed: 1 },
    heard: [{ message: expect.stringMatching(/^Nothing was committed/) }],
  });
  expect(await effects(1002)).toEqual([]);
});

test('a handler that releases its connection does not stop the worker', async () => {
  const [queue] = await enqueue(1008, 1009);
  const handle: Handle = async (n, context) => {
    await add(n, context);
    if (n === 1008) (context.client as pg.PoolClient).release();
  };
  const { worked: came, heard } = await worked(queue, handle);
  expect(came).toMatchObject({ ...noTasksDone, done: 2 });
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
  const { worked: came, heard } = await worked(queue, add, poor);
  expect(came).toEqual({ ...noTasksDone, done: 1, released: 2 });
  expect(heard).toHaveLength(2);
  expect(released).toEqual([true]);
  expect((await runs(ids[0])).at(-1)).toMatchObject({ state: 'done', attempt: 1 });
});

/** A pool whose first claim is run by `claim`. */
const onClaim = (
  claim: (done: () => Promise<{ rows: never[] }>) => Promise<{ rows: never[] }>,
): SqlPool => {
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
};

const errors: [what: string, details: object][] = [
  ['a name that is not resolved', { code: 'EAI_AGAIN' }],
  ['a statement that takes too long', { code: '57014' }],
  ['a standby', { code: '25006' }],
  ['claims that meet', { code: '23505', constraint: 'leases_1_pkey' }],
  ['a partition to come', { code: '23514', table: 'runs' }],
  ['a segment that was dropped', { code: '42P01' }],
  ['a dropped segment', { code: '42883', message: 'function tock.claim_7(text) does not exist' }],
];

test.each(errors)('a worker continues after %s', async (_, details) => {
  const [queue] = await enqueue(++count);
  const from = onClaim(() => Promise.reject(Object.assign(new Error('no'), details)));
  expect((await worked(queue, add, from)).worked).toEqual({ ...noTasksDone, done: 1 });
});

test("a worker continues if a claim's answer was lost and its lease has ended before the repeat", async () => {
  const [queue] = await enqueue(1004);
  const from = onClaim(async (done) => {
    await done();
    await owner.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    await owner.query('select tock.reap(p_sweep => true)');
    throw new Error('Connection terminated unexpectedly');
  });
  expect((await worked(queue, add, from)).worked).toEqual({ ...noTasksDone, done: 1 });
});

test('broken idle connections in a pool without a listener do not stop the worker', async () => {
  const own = new pg.Pool({ connectionString: db.url, max: 3, application_name: 'unheard' });
  const connections = await Promise.all([own.connect(), own.connect()]);
  for (const connection of connections) connection.release();
  const [queue] = await enqueue(1005, 1006);
  const kill = `select pg_terminate_backend(pid, ${conditionTimeout}) as killed from pg_stat_activity
    where application_name = 'unheard' and state = 'idle'`;
  const handle: Handle = async (n, context) => {
    // Without this listener, the error event of the broken connection would end the test's process.
    expect(own.listenerCount('error')).toBe(1);
    if (n === 1005) expect((await owner.query(kill)).rows).toEqual([{ killed: true }]);
    await add(n, context);
  };
  expect((await worked(queue, handle, own)).worked).toEqual({ ...noTasksDone, done: 2 });
  expect(own.listenerCount('error')).toBe(0);
  await own.end();
});

test('a pool without a connection for heartbeats is refused before a claim', async () => {
  const [queue, ids] = await enqueue(1007);
  await expect(worked(queue, add, pool, { concurrency: 3 })).rejects.toThrow(
    'workSql: the pool has 3 connections; increase its max to 4: one for each handler, and one for heartbeats',
  );
  expect(await runs(ids[0])).toMatchObject([{ state: 'ready' }]);
});
