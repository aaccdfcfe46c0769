import { expect, test } from 'vitest';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  startNextSegment,
} from '../../kernel/segment/segments.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
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

databasePerTest();

const sums = 'enqueued, started, passed, done, failed, lost, dead, cancelled, returned';
const depths = 'ready, running, waiting';

/** Collects one whole round. Each statement reads up to `limit` runs and leases of each stream. */
async function count(limit = 100_000): Promise<number> {
  let amount = 0;
  for (;;) {
    amount += await value<number>(client, 'select tock.collect_metrics($1, 0)', [limit]);
    const over = await value(client, 'select started_at is null from tock.metrics_progress');
    if (over) return amount;
  }
}

async function totals(queue = 'q') {
  const [row] = await rows<Record<string, string>>(
    client,
    `select ${sums}, ${depths}, dead_now from tock.totals where queue = $1`,
    [queue],
  );
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, n]) => [name, Number(n)]));
}

/** The sums over all points of a queue. */
async function byMinute(queue: string) {
  const columns = sums.split(', ').map((name) => `sum(${name})::int as ${name}`);
  const [row] = await rows<Record<string, number>>(
    client,
    `select ${columns} from tock.queue_metrics where queue = $1`,
    [queue],
  );
  return row;
}

async function take(limit: number) {
  const runs = await claim(client, 'q', { limit });
  expect(runs).toHaveLength(limit);
  return { lease: leaseOf(runs), ids: runs.map(({ id }) => id) };
}

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
  const { ready, dead_now, ...rest } = ofDay;
  expect(await totals()).toEqual({
    ...rest,
    enqueued: 22,
    started: 24,
    passed: 1,
    done: 19,
    ready: 0,
    dead_now: 0,
  });
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
  const round = async () => client.query('select tock.collect_metrics(p_seconds => 0)');
  const finished = async (since: string | null) =>
    value<boolean>(client, 'select coalesce(finished_at > $1, false) from tock.metrics_progress', [
      since,
    ]);
  await enqueue(client, 'q', numberedTasks(1));
  const { lease } = await take(1);
  await round();
  expect(await value(client, 'select started_at is null from tock.metrics_progress')).toBe(false);
  expect(await totals()).toMatchObject({ started: 1, done: 0 });
  // The interrupted round has already passed this run, which another transaction then completes.
  const other = await db.connect();
  await other.query('begin');
  await complete(other, lease);
  await other.query('commit');
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

/** The buckets that are not empty, by their upper bounds. */
async function histogram(what: 'wait' | 'run', queue = 'q') {
  return rows(
    client,
    `select coalesce(b.bound::text, 'more') as up_to, h.n::int from tock.totals t
     cross join lateral unnest(t.${what}, tock.bounds()) h(n, bound)
     cross join lateral (select h.bound) b where t.queue = $1 and h.n > 0`,
    [queue],
  );
}

test('a wait lasts from when the run was ready or due to its claim, and a run from its claim to its end', async () => {
  await client.query(`select tock.put_queue('q', '{"backoff_jitter": 0}')`);
  await enqueue(client, 'q', numberedTasks(2));
  await client.query("update tock.runs set created_at = now() - interval '400 s'");
  const { lease, ids } = await take(2);
  await client.query("update tock.leases set claimed_at = claimed_at - interval '30 s'");
  await complete(client, lease, [{ id: ids[0] }]);
  await fail(client, lease, [{ id: ids[1], retry_in_seconds: 3600 }]);
  await count();
  expect(await histogram('wait')).toEqual([{ up_to: '450', n: 2 }]);
  const ended = [{ up_to: '45', n: 2 }];
  expect(await histogram('run')).toEqual(ended);
  // The retry was due after an hour. The task is claimed 21 seconds after that time.
  await client.query("update tock.waiting set due_at = now() - interval '21 s'");
  await promote(client);
  await release(client, (await take(1)).lease);
  await count();
  expect(await histogram('wait')).toEqual([
    { up_to: '30', n: 1 },
    { up_to: '450', n: 2 },
  ]);
  // A released run is ready again at once, and its own time is not counted in the histogram of run times.
  await take(1);
  await count();
  expect(await histogram('run')).toEqual(ended);
  expect(await waits('q')).toEqual({ short: 1, long: 3 });
});

/** The number of runs that waited for up to ten seconds, and of those that waited longer. */
async function waits(queue: string) {
  const [row] = await rows(
    client,
    `select sum(h.n) filter (where h.bound <= 10)::int as short, sum(h.n) filter (where h.bound > 10)::int as long
     from tock.totals t cross join lateral unnest(t.wait, tock.bounds()) h(n, bound) where t.queue = $1`,
    [queue],
  );
  return row;
}

