import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  enqueueSql,
  LeaseLost,
  RetryIn,
  type SqlClient,
  type SqlPool,
  workSql,
} from '../../client/sql.ts';
import { type Database, freshDatabase } from '../database.ts';

let db: Database;
let pool: pg.Pool;
let count = 0;
const nothing = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0 };
const toTheEnd = { until: 'empty' } as const;

beforeAll(async () => {
  db = await freshDatabase();
  const admin = await db.connect(db.superUrl);
  const name = `shop_${db.name}`;
  await admin.query(`create role ${name} login password 'shop' in role tock_producer, tock_worker`);
  await admin.query(`create table sums (n integer); grant all on sums to ${name}`);
  const url = new URL(db.url);
  url.username = name;
  url.password = 'shop';
  // The worker logs in with a role that has only the rights that a user's worker needs.
  pool = new pg.Pool({ connectionString: url.href, max: 4 });
  pool.on('error', () => {});
});
afterAll(async () => {
  await pool.end();
  const admin = await db.connect(db.superUrl);
  await admin.query(`drop table sums; drop role shop_${db.name}`);
  await db.drop();
});

async function enqueue(...payloads: unknown[]): Promise<[queue: string, ids: string[]]> {
  const queue = `sql${++count}`;
  const tasks = JSON.stringify(payloads.map((payload) => ({ payload })));
  const { rows } = await pool.query('select tock.enqueue($1, $2)::text[] as ids', [queue, tasks]);
  return [queue, rows[0].ids];
}

const task = async (id?: string) => (await pool.query('select * from tock.task($1)', [id])).rows[0];

/** How many rows a handler of this test has stored. */
const sums = async (n: number) => (await pool.query('select from sums where n = $1', [n])).rowCount;

const add = 'insert into sums (n) values ($1)';

test("a handler's changes commit with the completion, and roll back with a failure", async () => {
  const [queue, ids] = await enqueue(11, 12);
  const worked = await workSql<{ [queue: string]: number }>(
    pool,
    queue,
    async ({ payload }, { client }) => {
      await client.query(add, [payload]);
      if (payload === 12) throw new RetryIn(60, 'not yet');
      return { added: payload };
    },
    toTheEnd,
  );
  expect(worked).toEqual({ ...nothing, done: 1, failed: 1 });
  expect([await sums(11), await sums(12)]).toEqual([1, 0]);
  expect(await task(ids[0])).toMatchObject({ state: 'done', result: { added: 11 } });
  expect((await task(ids[1])).runs[0].error).toMatchObject({ name: 'RetryIn', message: 'not yet' });
});

test('middleware runs inside the transaction', async () => {
  const [queue, ids] = await enqueue(13, 14);
  const worked = await workSql<{ [queue: string]: number }>(
    pool,
    queue,
    ({ payload }, { client }) => client.query(add, [payload]).then(() => payload),
    {
      ...toTheEnd,
      async middleware({ payload }, run) {
        const end = await run();
        if (payload === 14) throw new RetryIn(60, 'not yet');
        return { end };
      },
    },
  );
  expect(worked).toEqual({ ...nothing, done: 1, failed: 1 });
  expect([await sums(13), await sums(14)]).toEqual([1, 0]);
  expect(await task(ids[0])).toMatchObject({ state: 'done', result: { end: 13 } });
});

test("a lost lease rolls back the handler's changes", async () => {
  const [queue, ids] = await enqueue(21);
  const owner = await db.connect();
  const stop = new AbortController();
  const worked = await workSql<{ [queue: string]: number }>(
    pool,
    queue,
    async ({ payload }, { client }) => {
      await client.query(add, [payload]);
      await owner.query(
        "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
      );
      await owner.query('select tock.reap(p_sweep => true)');
      stop.abort();
    },
    { signal: stop.signal },
  );
  expect(worked).toEqual({ ...nothing, lost: 1 });
  expect(await sums(21)).toBe(0);
  expect(await task(ids[0])).toMatchObject({ state: 'ready', lost: 1 });
});

test('a handler that ends its transaction itself fails with an error that says so', async () => {
  const [queue, ids] = await enqueue(0, 1);
  const ends = ['commit', 'commit; begin'];
  const handle = async ({ payload }: { payload: unknown }, { client }: { client: SqlClient }) =>
    void (await client.query(ends[Number(payload)] as string));
  const worked = await workSql(pool, queue, handle, toTheEnd);
  expect(worked).toEqual({ ...nothing, failed: 2 });
  for (const id of ids) {
    expect((await task(id)).runs[0].error.message).toMatch(/has ended its transaction/);
  }
});

test('an error in SQL fails the task, even if the handler catches it', async () => {
  const [queue, ids] = await enqueue(41, 42);
  const worked = await workSql(
    pool,
    queue,
    async ({ payload }, { client }) => {
      const bad = client.query('select 1 / 0');
      if (payload === 41) await bad;
      else await bad.catch(() => {});
    },
    toTheEnd,
  );
  expect(worked).toEqual({ ...nothing, failed: 2 });
  const errors = await Promise.all(ids.map(async (id) => (await task(id)).runs[0].error.message));
  expect(errors).toEqual(['division by zero', expect.stringMatching(/transaction is aborted/)]);
});

