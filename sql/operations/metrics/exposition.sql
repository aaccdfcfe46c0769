create or replace function tock.label(p_value text)
returns text language sql immutable as $$
  select '"' || pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(p_value, '\', '\\'), '"', '\"'),
    e'\n', '\n') || '"'
$$;

comment on function tock.label is 'The value of a label in the text format of Prometheus.';

create or replace function tock.metric(p_name text, p_type text, p_help text, p_samples text)
returns text language sql immutable as $$
  select pg_catalog.format(e'# HELP %1$s %2$s\n# TYPE %1$s %3$s\n', p_name, p_help, p_type)
    || coalesce(p_samples, '')
$$;

comment on function tock.metric is 'A family of metrics: its description and type, then its samples.';

-- A bucket counts everything up to its bound. One format() makes a whole histogram: with one call for each of
-- its 48 buckets, the metrics of 2,000 queues took 360 ms instead of 240.
create or replace function tock.histogram_form(p_name text)
returns text language sql immutable as $$
  select pg_catalog.string_agg(pg_catalog.format(e'%s_bucket{queue=%%1$s,le="%s"} %%%s$s\n', p_name,
      coalesce(h.bound::text, '+Inf'), h.place + 1), '' order by h.place)
    || pg_catalog.format(e'%1$s_count{queue=%%1$s} %%%2$s$s\n%1$s_sum{queue=%%1$s} %%%3$s$s\n', p_name,
      max(h.place) + 1, max(h.place) + 2)
  from unnest(tock.bounds() || null::float8) with ordinality h(bound, place)
$$;

comment on function tock.histogram_form is
  'The samples of a histogram as a format() string: for the queue, the count up to each bound, and the sum.';

create or replace function tock.histogram_samples(
  p_form text, p_queue text, p_counts bigint[], p_sum double precision)
returns text language plpgsql immutable as $$
declare
  v_upto bigint[] := coalesce(p_counts,
    pg_catalog.array_fill(0::bigint, array[1 + pg_catalog.cardinality(tock.bounds())]));
begin
  for v_n in 2 .. pg_catalog.cardinality(v_upto) loop
    v_upto[v_n] := v_upto[v_n - 1] + v_upto[v_n];
  end loop;
  return pg_catalog.format(p_form, variadic p_queue || v_upto::text[] || p_sum::text);
end $$;

comment on function tock.histogram_samples is
  'The samples of a histogram of one queue, with histogram_form().';

create or replace function tock.maintenance_metrics()
returns text language sql volatile as $$
  select tock.metric('tock_maintenance_job_late_seconds', 'gauge',
    'How much longer ago than its interval a maintenance job last ran.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_maintenance_job_late_seconds{maintenance_job=%s} %s\n',
        tock.label(d.name), greatest(0, extract(epoch from pg_catalog.clock_timestamp()
          - coalesce(d.last_ok_at, (select max(m.applied_at) from tock.migrations m))) - d.every_seconds)), ''
        order by d.name))
    || tock.metric('tock_maintenance_job_failures', 'gauge',
      'How many times in a row a maintenance job has failed.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_maintenance_job_failures{maintenance_job=%s} %s\n',
        tock.label(d.name), d.failures), '' order by d.name))
  from tock.maintenance_jobs d
$$;

comment on function tock.maintenance_metrics is 'The metrics of maintenance jobs.';

