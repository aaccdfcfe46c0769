import { expect, test } from 'vitest';
import { enqueueSql, LeaseLost, RetryIn, type SqlPool, workSql } from '../../client/sql.ts';
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

test.each([new RetryIn(60, 'not yet'), undefined, null, Object.create(null)])(
  "a handler's changes commit with the completion, and roll back with a failure: %s",
  async (thrown) => {
    const [good, bad] = [fresh(), fresh()];
    const [queue, ids] = await enqueue(bad, good);
    const { counts } = await worked(queue, async (n, context) => {
      await add(n, context);
      if (n === bad) throw thrown;
      return { added: n };
    });
    expect(counts).toEqual({ ...noTasksDone, done: 1, failed: 1 });
    expect(await effects(good, bad)).toEqual([good]);
    expect((await task(ids[0])).runs[0]).toMatchObject({ state: 'failed', error: {} });
    expect(await task(ids[1])).toMatchObject({ state: 'done', result: { added: good } });
  },
);

test('middleware runs inside the transaction', async () => {
  const [queue, ids] = await enqueue(13, 14);
  const { counts } = await worked(queue, (n, context) => add(n, context).then(() => n), {
    async middleware({ payload }, run) {
      const end = await run();
      if (payload === 14) throw new RetryIn(60, 'not yet');
      return { end };
    },
  });
  expect(counts).toEqual({ ...noTasksDone, done: 1, failed: 1 });
  expect(await effects(13, 14)).toEqual([13]);
  expect(await task(ids[0])).toMatchObject({ state: 'done', result: { end: 13 } });
  expect((await task(ids[1])).runs[0].error).toMatchObject({ name: 'RetryIn', message: 'not yet' });
});

test("a lost lease rolls back the handler's changes", async () => {
  const [queue, ids] = await enqueue(21);
  const stop = new AbortController();
  const { counts } = await worked(
    queue,
    async (n, context) => {
      await add(n, context);
      await expireLeases(owner);
      stop.abort();
    },
    { signal: stop.signal },
  );
  expect(counts).toEqual({ ...noTasksDone, lost: 1 });
  expect(await effects(21)).toEqual([]);
  expect(await task(ids[0])).toMatchObject({ state: 'ready', lost: 1 });
});

test('a handler that ends its transaction itself fails with an error that says so', async () => {
  const [queue] = await enqueue(0, 1);
  const ends = ['commit', 'commit; begin'];
  const { counts, heard } = await worked(queue, async (n, { client }) => {
    await client.query(ends[n] as string);
  });
  expect(counts).toEqual({ ...noTasksDone, failed: 2 });
  const message = expect.stringMatching(/has ended its transaction/);
  expect(heard).toMatchObject([{ message }, { message }]);
});

test('an error in SQL fails the task, even if the handler catches it', async () => {
  const [queue, ids] = await enqueue(41, 42);
  const { counts } = await worked(queue, async (n, { client }) => {
    const bad = client.query('select 1 / 0');
    if (n === 41) await bad;
    else await bad.catch(() => {});
  });
  expect(counts).toEqual({ ...noTasksDone, failed: 2 });
  const errors = await Promise.all(ids.map(async (id) => (await task(id)).runs[0].error.message));
  expect(errors).toEqual(['division by zero', expect.stringMatching(/transaction is aborted/)]);
});

test('a broken connection fails the task, and the worker continues with another connection', async () => {
  const [queue] = await enqueue(51, 52);
  const admin = await db.connect(db.superUrl);
  let broken = false;
  const { counts, heard } = await worked(queue, async (n, context) => {
    await add(n, context);
    if (broken) return;
    broken = true;
    const { rows } = await context.client.query('select pg_backend_pid() as pid');
    await admin.query('select pg_terminate_backend($1, 5000)', [rows[0].pid]);
  });
  expect(counts).toEqual({ ...noTasksDone, done: 1, failed: 1 });
  expect(heard).toHaveLength(1);
  expect(await effects(51, 52)).toEqual([52]);
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
  const { counts } = await worked(queue, () => {}, {}, breaking);
  expect(killed).toBe(true);
  expect(counts).toEqual({ ...noTasksDone, done: 2 });
});

test("a refused result rolls back the handler's changes", async () => {
  const [queue] = await enqueue(61);
  const large: Parameters<typeof worked>[1] = (n, context) =>
    add(n, context).then(() => 'x'.repeat(300_000));
  expect((await worked(queue, large)).counts).toEqual({ ...noTasksDone, failed: 1 });
  expect(await effects(61)).toEqual([]);
});

test('workSql() spawns tasks with the completion, and works on several queues', async () => {
  const [first] = await enqueue('parent');
  const [second] = await enqueue();
  const seen: unknown[] = [];
  const counts = await workSql<Record<string, unknown>>(
    pool,
    {
      [first]: (_, { spawn }) => spawn({ queue: second, tasks: [{ payload: 'child' }] }),
      [second]: ({ payload }) => void seen.push(payload),
    },
    { until: 'empty' },
  );
  expect(counts).toEqual({ ...noTasksDone, done: 2 });
  expect(seen).toEqual(['child']);
});

test('heartbeats extend the lease during a transaction, and a waiting worker gets a new task', async () => {
  const [queue] = await enqueue();
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
  await owner.query("select tock.enqueue($1, '[{}]')", [queue]);
  expect(await work).toEqual({ ...noTasksDone, done: 1 });
  expect(new LeaseLost(409, {})).toBeInstanceOf(Error);
});

test('a task is enqueued in the transaction of a client, and a repeated request id gives the same', async () => {
  type Queues = { [queue: `own${string}`]: { n: number }; other: string };
  const queue = `own${fresh()}` as const;
  const client = await pool.connect();
  try {
    await client.query('begin');
    const gone = await enqueueSql<Queues>(client, queue, { n: 1 });
    await client.query('rollback');
    expect(await task(gone)).toBeUndefined();

    const options = { request_id: `again ${queue}`, delay_seconds: 60, priority: 1 };
    const id = await enqueueSql<Queues>(client, queue, { n: 2 }, options);
    expect(await enqueueSql<Queues>(client, queue, { n: 2 }, options)).toBe(id);
    const stored = { queue, state: 'waiting', priority: 1, payload: { n: 2 } };
    expect(await task(id)).toMatchObject(stored);

    // @ts-expect-error that is another queue's payload
    await enqueueSql<Queues>(client, queue, 'two', options).catch(() => {});
    // @ts-expect-error there is no such option
    const wrong = enqueueSql<Queues>(client, queue, { n: 3 }, { delay: 60 });
    await expect(wrong).rejects.toMatchObject({ name: 'TockError', status: 422 });
  } finally {
    client.release();
  }
});
