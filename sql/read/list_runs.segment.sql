-- Tasks of the segment and waiting tasks, the newest first, with the number of rows scanned and the
-- positions below which there may be more of either. Tasks of a state may be in these ranges of streams:
-- the unclaimed or the claimed part of awake streams, the open leases, or whole streams. A glance at a few
-- runs of each range shows which ranges have the newest ones; these are scanned, p_scan_limit rows in all.
-- If a range has more rows than were scanned, the page ends at its last one for all ranges; otherwise the
-- order would be wrong. The filter runs on no more rows than p_limit needs, because nothing is sorted or
-- hashed after that order. The same statement lists the waiting tasks: between two statements a task could
-- move from one list to the other and appear in neither.
create or replace function tock.list_runs_{segment}(
  p_streams integer[], p_below bigint, p_scan_limit integer, p_filter jsonb, p_limit integer, p_state text)
returns table (tasks jsonb, scanned integer, horizon bigint, waiting_horizon bigint) language sql
stable as $$
  with s as materialized (
    select row_number() over () as n, l.stream, t.queue, t.priority, l.after_position, l.last_position
    from (select o.* from tock.leases_{segment} o where o.closed_at is null and o.runs > 0 offset 0) l
    join tock.streams t on t.number = l.stream
    where p_state = 'running' and coalesce(t.queue = p_filter ->> 'queue', true)
    union all
    select u.n, t.number, t.queue, t.priority,
      case p_state when 'ready' then tock.cursor_of(t.number) else 0 end,
      case when p_state = 'done' and t.awake then tock.cursor_of(t.number) else 9223372036854775807 end
    from unnest(p_streams) with ordinality u (number, n)
    join tock.streams t on t.number = u.number and (t.awake or p_state is distinct from 'ready')
    where p_state is distinct from 'running'
  ), share as materialized (
    select greatest(3, p_scan_limit / greatest(1, count(*)))::integer as rows from s
  ), glance as materialized (
    select s.*, x.position from s cross join share h
    cross join lateral tock.list_source_{segment}(
      s.stream, s.after_position, s.last_position, p_below, p_state, h.rows) x
  ), reach as materialized (
    select g.n, g.stream, g.queue, g.priority, g.after_position, g.last_position,
      max(g.position) as newest, min(g.position) as least,
      count(*) >= (select h.rows from share h) as has_more
    from glance g group by 1, 2, 3, 4, 5, 6
  ), lively as materialized (
    select h.*, p_scan_limit / count(*) over () as rows from reach h
    where h.newest >= (select max(r.least) from reach r where r.has_more)
  ), again as materialized (
    select s.n, s.stream, s.queue, s.priority, x.position, s.rows from lively s
    cross join lateral tock.list_source_{segment}(
      s.stream, s.after_position, s.last_position, p_below, p_state, s.rows) x
    where s.rows > (select h.rows from share h)
  ), seen as materialized (
    select a.* from again a
    union all
    select g.n, g.stream, g.queue, g.priority, g.position, h.rows from glance g cross join share h
    where g.n not in (select a.n from again a)
  ), horizon as materialized (
    select coalesce(max(h.least), 0) as position from (
      select min(v.position) as least from seen v group by v.n, v.rows having count(*) >= v.rows) h
  ), found as materialized (
    select j.* from (
      select v.position, v.stream, v.queue, v.priority,
        coalesce(r.task_id, tock.id_at(v.position, v.stream)) as task_id,
        t.state, r.tenant, r.attempt, r.created_at, d.claimed_at, d.ended_at, d.worker, d.cancel_requested,
        r.options ->> 'concurrency_key' as concurrency_key,
        case when t.state = 'dead' then tock.error_text(d.error) end as error
      from (
        select v.* from seen v where v.position >= (select h.position from horizon h)
        order by v.position desc) v
      cross join lateral (
        select r.stream, r.position, r.task_id, r.tenant, r.attempt, r.created_at, r.options, r.payload
        from tock.runs_{segment} r
        where r.stream = v.stream and r.position = v.position offset 0) r
      cross join lateral tock.run_state_{segment}(r.stream, r.position, r.options) d
      cross join lateral (
        select case when d.state in ('failed', 'lost', 'superseded') then 'dead'
          else d.state end as state offset 0) t
      where d.next_id is null
        and (p_filter -> 'payload' is null or r.payload::jsonb @> (p_filter -> 'payload'))) j
    where coalesce(j.state = p_filter ->> 'state', true)
      and coalesce(j.tenant = p_filter ->> 'tenant', p_filter ->> 'tenant' is null)
      and coalesce(j.worker = p_filter ->> 'worker', p_filter ->> 'worker' is null)
      and coalesce(j.error = p_filter ->> 'error', p_filter ->> 'error' is null)
      and coalesce(j.created_at >= (p_filter ->> 'from')::timestamptz, true)
      and coalesce(j.created_at < (p_filter ->> 'to')::timestamptz, true)
      and coalesce(j.ended_at <= (p_filter ->> 'ended_by')::timestamptz, true)
      and coalesce(j.priority <> (p_filter ->> 'not_priority')::integer, true)
      and case when p_filter ->> 'rerun' is null then true else
        ((select x.of_id from tock.reruns x where x.of_id = j.task_id limit 1) is not null)
          = (p_filter ->> 'rerun')::boolean end
      -- hidden as in task()
      and coalesce(j.ended_at >= tock.visible_since(j.queue), true)
    order by j.position desc limit p_limit
  )
  select coalesce((
      select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
        'id', f.task_id::text, 'run_id', tock.id_at(f.position, f.stream)::text, 'queue', f.queue,
        'state', f.state, 'priority', f.priority, 'tenant', f.tenant, 'attempt', f.attempt,
        'created_at', f.created_at, 'run_at', null, 'started_at', f.claimed_at, 'ended_at', f.ended_at,
        'worker', f.worker, 'error', f.error, 'cancel_requested', f.cancel_requested, 'waiting_for', null,
        'concurrency_key', f.concurrency_key, 'preview', (
          select tock.preview(r.payload, r.bytes) from tock.runs_{segment} r
          where r.stream = f.stream and r.position = f.position), 'rerun',
        (select x.of_id from tock.reruns x where x.of_id = f.task_id limit 1) is not null, 'at', f.position)
        order by f.position desc) from found f), '[]') || w.tasks,
    (select count(*) + (select count(*) from again) from glance)::integer + w.scanned,
    (select h.position from horizon h), w.horizon
  from tock.list_waiting(p_filter, p_below, p_limit, p_scan_limit) w
$$;
