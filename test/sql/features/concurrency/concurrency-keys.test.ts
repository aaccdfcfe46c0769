import { describe, expect, test } from 'vitest';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  refusal,
  rows,
  promote as sweep,
  task,
  value,
} from '../../verbs.ts';
import {
  payloadsOf,
  promoteAndClaim,
  promoteDue,
  putQueue,
  tasksWithKey,
} from './concurrency_keys.ts';

databasePerFile();

test('tasks of one key start one at a time, in the order of enqueueing', async () => {
  const ids = await enqueue(client, 'serial', [
    ...tasksWithKey('a', 0, 3),
    ...tasksWithKey('b', 10, 2),
  ]);
  expect((await task(client, ids[0] as string))?.state).toBe('waiting');
  const first = await promoteAndClaim(client, 'serial');
  expect(payloadsOf(first).sort()).toEqual([0, 10]);
  expect(await promoteAndClaim(client, 'serial')).toEqual([]);
  expect((await task(client, ids[1] as string))?.state).toBe('waiting');
  await complete(client, leaseOf(first));
  expect(payloadsOf(await promoteAndClaim(client, 'serial')).sort()).toEqual([1, 11]);
});

test('a thousand tasks with a key each are admitted together', async () => {
  const tasks = Array.from({ length: 1000 }, (_, n) => ({
    payload: n,
    concurrency_key: `concurrency key ${n}`,
  }));
  await enqueue(client, 'together', tasks);
  await promoteDue(client);
  const runs = await claim(client, 'together', { limit: 1000 });
  expect(runs).toHaveLength(1000);
  await enqueue(client, 'together', tasks);
  await promoteDue(client);
  await complete(client, leaseOf(runs));
  expect(await claim(client, 'together', { limit: 1000 })).toHaveLength(1000);
});

test('tasks without a key do not wait for those with one', async () => {
  await enqueue(client, 'mixed', tasksWithKey('a', 0, 3));
  await enqueue(client, 'mixed', [{ payload: 'plain' }, { payload: 'too' }]);
  const runs = [
    ...(await promoteAndClaim(client, 'mixed')),
    ...(await promoteAndClaim(client, 'mixed')),
  ];
  expect(payloadsOf(runs).sort()).toEqual([0, 'plain', 'too']);
});

describe('the next task is admitted when a task', () => {
  const ends: [string, (lease: string, id: string) => Promise<unknown>][] = [
    ['is done', (lease) => complete(client, lease)],
    ['is done with a result', (lease, id) => complete(client, lease, [{ id, result: 1 }])],
    ['is dead', (lease) => fail(client, lease, { fatal: true })],
    [
      'is cancelled and failed',
      async (lease, id) => {
        await client.query('select tock.cancel(array[$1::bigint])', [id]);
        await fail(client, lease, { retry_in_seconds: 0 });
      },
    ],
    [
      'is lost once too often',
      async (lease) => {
        await expire(client, lease);
        await reap(client);
      },
    ],
  ];
  test.each(ends)('%s', async (name, end) => {
    const queue = `end-${name.replaceAll(' ', '-')}`;
    await putQueue(client, queue, { max_lost: 1 });
    const [id] = await enqueue(client, queue, tasksWithKey('k', 0, 2));
    const first = await promoteAndClaim(client, queue);
    expect(payloadsOf(first)).toEqual([0]);
    await end(leaseOf(first), id as string);
    expect(payloadsOf(await promoteAndClaim(client, queue))).toEqual([1]);
  });

  test('is cancelled while it is ready', async () => {
    const [id] = await enqueue(client, 'cancelled', tasksWithKey('k', 0, 2));
    await promoteDue(client);
    expect((await task(client, id as string))?.state).toBe('ready');
    await client.query('select tock.cancel(array[$1::bigint])', [id]);
    expect(
      payloadsOf([
        ...(await promoteAndClaim(client, 'cancelled')),
        ...(await promoteAndClaim(client, 'cancelled')),
      ]),
    ).toEqual([1]);
  });

  test('expires while it is ready', async () => {
    const [id] = await enqueue(client, 'expired', tasksWithKey('k', 0, 2));
    await promoteDue(client);
    await client.query(
      `update tock.runs set options = options || jsonb_build_object('expires_at', now() - interval '1 s')
       where task_id = $1`,
      [id],
    );
    expect(
      payloadsOf([
        ...(await promoteAndClaim(client, 'expired')),
        ...(await promoteAndClaim(client, 'expired')),
      ]),
    ).toEqual([1]);
    expect((await task(client, id as string))?.state).toBe('expired');
  });

  test('is ended while it waits for admission', async () => {
    const ids = await enqueue(client, 'given-up', tasksWithKey('k', 0, 3));
    const first = await promoteAndClaim(client, 'given-up');
    await client.query('select tock.cancel(array[$1::bigint])', [ids[1]]);
    await complete(client, leaseOf(first));
    expect(payloadsOf(await promoteAndClaim(client, 'given-up'))).toEqual([2]);
  });
});

