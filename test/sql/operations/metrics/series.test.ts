import { expect, test } from 'vitest';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  startNextSegment,
} from '../../kernel/segment/segments.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  complete,
  drain,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  reap,
  release,
  rows,
  value,
} from '../../verbs.ts';
import { byMinute, count, take, totals } from './metrics.ts';

databasePerTest();

/** Lets every kind of event happen, with rounds in between. `ofDay` has the expected sums. */
async function day(limit = 100_000) {
  await enqueue(client, 'q', numberedTasks(20));
  const whole = await take(5);
  await complete(client, whole.lease);
  const mixed = await take(6);
  const [a, b, c, d] = mixed.ids.map((id) => ({ id }));
  await complete(client, mixed.lease, [{ ...a, result: 'own' }]);
  await count(limit);
  await fail(client, mixed.lease, [{ ...b, fatal: true }]);
  await release(client, mixed.lease, [c?.id as string]);
  await fail(client, mixed.lease, [{ ...d, retry_in_seconds: 100_000 }]);
  await count(limit);
  await complete(client, mixed.lease);
  const lost = await take(3);
  await complete(client, lost.lease, [{ id: lost.ids[1] }]);
  await count(limit);
  await expire(client, lost.lease);
  expect(await reap(client)).toBe(2);
  const [first] = await enqueue(client, 'q', numberedTasks(1));
  await client.query('select tock.cancel(array[$1::bigint])', [first]);
}

const ofDay = {
  enqueued: 21,
  started: 14,
  passed: 0,
  done: 5 + 1 + 2 + 1,
  failed: 2,
  lost: 2,
  dead: 1,
  cancelled: 0,
  returned: 1,
  ready: 6 + 1 + 2,
  running: 0,
  waiting: 1,
  dead_now: 1,
};

test('each event of a task is counted once, whenever metrics are collected', async () => {
  await day();
  await count();
  expect(await totals()).toEqual(ofDay);
  expect(await count()).toBe(0);
  expect(await totals()).toEqual(ofDay);
  const { ready, running, waiting, dead_now, ...counted } = ofDay;
  expect(await byMinute('q')).toEqual(counted);
  expect(await byMinute('*')).toEqual(counted);
  await client.query("select tock.purge_queue('q', 'ready')");
  await count();
  expect(await totals()).toEqual({ ...ofDay, passed: 10, ready: 0 });
});

test('runs counted one at a time have the same sums, over segment boundaries and after segments are dropped', async () => {
  await day(1);
  await startNextSegment(client);
  await enqueue(client, 'q', numberedTasks(1));
  for (const runs of await drain(client, 'q')) await complete(client, leaseOf(runs));
  await startNextSegment(client);
  await closeSegments(client);
  await ageClosedSegments(client, '30 days');
  // No round has read these segments. The drop collects them first.
  await dropExpiredSegments(client);
  expect(await value(client, "select to_regclass('tock.leases_1')")).toBeNull();
  await count(1);
  const more = { enqueued: 22, started: 24, passed: 1, done: 19 };
  expect(await totals()).toEqual({ ...ofDay, ...more, ready: 0, dead_now: 0 });
});

test('an open lease is counted again in each collection', async () => {
  await enqueue(client, 'q', numberedTasks(4));
  const { lease, ids } = await take(3);
  await count();
  expect(await totals()).toMatchObject({ started: 3, done: 0, running: 3, ready: 1 });
  await complete(client, lease, [{ id: ids[0] }]);
  await count();
  await count();
  expect(await totals()).toMatchObject({ done: 1, running: 2 });
  await fail(client, lease, [{ id: ids[1], fatal: true }]);
  await complete(client, lease);
  await count();
  expect(await totals()).toMatchObject({ started: 3, done: 2, failed: 1, dead: 1, running: 0 });
  expect(await rows(client, 'select * from tock.metrics_open_leases')).toEqual([]);
});

