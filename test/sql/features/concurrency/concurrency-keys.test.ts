import { describe, expect, test } from 'vitest';
import { change } from '../../kernel/change/changes.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  expireTask,
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
  due,
  payloadsOf,
  promoteAndClaim,
  promoteDue,
  putKey,
  putQueue,
  tasksWithKey,
} from './concurrency_keys.ts';

databasePerFile();

const hourly = {
  concurrency_limit: 100,
  concurrency_rate_limit: 1,
  concurrency_rate_seconds: 3600,
};

test('tasks of one key start one at a time, in the order of enqueueing', async () => {
  await enqueue(client, 'serial', [...tasksWithKey('a', 0, 3), ...tasksWithKey('b', 10, 2), {}]);
  // A task without a key waits for none.
  expect(await claim(client, 'serial', { limit: 9 })).toMatchObject([{ payload: null }]);
  const first = await promoteAndClaim(client, 'serial');
  expect(payloadsOf(first).sort()).toEqual([0, 10]);
  expect(await promoteAndClaim(client, 'serial')).toEqual([]);
  await complete(client, leaseOf(first));
  expect(payloadsOf(await promoteAndClaim(client, 'serial')).sort()).toEqual([1, 11]);
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

  test.each(['cancelled', 'expired'])('is %s while it is ready', async (state) => {
    const queue = `ready-${state}`;
    const [id = ''] = await enqueue(client, queue, [
      ...tasksWithKey('k', 0, 1, { expires_in_seconds: 3600 }),
      ...tasksWithKey('k', 1),
    ]);
    await promoteDue(client);
    expect((await task(client, id))?.state).toBe('ready');
    if (state === 'expired') await expireTask(client, id);
    else await client.query('select tock.cancel(array[$1::bigint])', [id]);
    const runs = await promoteAndClaim(client, queue);
    runs.push(...(await promoteAndClaim(client, queue)));
    expect(payloadsOf(runs)).toEqual([1]);
    expect((await task(client, id))?.state).toBe(state);
  });
});

test('a retry keeps its admission, or gives it up with concurrency_retry yield', async () => {
  for (const [concurrency_retry, second, third] of [
    ['keep', 0, 1],
    ['yield', 1, 0],
  ] as const) {
    const queue = `retry-${concurrency_retry}`;
    const settings = { backoff_base_seconds: 0, backoff_jitter: 0, concurrency_retry };
    await putQueue(client, queue, settings);
    await enqueue(client, queue, tasksWithKey('k', 0, 2));
    const first = await promoteAndClaim(client, queue);
    expect(payloadsOf(first)).toEqual([0]);
    await fail(client, leaseOf(first));
    const next = await promoteAndClaim(client, queue);
    expect(payloadsOf(next)).toEqual([second]);
    await complete(client, leaseOf(next));
    await due(client, queue);
    expect(payloadsOf(await promoteAndClaim(client, queue))).toEqual([third]);
  }
});

test('a retry that waits holds the key, and runs when its time has come', async () => {
  await putQueue(client, 'backing-off', { backoff_base_seconds: 3600 });
  const [id] = await enqueue(client, 'backing-off', tasksWithKey('k', 0, 2));
  await fail(client, leaseOf(await promoteAndClaim(client, 'backing-off')));
  expect(await promoteAndClaim(client, 'backing-off')).toEqual([]);
  await due(client, 'backing-off');
  const again = await promoteAndClaim(client, 'backing-off');
  expect(again).toMatchObject([{ id, payload: 0, attempt: 2 }]);
});

test('a ready task that is changed keeps its admission, and gives it up when it is delayed', async () => {
  const [id = '', next = ''] = await enqueue(client, 'put-off', tasksWithKey('k', 0, 3));
  await promoteDue(client);
  await change(client, [id], { payload: 'new' });
  const first = await promoteAndClaim(client, 'put-off');
  expect(first).toMatchObject([{ id, payload: 'new' }]);
  await complete(client, leaseOf(first));
  await change(client, [next], { delay_seconds: 3600 });
  const runs = await promoteAndClaim(client, 'put-off');
  runs.push(...(await promoteAndClaim(client, 'put-off')));
  expect(payloadsOf(runs)).toEqual([2]);
  await change(client, [next], { delay_seconds: 0 });
  expect(await promoteAndClaim(client, 'put-off')).toEqual([]);
  expect((await task(client, next))?.state).toBe('waiting');
  await complete(client, leaseOf(runs));
  expect(await promoteAndClaim(client, 'put-off')).toMatchObject([{ id: next, attempt: 1 }]);
});

test('a concurrency key is listed, resized, paused and reset', async () => {
  await enqueue(client, 'governed', tasksWithKey('k', 0, 6));
  expect(payloadsOf(await promoteAndClaim(client, 'governed'))).toEqual([0]);
  const list = () =>
    rows(
      client,
      `select concurrency_key, paused, concurrency_limit, cardinality(holders) as holders, waiting from tock.concurrency_keys('governed')`,
    );
  const listed = { concurrency_key: 'k', paused: false, concurrency_limit: 1 };
  expect(await list()).toEqual([{ ...listed, holders: 1, waiting: 5 }]);
  await putKey(client, 'governed', { concurrency_limit: 3 });
  expect(payloadsOf(await promoteAndClaim(client, 'governed')).sort()).toEqual([1, 2]);
  await putKey(client, 'governed', { paused: true, concurrency_limit: 6 });
  expect(await promoteAndClaim(client, 'governed')).toEqual([]);
  await putKey(client, 'governed', { paused: false, concurrency_limit: 4 });
  expect(payloadsOf(await promoteAndClaim(client, 'governed'))).toEqual([3]);
  const reset = (key: string) =>
    value(client, `select tock.reset_concurrency_key('governed', $1)`, [key]);
  expect(await reset('k')).toBe(true);
  expect(await list()).toEqual([{ ...listed, holders: 4, waiting: 2 }]);
  expect(await reset('unknown')).toBe(false);
});

test('a key with a rate admits a burst, and then one by one as time passes', async () => {
  await putQueue(client, 'rated', { ...hourly, concurrency_rate_burst: 3 });
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
  const first = await promoteAndClaim(client, 'line');
  await due(client, 'line');
  await fail(client, leaseOf(first));
  await due(client, 'line');
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
  const admit =
    "tock.admit_waiters(tock.lock_concurrency_keys(array['snapshot'], array['k'], true))";
  expect(await value(other, `select ${admit}`)).toBe(0);
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
  await putQueue(client, 'alarm', { ...hourly, concurrency_rate_seconds: 86400 });
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
  await putQueue(client, 'woken', hourly);
  const ids = await enqueue(client, 'woken', tasksWithKey('k', 0, 2));
  expect(payloadsOf(await promoteAndClaim(client, 'woken'))).toEqual([0]);
  await client.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [
    ids[1],
  ]);
  await client.query(`select tock.reset_concurrency_key('woken', 'k')`);
  const minutes = `select round(extract(epoch from due_at - now()) / 60) from tock.waiting where queue = 'woken'`;
  expect(await value(client, minutes)).toBe('60');
});
