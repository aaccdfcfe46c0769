import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  reap,
  release,
  rows,
  value,
} from '../../verbs.ts';
import { count, take } from './metrics.ts';

databasePerTest();

/** The buckets that are not empty, by their upper bounds. */
async function histogram(what: 'wait' | 'run') {
  return rows(
    client,
    `select coalesce(b.bound::text, 'more') as up_to, h.n::int from tock.totals t
     cross join lateral unnest(t.${what}, tock.bounds()) h(n, bound)
     cross join lateral (select h.bound) b where t.queue = 'q' and h.n > 0`,
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
  const buckets = `select array(select tock.bucket_of(s) from unnest(array[${durations}]) s)`;
  expect(await value(client, buckets)).toEqual([1, 1, 2, 15, 26, 47, 48, 1]);
});
