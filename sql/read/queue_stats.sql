-- The ready runs of an awake stream are the last count, plus the runs added and minus the runs leased since
-- then. So the cost depends on what has happened since the last count, not on the backlog. The cancelled runs
-- above the cursor are known only from run_overrides. Otherwise only unfinished tasks are read; the dead
-- tasks of closed segments were counted when they were closed. One statement reads everything:
-- collect_metrics() could run between two, a task that moves meanwhile would be counted twice or not at all,
-- and a queue that was never empty could look empty.
create or replace function tock.queue_stats(p_queue text default null)
returns table (
  queue text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint,
  oldest_ready_at timestamptz, waiting_for jsonb) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_open integer[] := tock.open_segments();
  -- Everything before the start of the last complete round of counting is counted. A segment that was closed
  -- since, or shortly before, may have uncounted leases.
  v_uncounted integer[] := v_open || array(
    select e.number from tock.segments e cross join tock.metrics_progress g
    where e.closed_at > coalesce(g.finished_at - interval '10 minutes', '-infinity')
      and e.end_position > g.from_position
    order by e.number);
  v_news text := (
    select pg_catalog.string_agg(pg_catalog.format('
      select s.number, n.* from s
      cross join lateral tock.arrived_runs_%s(s.number, s.runs_to, s.leases_to) n', e), ' union all ')
    from unnest(v_uncounted) e);
  v_heads text := (
    select pg_catalog.string_agg(pg_catalog.format('
      select t.number, h.* from stands t
      cross join lateral tock.oldest_ready_%s(t.number, t.cursor) h where t.ready > 0', e), ' union all ')
    from unnest(v_uncounted) e);
  v_unfinished text := (
    select pg_catalog.string_agg(pg_catalog.format($q$
      union all
      select s.queue, 0, null, l.runs - (
        select count(*) from tock.results_%1$s e
        where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position), 0
      from tock.leases_%1$s l join tock.streams s on s.number = l.stream
      where l.closed_at is null and ($1 is null or s.queue = $1)
      union all
      select d.key, 0, null, 0, d.value::bigint from pg_catalog.jsonb_each_text(tock.dead_in_segment(%1$s)) d
      where $1 is null or d.key = $1$q$, n), '')
    from unnest(v_open) n);
begin
  return query execute pg_catalog.format($q$
    with s as materialized (
      select s.number, s.queue, s.start_after, coalesce(c.ready, 0) as ready,
        coalesce(c.runs_to, 0) as runs_to, coalesce(c.leases_to, -1) as leases_to
      from tock.streams s left join tock.metrics_cursors c on c.stream = s.number
      where s.awake and ($1 is null or s.queue = $1)
    ), news as (%s), stands as materialized (
      select s.number, s.queue, s.ready + n.runs - n.leased as ready,
        greatest(s.start_after, s.leases_to, n.last_position) as cursor
      from s join (
        select n.number, sum(n.runs) as runs, sum(n.leased) as leased, max(n.last_position) as last_position
        from news n group by n.number) n using (number)
    ), heads as (%s)
    select q.name, tock.is_paused(q), coalesce(p.ready, 0)::bigint, coalesce(p.running, 0)::bigint,
      w.waiting, (coalesce(p.dead, 0) + coalesce((
        select sum((e.dead ->> q.name)::bigint) from tock.segments e where e.closed_at is not null),
        0))::bigint, p.oldest, pg_catalog.jsonb_build_object('concurrency_key', w.at_keys, 'dependency',
        greatest(0, w.for_parents - i.child), 'child', i.child, 'event', i.event,
        'time', greatest(0, w.waiting - w.at_keys - w.for_parents - i.event))
    from tock.queues q cross join lateral (
      select (select count(*) from (select from tock.waiting where lost >= 0 and queue = q.name
          order by queue, position limit 1e6) c),
        (select count(*) from (select from tock.waiting where lost >= 0 and queue = q.name and ticket > 0
          order by queue, concurrency_key, ticket limit 1e6) c),
        (select count(*) from (select from tock.waiting where lost >= 0 and queue = q.name
          and due_after_parents is not null order by queue, position limit 1e6) c)
      offset 0) w (waiting, at_keys, for_parents)
    cross join lateral (
      select count(*) filter (where c.waits_for = 'child') as child,
        count(*) filter (where c.waits_for = 'event') as event
      from (select waits_for from tock.waiting where lost >= 0 and waits_for is not null and queue = q.name
        order by queue, waits_for, position limit 1e6) c offset 0) i
    left join (
      select x.queue, sum(x.ready) as ready, sum(x.running) as running, sum(x.dead) as dead,
        min(x.oldest) as oldest
      from (
        select t.queue, greatest(0, t.ready - h.marked) as ready,
          case when t.ready > h.marked then h.oldest end as oldest, 0 as running, 0 as dead
        from stands t join (
          select h.number, sum(h.marked) as marked, min(h.oldest) as oldest from heads h group by h.number) h
        using (number) %s) x
      group by x.queue) p on p.queue = q.name
    where q.name <> '*' and ($1 is null or q.name = $1)
    order by q.name$q$, v_news, v_heads, v_unfinished)
  using p_queue;
end $$;

comment on function tock.queue_stats is
  'The number of ready, running, waiting (up to a million) and dead tasks of each queue, and since when the '
  'oldest ready task is ready. The column waiting_for says how many of the waiting ones wait for their time, '
  'a concurrency key, other tasks, or in a step for a child or an event: {time, concurrency_key, dependency, '
  'child, event}. A task that waits in steps for several things counts once: for a child, else for an event.';