test('a retry keeps its admission, or gives it up with concurrency_retry yield', async () => {
  await putQueue(client, 'keeps', { backoff_base_seconds: 0, backoff_jitter: 0 });
  await putQueue(client, 'yields', {
    backoff_base_seconds: 0,
    backoff_jitter: 0,
    concurrency_retry: 'yield',
  });
  for (const queue of ['keeps', 'yields']) {
    await enqueue(client, queue, tasksWithKey('k', 0, 2));
    const first = await promoteAndClaim(client, queue);
    expect(payloadsOf(first)).toEqual([0]);
    await fail(client, leaseOf(first));
    const next = await promoteAndClaim(client, queue);
    expect(payloadsOf(next)).toEqual([queue === 'keeps' ? 0 : 1]);
    await complete(client, leaseOf(next));
    await client.query(
      "update tock.waiting set due_at = now() - interval '1 s' where due_at < 'infinity'",
    );
    await sweep(client);
    expect(payloadsOf(await promoteAndClaim(client, queue))).toEqual([queue === 'keeps' ? 1 : 0]);
  }
});

test('a retry that waits holds the key, and runs when its time has come', async () => {
  await putQueue(client, 'backing-off', { backoff_base_seconds: 3600 });
  const [id] = await enqueue(client, 'backing-off', tasksWithKey('k', 0, 2));
  await fail(client, leaseOf(await promoteAndClaim(client, 'backing-off')));
  expect(await promoteAndClaim(client, 'backing-off')).toEqual([]);
  await client.query("update tock.waiting set due_at = now() - interval '1 s' where task_id = $1", [
    id,
  ]);
  await sweep(client);
  const again = await promoteAndClaim(client, 'backing-off');
  expect(payloadsOf(again)).toEqual([0]);
  expect(again[0]?.attempt).toBe(2);
});

test('a task that is delayed gives up its admission', async () => {
  const [id] = await enqueue(client, 'put-off', tasksWithKey('k', 0, 2));
  await promoteDue(client);
  await client.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [id]);
  expect(
    payloadsOf([
      ...(await promoteAndClaim(client, 'put-off')),
      ...(await promoteAndClaim(client, 'put-off')),
    ]),
  ).toEqual([1]);
  await client.query('select tock.reschedule(array[$1::bigint], now())', [id]);
  expect(await promoteAndClaim(client, 'put-off')).toEqual([]);
  expect((await task(client, id as string))?.state).toBe('waiting');
});

test('a concurrency key is listed, resized, paused and reset', async () => {
  await enqueue(client, 'governed', tasksWithKey('k', 0, 6));
  expect(payloadsOf(await promoteAndClaim(client, 'governed'))).toEqual([0]);
  const list = () =>
    rows(
      client,
      `select concurrency_key, paused, concurrency_limit, cardinality(holders) as holders, waiting from tock.concurrency_keys('governed')`,
    );
  expect(await list()).toEqual([
    { concurrency_key: 'k', paused: false, concurrency_limit: 1, holders: 1, waiting: 5 },
  ]);
  await client.query(
    `select tock.put_concurrency_key('governed', 'k', '{"concurrency_limit": 3}')`,
  );
  expect(payloadsOf(await promoteAndClaim(client, 'governed')).sort()).toEqual([1, 2]);
  await client.query(
    `select tock.put_concurrency_key('governed', 'k', '{"paused": true, "concurrency_limit": 6}')`,
  );
  expect(await promoteAndClaim(client, 'governed')).toEqual([]);
  await client.query(
    `select tock.put_concurrency_key('governed', 'k', '{"paused": false, "concurrency_limit": 4}')`,
  );
  expect(payloadsOf(await promoteAndClaim(client, 'governed'))).toEqual([3]);
  expect(await value(client, `select tock.reset_concurrency_key('governed', 'k')`)).toBe(true);
  expect(await list()).toEqual([
    { concurrency_key: 'k', paused: false, concurrency_limit: 1, holders: 4, waiting: 2 },
  ]);
  expect(await value(client, `select tock.reset_concurrency_key('governed', 'unknown')`)).toBe(
    false,
  );
});

test('a key with a rate admits a burst, and then one by one as time passes', async () => {
  await putQueue(client, 'rated', {
    concurrency_limit: 100,
    concurrency_rate_limit: 1,
    concurrency_rate_seconds: 3600,
    concurrency_rate_burst: 3,
  });
  await enqueue(client, 'rated', tasksWithKey('k', 0, 6));
  expect(payloadsOf(await promoteAndClaim(client, 'rated'))).toEqual([0, 1, 2]);
  expect(await promoteAndClaim(client, 'rated')).toEqual([]);
  const minutes = `select round(extract(epoch from min(due_at) - now()) / 60)::int from tock.waiting
    where queue = 'rated' and due_at < 'infinity'`;
  expect(await value(client, minutes)).toBe(60);
  // Moves the admissions and the waiters back by two hours.
  await client.query(
    "update tock.concurrency_admissions set admitted_at = admitted_at - interval '2 hours' where queue = 'rated'",
  );
  await client.query(`update tock.waiting set due_at = due_at - interval '2 hours'
    where queue = 'rated' and due_at < 'infinity'`);
  await sweep(client);
  expect(payloadsOf(await promoteAndClaim(client, 'rated')).sort()).toEqual([3, 4]);
  expect(await promoteAndClaim(client, 'rated')).toEqual([]);
  await client.query(`select tock.reset_concurrency_key('rated', 'k')`);
  expect(payloadsOf(await promoteAndClaim(client, 'rated'))).toEqual([5]);
});

