-- The value of a label in the text format of Prometheus.
create or replace function tock.label(p_value text)
returns text language sql immutable as $$
  select '"' || pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(p_value, '\', '\\'), '"', '\"'),
    e'\n', '\n') || '"'
$$;

-- A family of metrics: its description and type, then its samples.
create or replace function tock.metric(p_name text, p_type text, p_help text, p_samples text)
returns text language sql immutable as $$
  select pg_catalog.format(e'# HELP %1$s %2$s\n# TYPE %1$s %3$s\n', p_name, p_help, p_type)
    || coalesce(p_samples, '')
$$;

-- The samples of a histogram as a format() string: for the queue, the count up to each bound, and the sum. A
-- bucket counts everything up to its bound. One format() makes a whole histogram: with one call for each of
-- its 48 buckets, the metrics of 2,000 queues took 360 ms instead of 240.
create or replace function tock.histogram_form(p_name text)
returns text language sql immutable as $$
  select pg_catalog.string_agg(pg_catalog.format(e'%s_bucket{queue=%%1$s,le="%s"} %%%s$s\n', p_name,
      coalesce(h.bound::text, '+Inf'), h.place + 1), '' order by h.place)
    || pg_catalog.format(e'%1$s_count{queue=%%1$s} %%%2$s$s\n%1$s_sum{queue=%%1$s} %%%3$s$s\n', p_name,
      max(h.place) + 1, max(h.place) + 2)
  from unnest(tock.bounds() || null::float8) with ordinality h(bound, place)
$$;

-- The samples of a histogram of one queue, with histogram_form().
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

