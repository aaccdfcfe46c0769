-- Stores the depth of each queue as of the last count, in totals and for this minute.
--
-- ready is the number of counted runs that were not leased, minus the cancelled or replaced ones above the
-- cursor. At most 10,000 of these are subtracted per stream; any further one counts as ready until a claim
-- skips it. At most 100,000 waiting tasks per queue are counted.
--
-- The row of '*' records that there was a round in this minute, even if it counted nothing. The tables grow
-- quickly after an installation, so each call makes its own plan.
create or replace function tock.record_depth()
returns void language plpgsql volatile
set enable_hashjoin = on set plan_cache_mode = force_custom_plan as $$
declare
  v_at timestamptz := pg_catalog.clock_timestamp();
begin
  with ready as (
    select s.queue, sum(greatest(0, c.ready - m.marked)) as runs, min(f.since) as oldest
    from tock.metrics_cursors c
    join tock.streams s on s.number = c.stream
    cross join lateral (
      select count(distinct n.position) as marked from (
        select m.position from tock.run_overrides m
        where m.stream = c.stream and m.position > c.leases_to and m.kind in ('cancelled', 'superseded')
        order by m.stream, m.position limit 10000) n) m
    left join lateral (
      select coalesce(tock.ready_since(r.stream, r.position, r.task_id), r.created_at) as since
      from tock.runs r where c.ready > m.marked and r.stream = c.stream and r.position > c.leases_to
      order by r.stream, r.position limit 1) f on true
    where c.ready > 0
    group by s.queue
  ), running as (
    select s.queue, sum(o.runs - pg_catalog.cardinality(o.counted)) as runs, count(*) as leases
    from tock.metrics_open_leases o join tock.streams s on s.number = o.stream
    group by s.queue
  ), dead as (
    select k.queue, sum(k.tasks) as tasks
    from (
      select d.key as queue, d.value::bigint as tasks
      from unnest(tock.open_segments()) n cross join pg_catalog.jsonb_each_text(tock.dead_in_segment(n)) d
      union all
      select d.key, d.value::bigint from tock.segments e cross join pg_catalog.jsonb_each_text(e.dead) d
      where e.closed_at is not null) k
    group by k.queue
  ), depths as materialized (
    select q.name as queue, coalesce(r.runs, 0)::bigint as ready, coalesce(u.runs, 0)::bigint as running,
      w.tasks as waiting, coalesce(d.tasks, 0)::bigint as dead, coalesce(u.leases, 0)::bigint as leases,
      r.oldest as oldest_ready_at
    from tock.queues q
    left join ready r on r.queue = q.name
    left join running u on u.queue = q.name
    left join dead d on d.queue = q.name
    cross join lateral (
      select count(*) as tasks from (
        select from tock.waiting where lost >= 0 and queue = q.name order by queue, position limit 1e5) n) w
    where q.name <> '*'
  ), noted as (
    insert into tock.totals as t (queue, ready, running, waiting, dead_now, leases, oldest_ready_at)
    select d.queue, d.ready, d.running, d.waiting, d.dead, d.leases, d.oldest_ready_at from depths d
    on conflict (queue) do update set ready = excluded.ready, running = excluded.running,
      waiting = excluded.waiting, dead_now = excluded.dead_now, leases = excluded.leases,
      oldest_ready_at = excluded.oldest_ready_at
    where (t.ready, t.running, t.waiting, t.dead_now, t.leases, t.oldest_ready_at) is distinct from
      (excluded.ready, excluded.running, excluded.waiting, excluded.dead_now, excluded.leases,
        excluded.oldest_ready_at)
  ), dropped as (
    delete from tock.totals t where not exists (select from tock.queues q where q.name = t.queue)
  )
  insert into tock.queue_metrics as m (queue, at, width_seconds, ready, running, waiting,
    oldest_ready_seconds)
  select coalesce(d.queue, '*'), pg_catalog.date_trunc('minute', v_at), 60, coalesce(sum(d.ready), 0),
    coalesce(sum(d.running), 0),
    coalesce(sum(d.waiting), 0), greatest(0, extract(epoch from v_at - min(d.oldest_ready_at)))
  from depths d
  group by grouping sets ((d.queue), ())
  having d.queue is null or sum(d.ready + d.running + d.waiting) > 0
  on conflict (queue, at, width_seconds) do update set ready = excluded.ready, running = excluded.running,
    waiting = excluded.waiting, oldest_ready_seconds = excluded.oldest_ready_seconds;
