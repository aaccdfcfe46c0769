import { describe, expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { expectInvariants } from '../../invariants.ts';
import { createSegments, moveNearSegmentEnd } from '../../kernel/segment/segments.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  reap,
  release,
  value,
} from '../../verbs.ts';
import { advanceLimiter, ageLimiter, claimAsWorkerDoes, countRunning, putQueue } from './limits.ts';

databasePerTest();

// Just after a limit is set, claims search for open leases. Later they read the stored count.
describe.each([
  ['looked for', async () => {}],
  ['on record', () => ageLimiter(client, 'q')],
])('where open leases are %s', (_, turn) => {
  /** A queue with a limit of 3, of which a claim has been made, and `count` tasks. */
  async function limited(count: number, policy: object = { max_running: 3 }) {
    await putQueue(client, 'q', policy);
    await enqueue(client, 'q', [{}, {}]);
    await complete(client, leaseOf(await claim(client, 'q')));
    await turn();
    await complete(client, leaseOf(await claim(client, 'q')));
    await enqueue(client, 'q', numberedTasks(count));
  }

  test('a queue never runs more tasks than its limit', async () => {
    await limited(10);
    const first = await claim(client, 'q', { limit: 2 });
    const second = await claim(client, 'q', { limit: 9 });
    expect([first.length, second.length]).toEqual([2, 1]);
    const full = { got: 0, state: 'limited', after: 1 };
    expect(await claimAsWorkerDoes(client, 'q', 5)).toMatchObject(full);
    await complete(client, leaseOf(first), [{ id: first[0]?.id }]);
    expect(await claim(client, 'q', { limit: 9 })).toHaveLength(1);
    expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'limited' });
    await fail(client, leaseOf(first), [{ id: first[1]?.id, retry_in_seconds: 3600 }]);
    expect(await claim(client, 'q', { limit: 9 })).toHaveLength(1);
    await release(client, leaseOf(second));
    expect(await claim(client, 'q', { limit: 9 })).toHaveLength(1);
    expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'limited' });
    expect(await countRunning(client, 'q')).toBe(3);
    await expectInvariants(client);
  });

  test('an expired lease counts until it is reaped', async () => {
    await limited(5);
    const runs = await claim(client, 'q', { limit: 3 });
    await expire(client, leaseOf(runs));
    expect(await claim(client, 'q')).toEqual([]);
    expect(await reap(client)).toBe(3);
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 3, state: 'found' });
  });

  test('a claim at the limit reaps when reaping is late', async () => {
    await limited(5);
    await expire(client, leaseOf(await claim(client, 'q', { limit: 3 })));
    await client.query(
      "update tock.maintenance_jobs set last_started_at = null where name = 'reap'",
    );
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 3, state: 'found' });
  });

  test('a claim that was rolled back does not count', async () => {
    await limited(6, { max_running: 3, rate_limit: 1, rate_burst: 3, rate_seconds: 3600 });
    await advanceLimiter(client, 'q', 7200);
    for (const end of ['rollback', 'rollback to before']) {
      await client.query('begin');
      await client.query('savepoint before');
      expect(await claim(client, 'q', { limit: 9 })).toHaveLength(3);
      await client.query(end);
      await client.query('rollback');
    }
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 3 });
  });

  test('two claims in one transaction stay within the limit together', async () => {
    await limited(6);
    await client.query('begin');
    expect(await claim(client, 'q', { limit: 2 })).toHaveLength(2);
    expect(await claim(client, 'q', { limit: 2 })).toHaveLength(1);
    expect(await claim(client, 'q', { limit: 2 })).toHaveLength(0);
    await client.query('commit');
    expect(await countRunning(client, 'q')).toBe(3);
  });

  test('an open claim makes other claims busy, and the limit holds', async () => {
    await limited(6);
    // These tasks lie in another stream than the one that the open claim holds.
    await enqueue(client, 'q', numberedTasks(2, 0, { priority: 1 }));
    const other = await begin();
    expect(await claim(other, 'q', { limit: 2 })).toHaveLength(2);
    await client.query(`set lock_timeout = ${conditionTimeout}`);
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 0, state: 'busy' });
    await other.query('commit');
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
  });

  test('a lowered limit waits until enough tasks have ended, a raised one admits at once', async () => {
    await limited(9);
    const runs = await claim(client, 'q', { limit: 3 });
    await putQueue(client, 'q', { max_running: 1 });
    const end = (n: number) => complete(client, leaseOf(runs), [{ id: runs[n]?.id }]);
    await end(0);
    await end(1);
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 0, state: 'limited' });
    await end(2);
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
    await putQueue(client, 'q', { max_running: 4 });
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 3 });
    await putQueue(client, 'q', { max_running: null });
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 2 });
  });

  test('open leases of an earlier segment count', async () => {
    await limited(2);
    expect(await claim(client, 'q', { limit: 1 })).toHaveLength(1);
    await moveNearSegmentEnd(client, 1);
    await createSegments(client);
    await enqueue(client, 'q', numberedTasks(9));
    const got: number[] = [];
    for (let n = 0; n < 4; n++) got.push((await claim(client, 'q', { limit: 9 })).length);
    expect(got.reduce((sum, count) => sum + count)).toBe(2);
    expect(await countRunning(client, 'q')).toBe(3);
    const segments = 'select count(distinct tock.token_segment(token))::int from tock.leases';
    expect(await value(client, `${segments} where closed_at is null`)).toBe(2);
    expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'limited' });
  });

  test('retried, large and cancelled tasks count only while they run', async () => {
    await limited(0);
    const ids = await enqueue(client, 'q', numberedTasks(8));
    await client.query('select tock.cancel($1)', [[ids[0], ids[2], ids[3]]]);
    const runs = await claim(client, 'q', { limit: 9 });
    expect(runs.map((run) => run.payload)).toEqual([1, 4, 5]);
    expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'limited' });
    await complete(client, leaseOf(runs), [{ id: runs[1]?.id }]);
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
    await complete(client, leaseOf(runs));
    expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
    await expectInvariants(client);
  });
});

