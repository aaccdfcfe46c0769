-- Where tasks of a state may be, as ranges of streams: the unread part of each that is awake, the open leases, or all of it.
create or replace function tock.list_ranges(p_epoch integer, p_state text)
returns text
language sql
immutable
as $$
  select case p_state when 'running' then pg_catalog.format($q$
      select row_number() over () as n, l.stream, t.queue, t.priority, l.after_position, l.last_position
      from (select o.* from tock.leases_%1$s o where o.closed_at is null and o.runs > 0 offset 0) l
      join tock.streams t on t.number = l.stream
      where coalesce(t.queue = $4 ->> 'queue', true)$q$, p_epoch)
    else pg_catalog.format($q$
      select u.n, t.number as stream, t.queue, t.priority, %1$s as after_position, 9223372036854775807 as last_position
      from unnest($1::integer[]) with ordinality u (number, n) join tock.streams t on t.number = u.number%2$s$q$,
      case p_state when 'ready' then 'tock.cursor_of(t.number)' else '0::bigint' end,
      case p_state when 'ready' then ' and t.awake' end) end
$$;

comment on function tock.list_ranges is 'The ranges of streams in an epoch in which a listing looks for tasks of a state.';

-- A first look at a few runs of each range tells which of them have the newest ones; those are looked at for $3 in all.
-- Below the last that was seen of a range that has more, nothing of the others counts either, or the order would be wrong.
-- No more are judged than it takes to find $5, as nothing is sorted or hashed after that order. What waits is asked in the
-- same statement, as between two a task could go from one to the other and be in neither. $1 streams, $2 below which
-- position, $3 how many rows to look at, $4 the filter, $5 how many.
create or replace function tock.list_statement(p_epoch integer, p_state text)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with s as materialized (%4$s), share as materialized (
      select greatest(3, $3 / greatest(1, count(*)))::integer as rows from s
    ), glance as materialized (
      select s.*, x.position from s cross join lateral (%3$s limit (select h.rows from share h)) x
    ), reach as materialized (
      select g.n, g.stream, g.queue, g.priority, g.after_position, g.last_position,
        max(g.position) as newest, min(g.position) as least, count(*) >= (select h.rows from share h) as has_more
      from glance g group by 1, 2, 3, 4, 5, 6
    ), lively as materialized (
      select h.*, $3 / count(*) over () as rows from reach h
      where h.newest >= (select max(r.least) from reach r where r.has_more)
    ), again as materialized (
      select s.n, s.stream, s.queue, s.priority, x.position, s.rows from lively s cross join lateral (%3$s limit s.rows) x
      where s.rows > (select h.rows from share h)
    ), seen as materialized (
      select a.* from again a
      union all
      select g.n, g.stream, g.queue, g.priority, g.position, h.rows from glance g cross join share h where g.n not in (select a.n from again a)
    ), horizon as materialized (
      select coalesce(max(h.least), 0) as position from (
        select min(v.position) as least from seen v group by v.n, v.rows having count(*) >= v.rows) h
    ), found as materialized (
      select j.* from (
        select v.position, v.stream, v.queue, v.priority, coalesce(r.task_id, v.position << 20 | v.stream) as task_id, t.state,
          r.tenant, r.attempt, r.created_at, d.ended_at, l.worker, case when t.state = 'dead' then tock.error_text(e.error) end as error
        from (
          select v.* from seen v where v.position >= (select h.position from horizon h) order by v.position desc) v
        cross join lateral (
          select r.stream, r.position, r.task_id, r.tenant, r.attempt, r.created_at, r.options from tock.runs_%1$s r
          where r.stream = v.stream and r.position = v.position offset 0) r
      %2$s
        cross join lateral (
          select case when d.state in ('failed', 'lost', 'superseded') then 'dead' else d.state end as state offset 0) t
        where d.next_id is null) j
      where coalesce(j.state = $4 ->> 'state', true) and coalesce(j.tenant = $4 ->> 'tenant', $4 ->> 'tenant' is null)
        and coalesce(j.worker = $4 ->> 'worker', $4 ->> 'worker' is null) and coalesce(j.error = $4 ->> 'error', $4 ->> 'error' is null)
        and coalesce(j.created_at >= ($4 ->> 'from')::timestamptz, true) and coalesce(j.created_at < ($4 ->> 'to')::timestamptz, true)
        and coalesce(j.priority <> ($4 ->> 'not_priority')::integer, true)
        and case when $4 ->> 'rerun' is null then true else
          ((select x.of_id from tock.reruns x where x.of_id = j.task_id limit 1) is not null) = ($4 ->> 'rerun')::boolean end
        -- as it is hidden when it is asked for by its id
        and coalesce(j.ended_at >= tock.shown_since(j.queue), true)
      order by j.position desc limit $5
    )
    select coalesce((
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', f.task_id::text, 'run_id', (f.position << 20 | f.stream)::text,
          'queue', f.queue, 'state', f.state, 'priority', f.priority, 'tenant', f.tenant, 'attempt', f.attempt,
          'created_at', f.created_at, 'run_at', null, 'ended_at', f.ended_at, 'worker', f.worker, 'error', f.error,
          'rerun', (select x.of_id from tock.reruns x where x.of_id = f.task_id limit 1) is not null,
          'at', f.position) order by f.position desc) from found f), '[]') || w.tasks as tasks,
      (select count(*) + (select count(*) from again) from glance)::integer + w.looked_at as looked_at,
      (select h.position from horizon h) as horizon, w.horizon as waiting_horizon
    from tock.list_waiting($4, $2, $5, $3) w$q$, p_epoch, tock.standing(p_epoch),
    tock.list_source(p_epoch, p_state), tock.list_ranges(p_epoch, p_state))
$$;

comment on function tock.list_statement is
  'The statement that looks for tasks in one epoch and in what waits, the newest first: tasks, how many rows were looked at, and below which position there may be more of either.';

create or replace function tock.list_source(p_epoch integer, p_state text)
returns text
language sql
immutable
as $$
  select pg_catalog.format('select o.position from tock.%1$s_%2$s o where o.stream = s.stream and o.position > s.after_position
      and o.position <= s.last_position and o.position < $2%3$s order by o.stream desc, o.position desc',
    case p_state when 'dead' then 'results' else 'runs' end, p_epoch,
    case p_state when 'dead' then $q$ and o.next_id is null and o.state in ('failed', 'lost')$q$ end)
$$;

comment on function tock.list_source is 'The runs of a range s below a position, the newest first, that may be in a state: dead ones by their own index.';