test('tasks are admitted in order of enqueueing, though one was delayed or failed before', async () => {
  await putQueue(client, 'line', { concurrency_retry: 'yield', backoff_base_seconds: 3600 });
  await enqueue(client, 'line', tasksWithKey('k', 'delayed', 1, { delay_seconds: 3600 }));
  await enqueue(client, 'line', tasksWithKey('k', 0, 2));
  const makeDue = async () => {
    await client.query(
      "update tock.waiting set due_at = now() - interval '1 s' where queue = 'line' and due_at < 'infinity'",
    );
    await sweep(client);
  };
  const first = await promoteAndClaim(client, 'line');
  await makeDue();
  await fail(client, leaseOf(first));
  await makeDue();
  const seen: unknown[] = [];
  for (let n = 2; n < 5; n++) {
    await enqueue(client, 'line', tasksWithKey('k', n));
    const runs = await promoteAndClaim(client, 'line');
    seen.push(...payloadsOf(runs));
    await complete(client, leaseOf(runs));
  }
  expect(seen).toEqual([1, 'delayed', 0]);
});

test('an old snapshot admits no task, and its settings are refused', async () => {
  const [holder, other] = [await db.connect(), await db.connect()];
  await enqueue(client, 'snapshot', tasksWithKey('k', 0));
  await complete(client, leaseOf(await promoteAndClaim(client, 'snapshot')));
  await holder.query(
    "begin; select from tock.concurrency_keys where queue = 'snapshot' for update",
  );
  await enqueue(client, 'snapshot', tasksWithKey('k', 1, 2));
  await promoteDue(client);
  await holder.query('commit');
  await other.query('begin isolation level repeatable read');
  await other.query('select count(*) from tock.concurrency_admissions');
  expect(payloadsOf(await promoteAndClaim(client, 'snapshot'))).toEqual([]);
  await sweep(client);
  const first = await promoteAndClaim(client, 'snapshot');
  expect(payloadsOf(first)).toEqual([1]);
  expect(await value(other, "select tock.admit_at_keys(array['snapshot'], array['k'])")).toBe(0);
  await other.query('savepoint a');
  const refused = await refusal(
    other.query("select tock.put_concurrency_key('snapshot', 'k', '{}')"),
  );
  expect(refused.code).toBe('TK409');
  await other.query('rollback to a; commit');
  expect(await promoteAndClaim(client, 'snapshot')).toEqual([]);
  await complete(client, leaseOf(first));
  expect(payloadsOf(await promoteAndClaim(client, 'snapshot'))).toEqual([2]);
});

test("a waiter's due time follows the current rate", async () => {
  await putQueue(client, 'alarm', {
    concurrency_limit: 9,
    concurrency_rate_limit: 1,
    concurrency_rate_seconds: 86400,
  });
  await enqueue(client, 'alarm', tasksWithKey('k', 0, 2));
  expect(payloadsOf(await promoteAndClaim(client, 'alarm'))).toEqual([0]);
  const hours = `select round(extract(epoch from min(due_at) - now()) / 3600)::int from tock.waiting
    where queue = 'alarm' and due_at < 'infinity'`;
  expect(await value(client, hours)).toBe(24);
  await putQueue(client, 'alarm', { concurrency_rate_seconds: 36000 });
  await sweep(client);
  expect(await value(client, hours)).toBe(10);
  await putQueue(client, 'alarm', { concurrency_rate_limit: null });
  await sweep(client);
  expect(payloadsOf(await promoteAndClaim(client, 'alarm'))).toEqual([1]);
});

test('a claim of a task with a key commits synchronously', async () => {
  await enqueue(client, 'synchronous', tasksWithKey('k'));
  await promoteDue(client);
  const { rows: claimed } = await client.query(
    `select c.id, current_setting('synchronous_commit') as setting
     from tock.claim('synchronous', p_own_transaction => true) as c`,
  );
  expect(claimed).toMatchObject([{ setting: 'on' }]);
});

test('a waiter with a due time that is rescheduled is admitted at its new time, also after a reset', async () => {
  await putQueue(client, 'woken', {
    concurrency_limit: 100,
    concurrency_rate_limit: 1,
    concurrency_rate_seconds: 3600,
  });
  const ids = await enqueue(client, 'woken', tasksWithKey('k', 0, 2));
  expect(payloadsOf(await promoteAndClaim(client, 'woken'))).toEqual([0]);
  await client.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [
    ids[1],
  ]);
  await client.query(`select tock.reset_concurrency_key('woken', 'k')`);
  const minutes = `select round(extract(epoch from due_at - now()) / 60) from tock.waiting where queue = 'woken'`;
  expect(await value(client, minutes)).toBe('60');
});