-- The function reads totals and a few small tables, not the queues themselves. The text of 2,000 queues has
-- 10 MB and is sorted: with the default work_mem of 4 MB, PostgreSQL would use files.
create or replace function tock.metrics()
returns text language sql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
set work_mem = '64MB' as $$
  with totals as materialized (
    select tock.label(q.name) as name, tock.is_paused(q)::integer as paused, t.*
    from tock.queues q left join tock.totals t on t.queue = q.name
    where q.name <> '*'
  ), families as (
    select f.n, tock.metric(f.name, f.type, f.help, pg_catalog.string_agg(pg_catalog.format(
      e'%s{queue=%s%s} %s\n', f.name, t.name, f.label, coalesce(f.value, 0)), ''
        order by t.name, f.label)) as text
    from totals t cross join lateral (values
      (1, 'tock_queue_ready', 'gauge', 'Ready tasks.', '', t.ready::numeric),
      (2, 'tock_queue_running', 'gauge', 'Runs that a worker holds.', '', t.running),
      (3, 'tock_queue_waiting', 'gauge',
        'Tasks that wait, as for their time, a concurrency key or an event, up to 100,000.', '', t.waiting),
      (4, 'tock_queue_dead', 'gauge', 'Dead tasks that are kept.', '', t.dead_now),
      (5, 'tock_queue_oldest_ready_age_seconds', 'gauge', 'How long the oldest ready task has been ready.',
        '', greatest(0, extract(epoch from pg_catalog.clock_timestamp() - t.oldest_ready_at))),
      (6, 'tock_queue_paused', 'gauge', '1 if a queue is paused.', '', t.paused),
      (7, 'tock_leases_open', 'gauge', 'Open leases, by stream.', '', t.leases),
      (8, 'tock_tasks_enqueued_total', 'counter', 'Tasks that became ready for the first time.', '',
        t.enqueued),
      (9, 'tock_tasks_dead_total', 'counter', 'Tasks that died.', '', t.dead),
      (10, 'tock_runs_started_total', 'counter', 'Runs that were claimed.', '', t.started),
      (11, 'tock_runs_passed_total', 'counter',
        'Runs that no worker got: cancelled, replaced, expired or purged.', '', t.passed),
      (12, 'tock_runs_finished_total', 'counter', 'Ended runs, by outcome.', ',outcome="done"', t.done),
      (12, 'tock_runs_finished_total', 'counter', 'Ended runs, by outcome.', ',outcome="failed"', t.failed),
      (12, 'tock_runs_finished_total', 'counter', 'Ended runs, by outcome.', ',outcome="lost"', t.lost),
      (12, 'tock_runs_finished_total', 'counter', 'Ended runs, by outcome.', ',outcome="cancelled"',
        t.cancelled),
      (12, 'tock_runs_finished_total', 'counter', 'Ended runs, by outcome.', ',outcome="returned"',
        t.returned),
      (13, 'tock_runs_lost_total', 'counter', 'Runs whose lease expired.', '', t.lost))
      f (n, name, type, help, label, value)
    group by f.n, f.name, f.type, f.help
    union all
    select 14, tock.metric('tock_run_wait_seconds', 'histogram',
      'How long runs were ready before they were claimed: since they were enqueued, due or admitted by their '
      'concurrency key, or since their last parent ended.',
      pg_catalog.string_agg(tock.histogram_samples(tock.histogram_form('tock_run_wait_seconds'), t.name,
        t.wait, coalesce(t.wait_seconds, 0)), '' order by t.name))
    from totals t
    union all
    select 15, tock.metric('tock_run_duration_seconds', 'histogram',
      'The time from the claim of a run until it was done or failed.',
      pg_catalog.string_agg(tock.histogram_samples(tock.histogram_form('tock_run_duration_seconds'), t.name,
        t.run, coalesce(t.run_seconds, 0)), '' order by t.name))
    from totals t
    union all
    select f.n, tock.metric(f.name, 'gauge', f.help, pg_catalog.string_agg(pg_catalog.format(
      e'%s{maintenance_job=%s} %s\n', f.name, tock.label(d.name), f.value), '' order by d.name))
    from tock.maintenance_jobs d cross join lateral (values
      (16, 'tock_maintenance_job_late_seconds',
        'How much longer ago than its interval a maintenance job last ran.',
        greatest(0, extract(epoch from pg_catalog.clock_timestamp() - coalesce(d.last_ok_at,
          (select max(m.applied_at) from tock.migrations m))) - d.every_seconds)),
      (17, 'tock_maintenance_job_failures', 'How many times in a row a maintenance job has failed.',
        d.failures))
      f (n, name, help, value)
    group by f.n, f.name, f.help
    union all
    select 18, tock.metric('tock_segments', 'gauge', 'Segments, with those ahead.',
      pg_catalog.format(e'tock_segments %s\n', (select count(*) from tock.segments)))
    union all
    select 19, tock.metric('tock_metrics_age_seconds', 'gauge', 'The age of the metrics of queues.',
      (select pg_catalog.format(e'tock_metrics_age_seconds %s\n',
        greatest(0, extract(epoch from pg_catalog.clock_timestamp() - g.finished_at)))
      from tock.metrics_progress g where g.finished_at is not null))
    union all
    -- from the statistics of PostgreSQL, so at a constant cost
    select f.n, tock.metric(f.name, f.type, f.help, pg_catalog.format(e'%s %s\n', f.name, f.value))
    from (values
      (20, 'tock_event_waits', 'gauge', 'Tasks that wait for an event, as PostgreSQL estimates it.',
        pg_catalog.pg_stat_get_live_tuples('tock.event_waits'::regclass)),
      (21, 'tock_events_signalled_total', 'counter', 'Events that were signalled for the first time.',
        pg_catalog.pg_stat_get_tuples_inserted('tock.events'::regclass)),
      (22, 'tock_steps', 'gauge', 'Rows of saved steps, as PostgreSQL estimates it.',
        (select coalesce(sum(pg_catalog.pg_stat_get_live_tuples(i.inhrelid)), 0)
        from pg_catalog.pg_inherits i where i.inhparent = 'tock.steps'::regclass)))
      f (n, name, type, help, value)
  )
  select pg_catalog.string_agg(f.text, '' order by f.n) from families f
$$;

comment on function tock.metrics is
  'The metrics for Prometheus, in its text format: every queue as of the last round of the maintenance job '
  'collect_metrics, and maintenance jobs as they are.';