const longAgo = `update tock.waiting set created_at = now() - interval '300 s',
  due_after_parents = due_after_parents - interval '300 s', due_at = due_at - interval '300 s'`;

const oldest = `select oldest_ready_at > now() - interval '60 s' as fresh from tock.queue_stats($1)`;

test('a run that is ready again at once is ready since the run before it ended', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  await client.query("update tock.runs set created_at = now() - interval '300 s'");
  expect(await rows(client, oldest, ['q'])).toEqual([{ fresh: false }]);
  const again = [
    (lease: string) => fail(client, lease, { retry_in_seconds: 0 }),
    (lease: string) => release(client, lease),
    async (lease: string) => {
      await expire(client, lease);
      await reap(client);
    },
  ];
  for (const end of again) {
    await end((await take(1)).lease);
    expect(await rows(client, oldest, ['q']), `${end}`).toEqual([{ fresh: true }]);
  }
});

test('a child waits from the end of its last parent, and a task with a concurrency key from its admission', async () => {
  const [parent] = await enqueue(client, 'q', numberedTasks(1));
  await enqueue(client, 'q', [{ depends_on: [parent] }]);
  await client.query(longAgo);
  await complete(client, (await take(1)).lease);
  expect(await rows(client, oldest, ['q'])).toEqual([{ fresh: true }]);
  await complete(client, (await take(1)).lease);
  await count();
  expect(await waits('q')).toEqual({ short: 2, long: 0 });

  await enqueue(client, 'limited', [{ concurrency_key: 'g' }, { concurrency_key: 'g' }]);
  await promote(client);
  await client.query(longAgo);
  for (const _ of [1, 2]) {
    expect(await rows(client, oldest, ['limited'])).toEqual([{ fresh: true }]);
    await complete(client, leaseOf(await claim(client, 'limited')));
  }
  await count();
  expect(await waits('limited')).toEqual({ short: 2, long: 0 });
});

test('a percentile is within about a quarter of the exact one', async () => {
  // Equal values, even spread, exponential and a long tail; from milliseconds to hours.
  const spread = [
    'scale',
    'scale * (0.5 + u)',
    '-ln(1 - u) * scale',
    'scale * (case when u < 0.9 then 1 else 20 end)',
  ];
  const of = spread.map(
    (seconds, kind) => `select ${kind} as kind, scale, ${seconds} as seconds from drawn`,
  );
  const [worst] = await rows<{ ratio: number }>(
    client,
    `with drawn as (
       select scale, (n - 0.5) / 1000 as u from unnest(array[0.012, 0.061, 0.322, 2.6, 17, 105, 322, 1805, 4000]::float8[]) scale,
         generate_series(1, 1000) n),
     waited as (${of.join(' union all ')}),
     wanted as (
       select p.share, tock.percentile((
           select tock.histogram(array_agg(b.bucket), array_agg(b.n)) from (
             select tock.bucket_of(o.seconds) as bucket, count(*) as n from waited o
             where o.kind = w.kind and o.scale = w.scale group by 1) b), p.share) as told,
         percentile_disc(p.share) within group (order by w.seconds) as is
       from waited w cross join (values (0.5), (0.95), (0.99)) p (share)
       group by w.kind, w.scale, p.share)
     select max(greatest(a.told / a.is, a.is / a.told)) as ratio from wanted a where a.is >= 0.005`,
  );
  expect(worst?.ratio).toBeLessThan(1.27);
});

test('a value above a bound is counted in the next bucket, and an equal value is not', async () => {
  const durations = '0, 0.005, 0.0051, 1, 60, 86400, 86401, -5';
  expect(
    await value(
      client,
      `select array(select tock.bucket_of(s) from unnest(array[${durations}]) s)`,
    ),
  ).toEqual([1, 1, 2, 15, 26, 47, 48, 1]);
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
  await client.query(
    `update tock.leases set closed_at = ${at}, claimed_at = ${at} where token = $1`,
    [lease],
  );
  await count();
  expect(
    await rows(
      client,
      "select width_seconds, done::int, run, to_char(at at time zone 'utc', 'MI') as m from tock.queue_metrics where queue = 'q' and done > 0",
    ),
  ).toMatchObject([{ width_seconds: 3600, done: 10, m: '00' }]);
  const { enqueued = 0, started = 0, done = 0 } = before ?? {};
  expect(await byMinute('q')).toEqual({
    ...before,
    enqueued: enqueued + 1,
    started: started + 1,
    done: done + 1,
  });
  await client.query("update tock.queue_metrics set at = at - interval '400 days'");
  await count();
  expect(
    await rows(client, "select from tock.queue_metrics where at < now() - interval '1 day'"),
  ).toEqual([]);
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