end $$;

-- Merges the oldest minutes beyond two days into an hour, and deletes hours older than 400 days. A call
-- handles one hour, the oldest first. If a minute is added to that hour later, the hour is handled again. For
-- depths, the maximum counts.
create or replace function tock.roll_up_minutes()
returns void language plpgsql volatile as $$
declare
  v_hour timestamptz := (
    select pg_catalog.date_trunc('hour', m.at, 'UTC') from tock.queue_metrics m
    where m.width_seconds = 60 and m.at < tock.hourly_until() order by m.at limit 1);
begin
  if v_hour is not null then
    with gone as (
      delete from tock.queue_metrics m
      where m.width_seconds = 60 and m.at >= v_hour and m.at < v_hour + interval '1 hour'
      returning m.*
    ), sums as (
      select g.queue, sum(g.enqueued) as enqueued, sum(g.started) as started, sum(g.passed) as passed,
        sum(g.done) as done, sum(g.failed) as failed, sum(g.lost) as lost, sum(g.dead) as dead,
        sum(g.cancelled) as cancelled, sum(g.returned) as returned, max(g.ready) as ready,
        max(g.running) as running, max(g.waiting) as waiting, max(g.oldest_ready_seconds) as oldest,
        sum(g.wait_seconds) as wait_seconds, sum(g.run_seconds) as run_seconds,
        tock.sum_counts(pg_catalog.array_agg(g.wait) filter (where g.wait is not null)) as wait,
        tock.sum_counts(pg_catalog.array_agg(g.run) filter (where g.run is not null)) as run
      from gone g group by g.queue
    )
    insert into tock.queue_metrics as m (queue, at, width_seconds, enqueued, started, passed,
      done, failed, lost, dead, cancelled, returned, ready, running, waiting,
      oldest_ready_seconds, wait_seconds, run_seconds, wait, run)
    select s.queue, v_hour, 3600, s.enqueued, s.started, s.passed, s.done, s.failed, s.lost,
      s.dead, s.cancelled, s.returned, s.ready, s.running, s.waiting, s.oldest, s.wait_seconds,
      s.run_seconds, s.wait, s.run
    from sums s
    on conflict (queue, at, width_seconds) do update set enqueued = m.enqueued + excluded.enqueued,
      started = m.started + excluded.started, passed = m.passed + excluded.passed,
      done = m.done + excluded.done, failed = m.failed + excluded.failed, lost = m.lost + excluded.lost,
      dead = m.dead + excluded.dead, cancelled = m.cancelled + excluded.cancelled,
      returned = m.returned + excluded.returned, ready = greatest(m.ready, excluded.ready),
      running = greatest(m.running, excluded.running), waiting = greatest(m.waiting, excluded.waiting),
      oldest_ready_seconds = greatest(m.oldest_ready_seconds, excluded.oldest_ready_seconds),
      wait_seconds = m.wait_seconds + excluded.wait_seconds,
      run_seconds = m.run_seconds + excluded.run_seconds,
      wait = tock.sum_counts(m.wait || excluded.wait), run = tock.sum_counts(m.run || excluded.run);
  end if;
  delete from tock.queue_metrics m where (m.queue, m.at, m.width_seconds) in (
    select o.queue, o.at, o.width_seconds from tock.queue_metrics o
    where o.width_seconds = 3600 and o.at < pg_catalog.now() - interval '400 days' order by o.at limit 10000);
end $$;
