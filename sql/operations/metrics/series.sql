-- A percentile of a histogram, to about a quarter: the middle of its bucket, or the last bound (a day) if it
-- lies above that; null for an empty histogram. The result is the geometric middle of the bucket. It is off
-- by at most the square root of the ratio of the bounds, even if all values in the bucket are equal.
create or replace function tock.percentile(p_counts bigint[], p_share double precision)
returns double precision language plpgsql immutable as $$
declare
  v_bounds double precision[] := tock.bounds();
  v_rank double precision := p_share * (select sum(n) from unnest(p_counts) n);
  v_below bigint := 0;
begin
  for v_n in 1 .. pg_catalog.cardinality(v_bounds) loop
    exit when v_rank is null;
    v_below := v_below + p_counts[v_n];
    if p_counts[v_n] > 0 and v_below >= v_rank then
      return pg_catalog.sqrt(coalesce(v_bounds[v_n - 1], v_bounds[v_n] / 2) * v_bounds[v_n]);
    end if;
  end loop;
  return case when v_rank > 0 then v_bounds[pg_catalog.cardinality(v_bounds)] end;
end $$;

-- The mean, p50, p95 and p99 of a histogram whose values add up to p_seconds.
create or replace function tock.durations(p_counts bigint[], p_seconds double precision)
returns jsonb language sql immutable as $$
  select pg_catalog.jsonb_build_object('mean', p_seconds / nullif((select sum(n) from unnest(p_counts) n), 0),
    'p50', tock.percentile(p_counts, 0.5),
    'p95', tock.percentile(p_counts, 0.95), 'p99', tock.percentile(p_counts, 0.99))
$$;

-- The step is at least an hour where minutes have been merged into hours. The default is the smallest step
-- that needs at most 1,500 points. In a period without a round of counting, the depths are unknown: null.
create or replace function tock.series(
  p_queue text default null, p_from timestamptz default null, p_to timestamptz default null,
  p_step_seconds integer default null)
returns table (
  step_seconds integer, at timestamptz, enqueued bigint, started bigint, done bigint, failed bigint,
  lost bigint, dead bigint, ready bigint, running bigint, waiting bigint,
  oldest_ready_seconds double precision, wait jsonb, run jsonb) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off as $$
#variable_conflict use_column
declare
  v_to timestamptz := coalesce(p_to, pg_catalog.clock_timestamp());
  -- an earlier p_to is rejected below, and an hour before it may be out of range
  v_from timestamptz := coalesce(p_from, case when v_to < '1970-01-02T00:00:00Z' then v_to
    else v_to - interval '1 hour' end);
  v_least integer := case when v_from < tock.hourly_until() then 3600 else 60 end;
  v_step integer := greatest(p_step_seconds, v_least);
  v_width interval;
begin
  if p_queue is not null then
    perform tock.check_queue_name(p_queue);
  end if;
  if not pg_catalog.isfinite(v_from) or not pg_catalog.isfinite(v_to) then
    perform tock.refuse(422, 'from and to must be instants, not infinity', 'from');
  elsif v_to < '1970-01-02T00:00:00Z' then
    perform tock.refuse(422, 'to must not be before 1970-01-02', 'to');
  elsif v_from < '1970-01-01T00:00:00Z' then
    perform tock.refuse(422, 'from must not be before 1970', 'from');
  elsif v_to <= v_from then
    perform tock.refuse(422, 'to must be later than from', 'to');
  elsif p_step_seconds not between 60 and 31536000 or p_step_seconds % 60 <> 0 then
    perform tock.refuse(422, 'step_seconds must be a multiple of 60, up to a year', 'step_seconds');
  end if;
  if p_step_seconds is null then
    v_step := coalesce((
      select s from unnest(array[60, 300, 900, 3600, 21600, 86400]) s
      where s >= v_least and s * 1498.0 >= (extract(epoch from v_to) - extract(epoch from v_from)) order by s
      limit 1), 31536000);
  end if;
  v_step := ((v_step + v_least - 1) / v_least) * v_least;
  if (extract(epoch from v_to) - extract(epoch from v_from)) / v_step > 1499 then
    perform tock.refuse(422, 'the series has more than 1,500 points', 'step_seconds',
      'use a longer step, or a shorter period');
  end if;
  v_width := v_step * interval '1 second';
  v_from := pg_catalog.date_bin(v_width, v_from, '2000-01-01T00:00:00Z');
  return query
  with rounds as (
    select distinct pg_catalog.date_bin(v_width, m.at, '2000-01-01T00:00:00Z') as at from tock.queue_metrics m
    where m.queue = '*' and m.at >= v_from and m.at < v_to and m.ready is not null
  ), sums as (
    select pg_catalog.date_bin(v_width, m.at, '2000-01-01T00:00:00Z') as at,
      sum(m.enqueued)::bigint as enqueued,
      sum(m.started)::bigint as started, sum(m.done)::bigint as done, sum(m.failed)::bigint as failed,
      sum(m.lost)::bigint as lost, sum(m.dead)::bigint as dead, max(m.ready) as ready,
      max(m.running) as running, max(m.waiting) as waiting, max(m.oldest_ready_seconds) as oldest,
      tock.sum_counts(pg_catalog.array_agg(m.wait) filter (where m.wait is not null)) as wait,
      tock.sum_counts(pg_catalog.array_agg(m.run) filter (where m.run is not null)) as run,
      sum(m.wait_seconds) as wait_seconds, sum(m.run_seconds) as run_seconds
    from tock.queue_metrics m
    where m.queue = coalesce(p_queue, '*') and m.at >= v_from and m.at < v_to
    group by 1
  )
  select v_step, g.at, coalesce(s.enqueued, 0), coalesce(s.started, 0), coalesce(s.done, 0),
    coalesce(s.failed, 0),
    coalesce(s.lost, 0), coalesce(s.dead, 0), coalesce(s.ready, case when r.at is not null then 0 end),
    coalesce(s.running, case when r.at is not null then 0 end),
    coalesce(s.waiting, case when r.at is not null then 0 end),
    s.oldest, tock.durations(s.wait, s.wait_seconds), tock.durations(s.run, s.run_seconds)
  from pg_catalog.generate_series(v_from, v_to - interval '1 microsecond', v_width) g(at)
  left join sums s on s.at = g.at
  left join rounds r on r.at = g.at
  order by g.at;