test('a limit that is set while tasks run counts them, and waits for an open claim', async () => {
  await enqueue(client, 'q', numberedTasks(9));
  const before = await claim(client, 'q', { limit: 2 });
  const other = await db.connect();
  await enqueue(other, 'q', numberedTasks(9, 0, { priority: 1 }));
  await other.query('begin');
  expect(await claim(other, 'q', { limit: 1 })).toHaveLength(1);
  await putQueue(client, 'q', { max_running: 3 });
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ got: 0, state: 'busy' });
  await other.query('commit');
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ got: 0, state: 'limited' });
  await complete(client, leaseOf(before));
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 2 });
});

test('a limit that was off for a while counts tasks that were claimed meanwhile', async () => {
  await putQueue(client, 'q', { max_running: 3 });
  await enqueue(client, 'q', numberedTasks(20));
  expect(await claim(client, 'q', { limit: 1 })).toHaveLength(1);
  await ageLimiter(client, 'q');
  expect(await claim(client, 'q', { limit: 1 })).toHaveLength(1);
  await putQueue(client, 'q', { max_running: null });
  expect(await claim(client, 'q', { limit: 4 })).toHaveLength(4);
  await putQueue(client, 'q', { max_running: 6 });
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'limited' });
  await putQueue(client, 'q', { max_running: 7 });
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
});

test('a claim repeated by its request id is answered at the limit too', async () => {
  await putQueue(client, 'q', { max_running: 2 });
  await enqueue(client, 'q', numberedTasks(9));
  const first = await claim(client, 'q', { limit: 2, request_id: 'r' });
  const newest = () => value(client, 'select max(number)::int from tock.queue_limiter_state');
  const before = await newest();
  expect(await claim(client, 'q', { limit: 2, request_id: 'r' })).toEqual(first);
  expect(await newest()).toBe(before);
});

test('a paused queue answers paused and an empty one empty, whatever their limits', async () => {
  await putQueue(client, 'q', { max_running: 1 });
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'empty' });
  await enqueue(client, 'q', numberedTasks(2));
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ got: 1 });
  await putQueue(client, 'q', { paused: true });
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'paused' });
  await putQueue(client, 'q', { paused: false });
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'limited' });
});

test("each new queue counts by itself under the default policy's limits", async () => {
  await putQueue(client, '*', { max_running: 1 });
  await enqueue(client, 'a', numberedTasks(3));
  await enqueue(client, 'b', numberedTasks(3));
  expect(await claimAsWorkerDoes(client, 'a', 3)).toMatchObject({ got: 1 });
  expect(await claimAsWorkerDoes(client, 'b', 3)).toMatchObject({ got: 1 });
  expect(await claimAsWorkerDoes(client, 'a', 3)).toMatchObject({ state: 'limited' });
});

test('a claim that leases nothing still records the open leases', async () => {
  const record = 'select leases from tock.queue_limiter_state order by number desc limit 1';
  for (const [queue, count] of [
    ['idle', 0],
    ['full', 2],
  ] as const) {
    await enqueue(client, queue, numberedTasks(count + 1));
    const runs = await claim(client, queue, { limit: count + 1 });
    if (count === 0) await complete(client, leaseOf(runs));
    await putQueue(client, queue, { max_running: 2 });
    const look = async () => {
      expect(await claim(client, queue)).toEqual([]);
      return value(client, record);
    };
    expect(await look()).toBe(null);
    expect(await look()).toBe(null);
    await ageLimiter(client, queue);
    expect(await look()).toEqual(count === 0 ? [] : [leaseOf(runs)]);
    await client.query('delete from tock.queue_limiter_state');
  }
});