test('runs that end behind an interrupted collection are counted by the next, and finished_at tells so', async () => {
  const round = () => client.query('select tock.collect_metrics(p_seconds => 0)');
  const progress = 'select coalesce(finished_at > $1, false) from tock.metrics_progress';
  const finished = (since: string) => value<boolean>(client, progress, [since]);
  await enqueue(client, 'q', numberedTasks(1));
  const { lease } = await take(1);
  await round();
  expect(await value(client, 'select started_at is null from tock.metrics_progress')).toBe(false);
  expect(await totals()).toMatchObject({ started: 1, done: 0 });
  // The interrupted round has already passed this run, which another transaction then completes.
  await complete(await db.connect(), lease);
  const ended = await value<string>(client, 'select clock_timestamp()::text');
  await count();
  expect(await finished(ended)).toBe(false);
  expect(await totals()).toMatchObject({ started: 1, done: 0 });
  while (!(await finished(ended))) await round();
  expect(await totals()).toMatchObject({ started: 1, done: 1 });
});

test('runs that an interrupted collection did not read are read when their stream is idle since', async () => {
  await enqueue(client, 'q', numberedTasks(5));
  const { lease } = await take(5);
  await client.query('select tock.collect_metrics(p_limit => 2, p_seconds => 0)');
  expect(await totals()).toMatchObject({ enqueued: 2, started: 5 });
  await complete(client, lease);
  await client.query('select tock.deactivate_streams()');
  expect(await value(client, 'select count(*)::int from tock.streams where awake')).toBe(0);
  await count();
  await count();
  expect(await totals()).toMatchObject({ enqueued: 5, started: 5, done: 5, ready: 0 });
  expect(await rows(client, 'select ready::int from tock.metrics_cursors')).toEqual([{ ready: 0 }]);
  // The stream has nothing left to count, so a round reads nothing.
  expect(await value(client, 'select tock.collect_metrics()')).toBe(0);
});

test('minutes become hours after two days, and are deleted after 400 days', async () => {
  await day();
  await count();
  const before = await byMinute('q');
  const at = "date_trunc('hour', now(), 'UTC') - interval '50 hours' + interval '7 minutes'";
  // If the test spanned two minutes, its points still span two.
  await client.query(
    `update tock.queue_metrics set at = ${at} + (at - (select min(m.at) from tock.queue_metrics m))`,
  );
  await count();
  // This run ended 50 hours ago, but is collected now. It too belongs to an hour.
  await enqueue(client, 'q', numberedTasks(1));
  const { lease } = await take(1);
  await complete(client, lease);
  const earlier = `update tock.leases set closed_at = ${at}, claimed_at = ${at} where token = $1`;
  await client.query(earlier, [lease]);
  await count();
  const points = await rows(
    client,
    `select width_seconds, done::int, to_char(at at time zone 'utc', 'MI') as m from tock.queue_metrics
     where queue = 'q' and done > 0`,
  );
  expect(points).toEqual([{ width_seconds: 3600, done: 10, m: '00' }]);
  const { enqueued = 0, started = 0, done = 0 } = before;
  const more = { enqueued: enqueued + 1, started: started + 1, done: done + 1 };
  expect(await byMinute('q')).toEqual({ ...before, ...more });
  await client.query("update tock.queue_metrics set at = at - interval '400 days'");
  await count();
  const old = "select from tock.queue_metrics where at < now() - interval '1 day'";
  expect(await rows(client, old)).toEqual([]);
  expect(await totals()).toMatchObject({ done: 10 });
});

test('a dropped queue has no totals', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  await count();
  await client.query("select tock.drop_queue('q', true)");
  await count();
  expect(await rows(client, 'select queue from tock.totals')).toEqual([]);
});

test('a delayed task counts as enqueued when it becomes ready, once', async () => {
  await enqueue(client, 'q', numberedTasks(2, 0, { delay_seconds: 3600 }));
  await count();
  expect(await totals()).toMatchObject({ enqueued: 0, waiting: 2, ready: 0 });
  await makeDue(client, 'q');
  await promote(client);
  await release(client, (await take(2)).lease);
  await count();
  expect(await totals()).toMatchObject({ enqueued: 2, waiting: 0, ready: 2, returned: 2 });
});
