-- Counts up to p_limit new runs and leases of each of these streams, and the ends in open leases; returns the
-- streams with more, and how many rows it read. One statement counts everything, so under one snapshot. The
-- visible runs of a stream are a prefix, and so are its leases; the results of a closed lease are all
-- visible. So the next call starts after what this one has read, and nothing is counted twice. The statement
-- reads the parent tables of runs, leases and results, because a round may have to continue in another
-- segment. It looks up streams and leases by primary key only. The first run of a claim stands for the
-- waiting time of all its runs.
create or replace function tock.collect_batch(
  p_streams integer[], p_open tock.metrics_open_leases[], p_limit integer, out unfinished integer[],
  out amount integer)
language plpgsql volatile
set enable_hashjoin = on set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_hours timestamptz := tock.hourly_until();
  v_from bigint := (select g.from_position from tock.metrics_progress g);
begin
  with batch as materialized (
    select s.number, s.queue, s.start_after, coalesce(c.runs_to, v_from) as runs_to,
      coalesce(c.leases_to, v_from) as leases_to, coalesce(c.ready, 0) as ready
    from unnest(p_streams) b(number)
    join tock.streams s on s.number = b.number
    left join tock.metrics_cursors c on c.stream = s.number
  ), new_runs as materialized (
    select b.number, b.queue, r.*
    from batch b
    cross join lateral (
      select r.position, r.task_id, r.attempt, r.created_at from tock.runs r
      where r.stream = b.number and r.position > b.runs_to
      order by r.stream, r.position limit p_limit) r
  ), new_leases as materialized (
    select b.number as stream, b.queue, l.*
    from batch b
    cross join lateral (
      select l.after_position, l.last_position, l.claimed_at, l.closed_at, l.runs, l.skipped, l.skips
      from tock.leases l
      where l.stream = b.number and l.after_position >= b.leases_to
      order by l.stream, l.after_position limit p_limit) l
  ), looked as materialized (
    select n.stream, n.queue, n.after_position, n.last_position, n.claimed_at, n.closed_at, n.runs, n.skips,
      '{}'::bigint[] as counted, true as is_new
    from new_leases n where n.runs > 0
    union all
    select o.stream, s.queue, o.after_position, l.last_position, l.claimed_at, l.closed_at, o.runs, l.skips,
      o.counted, false
    from unnest(p_open) o
    join tock.streams s on s.number = o.stream
    cross join lateral (
      select l.last_position, l.claimed_at, l.closed_at, l.skips from tock.leases l
      where l.stream = o.stream and l.after_position = o.after_position offset 0) l
  ), own as materialized (
    select k.stream, k.after_position, k.queue, k.claimed_at, e.*
    from looked k
    cross join lateral (
      select e.position, e.state, e.ended_at, e.next_id from tock.results e
      where e.stream = k.stream and e.position > k.after_position and e.position <= k.last_position
        and (k.skips is null or e.position <> all (k.skips))
      offset 0) e
  ), ends as materialized (
    select o.stream, o.after_position, count(*)::integer as number,
      pg_catalog.array_agg(o.position) as positions
    from own o group by o.stream, o.after_position
  ), facts as (
    select n.queue, coalesce(p.promoted_at, n.created_at) as at, 'enqueued' as what, 1::bigint as n,
      null::float8 as seconds
    from new_runs n
    left join lateral (
      select p.promoted_at from tock.promotions p
      where tock.stream_of(n.task_id) = 0 and n.attempt = 1 and p.position = tock.position_of(n.task_id)
        and p.run_id = tock.id_at(n.position, n.number)
      offset 0) p on true
    where n.task_id is null or p.promoted_at is not null
    union all
    select l.queue, l.claimed_at, 'passed', l.skipped, null from new_leases l where l.skipped > 0
    union all
    select l.queue, l.claimed_at, 'started', l.runs, null from new_leases l where l.runs > 0
    union all
    select l.queue, l.claimed_at, 'wait', l.runs, extract(epoch from l.claimed_at - w.since)
    from new_leases l
    cross join lateral (
      select case when r.task_id is null then r.created_at
        else tock.ready_since(r.stream, r.position, r.task_id) end as since
      from tock.runs r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
        and (l.skips is null or r.position <> all (l.skips))
      order by r.stream, r.position limit 1) w
    where l.runs > 0 and w.since is not null
    union all
    select e.queue, e.ended_at, w.what, 1, case w.what
      when 'run' then extract(epoch from e.ended_at - e.claimed_at) end
    from (
      select o.* from own o
      left join (select k.stream, unnest(k.counted) as position from looked k where k.counted <> '{}') c
        on c.stream = o.stream and c.position = o.position
      where c.position is null) e
    cross join lateral (
      select case e.state when 'superseded' then 'returned' when 'expired' then 'cancelled' else e.state end
      union all select 'dead' where e.next_id is null and e.state in ('failed', 'lost')
      union all select 'run' where e.state in ('done', 'failed')) w(what)
    union all
    select k.queue, k.closed_at, w.what, k.runs - coalesce(e.number, 0),
      case w.what when 'run' then extract(epoch from k.closed_at - k.claimed_at) end
    from looked k
    left join ends e using (stream, after_position)
    cross join (values ('done'), ('run')) w(what)
    where k.closed_at is not null and k.runs > coalesce(e.number, 0)
  ), placed as (
    select f.queue, case when f.at < v_hours then 3600 else 60 end as width,
      case when f.at < v_hours then pg_catalog.date_trunc('hour', f.at, 'UTC')
        else pg_catalog.date_trunc('minute', least(f.at, v_now)) end as at,
      f.what, case when f.what in ('wait', 'run') then tock.bucket_of(f.seconds) end as bucket,
      sum(f.n)::bigint as n, sum(f.n * greatest(0, f.seconds)) as seconds
    from facts f group by 1, 2, 3, 4, 5
  ), sums as materialized (
    select q.queue, p.width, p.at, grouping(p.at) = 1 as in_all,
      coalesce(sum(p.n) filter (where p.what = 'enqueued'), 0) as enqueued,
      coalesce(sum(p.n) filter (where p.what = 'started'), 0) as started,
      coalesce(sum(p.n) filter (where p.what = 'passed'), 0) as passed,
      coalesce(sum(p.n) filter (where p.what = 'done'), 0) as done,
      coalesce(sum(p.n) filter (where p.what = 'failed'), 0) as failed,
      coalesce(sum(p.n) filter (where p.what = 'lost'), 0) as lost,
      coalesce(sum(p.n) filter (where p.what = 'dead'), 0) as dead,
      coalesce(sum(p.n) filter (where p.what = 'cancelled'), 0) as cancelled,
      coalesce(sum(p.n) filter (where p.what = 'returned'), 0) as returned,
      coalesce(sum(p.seconds) filter (where p.what = 'wait'), 0) as wait_seconds,
      coalesce(sum(p.seconds) filter (where p.what = 'run'), 0) as run_seconds,
      tock.histogram(pg_catalog.array_agg(p.bucket) filter (where p.what = 'wait'),
        pg_catalog.array_agg(p.n) filter (where p.what = 'wait')) as wait,
      tock.histogram(pg_catalog.array_agg(p.bucket) filter (where p.what = 'run'),
        pg_catalog.array_agg(p.n) filter (where p.what = 'run')) as run
    from placed p cross join lateral (values (p.queue), ('*')) q(queue)
    group by grouping sets ((q.queue, p.width, p.at), (q.queue))
  ), by_minute as (
    insert into tock.queue_metrics as m (queue, at, width_seconds, enqueued, started, passed,
      done, failed, lost, dead, cancelled, returned, wait_seconds, run_seconds, wait, run)
    select s.queue, s.at, s.width, s.enqueued, s.started, s.passed, s.done, s.failed, s.lost,
      s.dead, s.cancelled, s.returned, s.wait_seconds, s.run_seconds, s.wait, s.run
    from sums s where not s.in_all
    on conflict (queue, at, width_seconds) do update set enqueued = m.enqueued + excluded.enqueued,
      started = m.started + excluded.started, passed = m.passed + excluded.passed,
      done = m.done + excluded.done, failed = m.failed + excluded.failed, lost = m.lost + excluded.lost,
      dead = m.dead + excluded.dead, cancelled = m.cancelled + excluded.cancelled,
      returned = m.returned + excluded.returned, wait_seconds = m.wait_seconds + excluded.wait_seconds,
        run_seconds = m.run_seconds + excluded.run_seconds,
      wait = tock.sum_counts(m.wait || excluded.wait), run = tock.sum_counts(m.run || excluded.run)
  ), in_all as (
    insert into tock.totals as t (queue, enqueued, started, passed, done, failed, lost, dead,
      cancelled, returned, wait_seconds, run_seconds, wait, run)
    select s.queue, s.enqueued, s.started, s.passed, s.done, s.failed, s.lost, s.dead,
      s.cancelled, s.returned, s.wait_seconds, s.run_seconds, s.wait, s.run
    from sums s where s.in_all and s.queue <> '*'
    on conflict (queue) do update set enqueued = t.enqueued + excluded.enqueued,
      started = t.started + excluded.started, passed = t.passed + excluded.passed,
      done = t.done + excluded.done, failed = t.failed + excluded.failed, lost = t.lost + excluded.lost,
      dead = t.dead + excluded.dead, cancelled = t.cancelled + excluded.cancelled,
      returned = t.returned + excluded.returned, wait_seconds = t.wait_seconds + excluded.wait_seconds,
        run_seconds = t.run_seconds + excluded.run_seconds,
      wait = tock.sum_counts(t.wait || excluded.wait), run = tock.sum_counts(t.run || excluded.run)
  ), read as materialized (
    select b.*, r.n as runs, l.n as leases, coalesce(r.n, 0) < p_limit
      and coalesce(l.n, 0) < p_limit as whole,
      greatest(b.runs_to, r.upto) as next_run, greatest(b.leases_to, l.upto) as next_lease,
      b.ready + coalesce(r.n, 0) - coalesce(l.over, 0) as next_ready
    from batch b
    left join (select n.number, count(*) as n, max(n.position) as upto from new_runs n group by n.number) r
    using (number)
    left join (
      select n.stream as number, count(*) as n, max(n.last_position) as upto, sum(n.runs + n.skipped) as over
      from new_leases n group by n.stream) l using (number)
  ), moved as (
    -- if everything was read, the cursors reach at least start_after, so that a stream at rest is not read
    -- again
    insert into tock.metrics_cursors as c (stream, runs_to, leases_to, ready)
    select r.number, case when r.whole then greatest(r.next_run, r.start_after) else r.next_run end,
      case when r.whole then greatest(r.next_lease, r.start_after) else r.next_lease end, r.next_ready
    from read r
    where r.runs > 0 or r.leases > 0 or (r.whole and r.start_after > least(r.runs_to, r.leases_to))
    on conflict (stream) do update
    set runs_to = excluded.runs_to, leases_to = excluded.leases_to, ready = excluded.ready
  ), open as materialized (
    select k.stream, k.after_position, k.runs, coalesce(e.positions, '{}') as positions,
      k.is_new or e.number > pg_catalog.cardinality(k.counted) as changed
    from looked k left join ends e using (stream, after_position)
    where k.closed_at is null
  ), still_open as (
    insert into tock.metrics_open_leases as o (stream, after_position, runs, counted)
    select n.stream, n.after_position, n.runs, n.positions from open n where n.changed
    on conflict (stream, after_position) do update set counted = excluded.counted
  ), closed as (
    delete from tock.metrics_open_leases o using unnest(p_open) p
    where o.stream = p.stream and o.after_position = p.after_position and not exists (
      select from open n where n.stream = p.stream and n.after_position = p.after_position)
  )
  select array(select r.number from read r where not r.whole order by r.number),
    (select coalesce(sum(coalesce(r.runs, 0) + coalesce(r.leases, 0)), 0) from read r)::integer
      + coalesce(pg_catalog.cardinality(p_open), 0)
    into unfinished, amount;
end $$;