-- The function reads totals and a few small tables, not the queues themselves. The text of 2,000 queues has
-- 10 MB and is sorted: with the default work_mem of 4 MB, PostgreSQL would use files.
create or replace function tock.metrics()
returns text language sql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
set work_mem = '64MB' as $$
  with totals as materialized (
    select tock.label(q.name) as queue, tock.is_paused(q)::integer as paused, coalesce(t.ready, 0) as ready,
      coalesce(t.running, 0) as running, coalesce(t.waiting, 0) as waiting,
      coalesce(t.dead_now, 0) as dead_now,
      coalesce(t.leases, 0) as leases, t.oldest_ready_at, coalesce(t.enqueued, 0) as enqueued,
      coalesce(t.started, 0) as started, coalesce(t.passed, 0) as passed, coalesce(t.done, 0) as done,
      coalesce(t.failed, 0) as failed, coalesce(t.lost, 0) as lost, coalesce(t.cancelled, 0) as cancelled,
      coalesce(t.returned, 0) as returned, coalesce(t.dead, 0) as dead, t.wait,
      coalesce(t.wait_seconds, 0) as wait_seconds, t.run, coalesce(t.run_seconds, 0) as run_seconds
    from tock.queues q left join tock.totals t on t.queue = q.name
    where q.name <> '*'
  ), families as (
    select 1 as n, tock.metric('tock_queue_ready', 'gauge', 'Ready tasks.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_queue_ready{queue=%s} %s\n', t.queue, t.ready), ''
        order by t.queue)) as text
    from totals t
    union all
    select 2, tock.metric('tock_queue_running', 'gauge', 'Runs that a worker holds.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_queue_running{queue=%s} %s\n', t.queue, t.running), ''
        order by t.queue))
    from totals t
    union all
    select 3, tock.metric('tock_queue_waiting', 'gauge',
      'Tasks that wait for their time, a concurrency key or a parent, up to 100,000.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_queue_waiting{queue=%s} %s\n', t.queue, t.waiting), ''
        order by t.queue))
    from totals t
    union all
    select 4, tock.metric('tock_queue_dead', 'gauge', 'Dead tasks that are kept.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_queue_dead{queue=%s} %s\n', t.queue, t.dead_now), ''
        order by t.queue))
    from totals t
    union all
    select 5, tock.metric('tock_queue_oldest_ready_age_seconds', 'gauge',
      'How long the oldest ready task has been ready.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_queue_oldest_ready_age_seconds{queue=%s} %s\n', t.queue,
        coalesce(greatest(0, extract(epoch from pg_catalog.clock_timestamp() - t.oldest_ready_at)), 0)), ''
      order by t.queue))
    from totals t
    union all
    select 6, tock.metric('tock_queue_paused', 'gauge', '1 if a queue is paused.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_queue_paused{queue=%s} %s\n', t.queue, t.paused), ''
        order by t.queue))
    from totals t
    union all
    select 7, tock.metric('tock_leases_open', 'gauge', 'Open leases, by stream.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_leases_open{queue=%s} %s\n', t.queue, t.leases), ''
        order by t.queue))
    from totals t
    union all
    select 8, tock.metric('tock_tasks_enqueued_total', 'counter',
      'Tasks that became ready for the first time.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_tasks_enqueued_total{queue=%s} %s\n', t.queue,
        t.enqueued), '' order by t.queue))
    from totals t
    union all
    select 9, tock.metric('tock_tasks_dead_total', 'counter', 'Tasks that died.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_tasks_dead_total{queue=%s} %s\n', t.queue, t.dead), ''
        order by t.queue))
    from totals t
    union all
    select 10, tock.metric('tock_runs_started_total', 'counter', 'Runs that were claimed.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_runs_started_total{queue=%s} %s\n', t.queue, t.started),
        '' order by t.queue))
    from totals t
    union all
    select 11, tock.metric('tock_runs_passed_total', 'counter',
      'Runs that no worker got: cancelled, replaced, expired or purged.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_runs_passed_total{queue=%s} %s\n', t.queue, t.passed), ''
        order by t.queue))
    from totals t
    union all
    select 12, tock.metric('tock_runs_finished_total', 'counter', 'Ended runs, by outcome.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_runs_finished_total{queue=%s,outcome=%s} %s\n',
        t.queue, tock.label(o.name), o.n), '' order by t.queue, o.name))
    from totals t
    cross join lateral (values ('done', t.done), ('failed', t.failed), ('lost', t.lost),
      ('cancelled', t.cancelled),
      ('returned', t.returned)) o(name, n)
    union all
    select 13, tock.metric('tock_runs_lost_total', 'counter', 'Runs whose lease expired.',
      pg_catalog.string_agg(pg_catalog.format(e'tock_runs_lost_total{queue=%s} %s\n', t.queue, t.lost), ''
        order by t.queue))
    from totals t
    union all
    select 14, tock.metric('tock_run_wait_seconds', 'histogram',
      'How long runs were ready before they were claimed: since they were enqueued, due or admitted by their '
      'concurrency key, or since their last parent ended.',
      pg_catalog.string_agg(tock.histogram_samples(tock.histogram_form('tock_run_wait_seconds'), t.queue,
        t.wait, t.wait_seconds), '' order by t.queue))
    from totals t
    union all
    select 15, tock.metric('tock_run_duration_seconds', 'histogram',
      'The time from the claim of a run until it was done or failed.',
      pg_catalog.string_agg(tock.histogram_samples(tock.histogram_form('tock_run_duration_seconds'), t.queue,
        t.run, t.run_seconds), '' order by t.queue))
    from totals t
    union all
    select 16, tock.maintenance_metrics()
    union all
    select 17, tock.metric('tock_segments', 'gauge', 'Segments, with those ahead.',
      pg_catalog.format(e'tock_segments %s\n', (select count(*) from tock.segments)))
    union all
    select 18, tock.metric('tock_metrics_age_seconds', 'gauge', 'The age of the metrics of queues.',
      (select pg_catalog.format(e'tock_metrics_age_seconds %s\n',
        greatest(0, extract(epoch from pg_catalog.clock_timestamp() - g.finished_at)))
      from tock.metrics_progress g where g.finished_at is not null))
  )
  select pg_catalog.string_agg(f.text, '' order by f.n) from families f
$$;

comment on function tock.metrics is
  'The metrics for Prometheus, in its text format: every queue as of the last round of the maintenance job '
  'collect_metrics, and maintenance jobs as they are.';