test('a broken connection fails the task, and the worker continues with another connection', async () => {
  const [queue] = await enqueue(51, 52);
  const admin = await db.connect(db.superUrl);
  const heard: unknown[] = [];
  const worked = await workSql<{ [queue: string]: number }>(
    pool,
    queue,
    async ({ payload, attempt }, { client }) => {
      await client.query(add, [payload]);
      if (payload !== 51 || attempt > 1) return;
      const { rows } = await client.query('select pg_backend_pid() as pid');
      await admin.query('select pg_terminate_backend($1, 5000)', [rows[0].pid]);
    },
    { ...toTheEnd, on_error: (error) => heard.push(error) },
  );
  expect(worked).toEqual({ ...nothing, done: 1, failed: 1 });
  expect(heard).toHaveLength(1);
  expect([await sums(51), await sums(52)]).toEqual([0, 1]);
});

test('a worker continues after broken connections in its own calls', async () => {
  const [queue] = await enqueue(71, 72);
  const admin = await db.connect(db.superUrl);
  const kill = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where usename = $1 and pid <> pg_backend_pid()`;
  let killed = false;
  const breaking: SqlPool = {
    connect: () => pool.connect(),
    async query(text, values) {
      const client = await pool.connect();
      client.on('error', () => {});
      let broken: Error | undefined;
      try {
        if (!killed) await admin.query(kill, [`shop_${db.name}`]);
        killed = true;
        return await client.query(text, values);
      } catch (error) {
        broken = error as Error;
        throw error;
      } finally {
        client.release(broken);
      }
    },
  };
  const worked = await workSql(breaking, queue, () => {}, toTheEnd);
  expect(killed).toBe(true);
  expect(worked).toEqual({ ...nothing, done: 2 });
});

test("a refused result rolls back the handler's changes", async () => {
  const [queue] = await enqueue(61);
  const worked = await workSql(
    pool,
    queue,
    async ({ payload }, { client }) => {
      await client.query(add, [payload]);
      return 'x'.repeat(300_000);
    },
    toTheEnd,
  );
  expect(worked).toEqual({ ...nothing, failed: 1 });
  expect(await sums(61)).toBe(0);
});

test('workSql() spawns tasks with the completion, and works on several queues', async () => {
  const [first] = await enqueue('parent');
  const [second] = await enqueue();
  const seen: unknown[] = [];
  const worked = await workSql<Record<string, unknown>>(
    pool,
    {
      [first]: (_, { spawn }) => spawn({ queue: second, tasks: [{ payload: 'child' }] }),
      [second]: ({ payload }) => void seen.push(payload),
    },
    toTheEnd,
  );
  expect(worked).toEqual({ ...nothing, done: 2 });
  expect(seen).toEqual(['child']);
});

test('heartbeats extend the lease during a transaction, and a waiting worker gets a new task', async () => {
  const queue = `sql${++count}`;
  const stop = new AbortController();
  const statement =
    "select now() > $1::timestamptz + interval '4 s' as past, tock.queue_of_lease($2)";
  const work = workSql(
    pool,
    queue,
    async ({ id }, { signal }) => {
      const started = (await task(id)).runs[0].started_at;
      const past = async () => (await pool.query(statement, [started, null])).rows[0].past;
      await expect.poll(past).toBe(true);
      expect(signal.aborted).toBe(false);
      stop.abort();
    },
    { signal: stop.signal, lease_seconds: 3 },
  );
  await pool.query("select tock.enqueue($1, '[{}]')", [queue]);
  expect(await work).toEqual({ ...nothing, done: 1 });
  expect(new LeaseLost(409, {})).toBeInstanceOf(Error);
});

test('a task is enqueued in the transaction of a client, and a repeated request id gives the same', async () => {
  type Queues = { [queue: `own${string}`]: { n: number }; other: string };
  const queue = `own${++count}` as const;
  const client = await pool.connect();
  try {
    await client.query('begin');
    const gone = await enqueueSql<Queues>(client, queue, { n: 1 });
    await client.query('rollback');
    expect(await task(gone)).toBeUndefined();

    const options = { request_id: `again ${queue}`, delay_seconds: 60, priority: 1 };
    const id = await enqueueSql<Queues>(client, queue, { n: 2 }, options);
    expect(await enqueueSql<Queues>(client, queue, { n: 2 }, options)).toBe(id);
    expect(await task(id)).toMatchObject({
      queue,
      state: 'waiting',
      priority: 1,
      payload: { n: 2 },
    });

    // @ts-expect-error that is another queue's payload
    await enqueueSql<Queues>(client, queue, 'two', options).catch(() => {});
    // @ts-expect-error there is no such option
    const wrong = enqueueSql<Queues>(client, queue, { n: 3 }, { delay: 60 });
    await expect(wrong).rejects.toMatchObject({ name: 'TockError', status: 422 });
  } finally {
    client.release();
  }
});