end $$;

comment on function tock.series is
  'The metrics of a queue, or of all together, from p_from (default: an hour before p_to) until before p_to '
  '(default: now). Each point covers p_step_seconds, and there are up to 1,500 points. If p_from is more '
  'than two days ago, every point covers whole hours. A depth is the maximum in its point; it is null if '
  'nothing was counted then.';

-- Rates cover the minute before that of the last round, which was not over when it was counted; p95 five. A
-- minute without a round has no depth. If a round counted nothing in a queue, the depth of the queue was 0.
create or replace function tock.overview()
returns table (
  name text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint,
  oldest_ready_at timestamptz, collected_at timestamptz, enqueued_per_second double precision,
  started_per_second double precision, done_per_second double precision, failed_per_second double precision,
  wait_p95 double precision, run_p95 double precision, spark jsonb) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = on set jit = off as $$
#variable_conflict use_column
declare
  v_counted timestamptz := (select g.finished_at from tock.metrics_progress g);
  v_minute timestamptz := pg_catalog.date_trunc('minute', v_counted);
begin
  return query
  with recent as (
    select m.queue, sum(m.enqueued) filter (where m.at = v_minute - interval '1 minute') as enqueued,
      sum(m.started) filter (where m.at = v_minute - interval '1 minute') as started,
      sum(m.done) filter (where m.at = v_minute - interval '1 minute') as done,
      sum(m.failed) filter (where m.at = v_minute - interval '1 minute') as failed,
      pg_catalog.array_agg(m.wait)
        filter (where m.at >= v_minute - interval '5 minutes' and m.wait is not null) as wait,
      pg_catalog.array_agg(m.run)
        filter (where m.at >= v_minute - interval '5 minutes' and m.run is not null) as run,
      pg_catalog.jsonb_object_agg(extract(epoch from v_minute - m.at)::integer / 60,
        array[m.ready, m.done]) as marks
    from tock.queue_metrics m
    where m.width_seconds = 60 and m.at >= v_minute - interval '30 minutes' and m.at < v_minute
    group by m.queue
  )
  select q.name, tock.is_paused(q), coalesce(t.ready, 0), coalesce(t.running, 0), coalesce(t.waiting, 0),
    coalesce(t.dead_now, 0), t.oldest_ready_at, v_counted, (coalesce(r.enqueued, 0) / 60)::float8,
    (coalesce(r.started, 0) / 60)::float8, (coalesce(r.done, 0) / 60)::float8,
    (coalesce(r.failed, 0) / 60)::float8,
    tock.percentile(tock.sum_counts(r.wait), 0.95), tock.percentile(tock.sum_counts(r.run), 0.95),
    case when r.queue is null then '{"ready": [], "done": []}' else (
      select pg_catalog.jsonb_build_object('ready', pg_catalog.jsonb_agg(coalesce(
          (r.marks -> n::text ->> 0)::bigint, 0 * (rounds.marks -> n::text ->> 0)::bigint) order by n desc),
        'done', pg_catalog.jsonb_agg(coalesce((r.marks -> n::text -> 1)::bigint, 0) order by n desc))
      from pg_catalog.generate_series(1, 30) n) end
  from tock.queues q
  left join tock.totals t on t.queue = q.name
  left join recent r on r.queue = q.name
  left join recent rounds on rounds.queue = '*'
  where q.name <> '*'
  order by q.name;
end $$;

comment on function tock.overview is
  'Each queue as of the last round of the maintenance job collect_metrics: its depths, rates of the last '
  'whole minute, and p95 of waiting and running times of the last five. Also the ready and done tasks of '
  'the last 30 minutes, oldest first (empty if there were none). ready is null in a minute without a round.';
