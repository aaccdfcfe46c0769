-- What a listing looks at of an epoch, in the order of stream and position: what may be in a state by an index,
-- all runs where there is none. $1 queue, $2 and $3 the stream and position to go on after, $4 how many
create or replace function tock.seen_statement(p_epoch integer, p_source text)
returns text
language sql
stable
as $$
  select case p_source when 'running' then pg_catalog.format($q$
    select l.stream, l.priority, x.position
    from (
      select o.*, t.priority from tock.leases_%1$s o
      cross join lateral (select t.queue, t.priority from tock.streams t where t.number = o.stream offset 0) t
      where o.closed_at is null and t.queue = $1 and o.stream >= $2 and (o.stream > $2 or o.last_position > $3) offset 0) l
    cross join lateral (
      select r.position from tock.runs_%1$s r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
        and r.position <> all (coalesce(l.skips, '{}')) and (r.stream > $2 or r.position > $3) offset 0) x
    where (select e.position from tock.results_%1$s e where e.stream = l.stream and e.position = x.position) is null
    order by l.stream, x.position limit $4$q$, p_epoch)
  else pg_catalog.format($q$
    select s.number as stream, s.priority, x.position
    from (
      select t.number, t.priority from tock.streams t
      where t.queue = $1 and t.number >= $2%3$s order by t.number offset 0) s
    cross join lateral (
      select greatest(case when s.number = $2 then $3 else 0 end%4$s) as after_position offset 0) c
    cross join lateral (
      select r.position from tock.%2$s_%1$s r
      where r.stream = s.number and r.position > c.after_position%5$s
      order by r.stream, r.position limit $4) x
    order by s.number, x.position limit $4$q$, p_epoch,
    case p_source when 'dead' then 'results' else 'runs' end,
    case p_source when 'ready' then ' and t.awake' end,
    case p_source when 'ready' then ', tock.cursor_of(s.number)' end,
    case p_source when 'dead' then $q$ and r.next_id is null and r.state in ('failed', 'lost')$q$ end) end
$$;

comment on function tock.seen_statement is 'The statement that gives the runs of an epoch that a listing looks at.';

-- The last run of each task in the state that is asked for. $5 state, $6 tenant, $7 error, $8 rerun, $9 not of
-- this priority, $10 ended since, $11 how many, $12 up to this position
create or replace function tock.listing_statement(p_epoch integer, p_source text)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with seen as materialized (%2$s), judged as (
      select v.stream, v.position, row(coalesce(r.task_id, v.position << 20 | v.stream), v.position << 20 | v.stream,
        t.state, v.priority, r.tenant, r.attempt, r.created_at, null, d.ended_at, l.worker, f.error, f.rerun)::tock.listed as task
      from seen v
      cross join lateral (
        select r.stream, r.position, r.task_id, r.tenant, r.attempt, r.created_at, r.options from tock.runs_%1$s r
        where r.stream = v.stream and r.position = v.position offset 0) r
      %3$s
      cross join lateral (
        select case when d.state in ('failed', 'lost', 'superseded') then 'dead' else d.state end as state offset 0) t
      cross join lateral (
        select case when t.state = 'dead' then tock.error_text(e.error) end as error,
          (select x.of_id from tock.reruns x where x.of_id = coalesce(r.task_id, v.position << 20 | v.stream) limit 1)
            is not null as rerun offset 0) f
      where d.next_id is null and coalesce(t.state = $5, true) and coalesce(r.tenant = $6, $6 is null)
        and coalesce(f.error = $7, $7 is null) and coalesce(f.rerun = $8, true) and coalesce(v.priority <> $9, true)
        and coalesce(d.ended_at >= $10, true) and coalesce(v.position <= $12, true)
      order by v.stream, v.position limit $11
    )
    select array(select j.task from judged j order by j.stream, j.position), (select count(*) from seen),
      (select v.position << 20 | v.stream from seen v order by v.stream desc, v.position desc limit 1)$q$,
    p_epoch, tock.seen_statement(p_epoch, p_source), tock.standing(p_epoch))
$$;

comment on function tock.listing_statement is 'The statement that lists tasks by their runs in one epoch.';

create or replace function tock.list_waiting(
  p_queue text, p_state text, p_tenant text, p_not_priority integer, p_after timestamptz, p_position bigint, p_limit integer, p_look integer,
  p_upto bigint)
returns table (found tock.listed[], looked_at integer, last_at timestamptz, last_position bigint)
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
    with seen as materialized (
      select w.* from tock.waiting w
      where w.queue = p_queue and (w.due_at, w.position) > (p_after, p_position)
      order by w.queue, w.due_at, w.position limit p_look
    ), judged as materialized (
      select s.due_at, s.position, row(coalesce(s.task_id, s.position << 20), s.position << 20, t.state, s.priority, s.tenant,
        s.attempt, s.created_at, case when s.after_due is not null then s.after_due
          when s.due_at > '-infinity' and s.due_at < 'infinity' then s.due_at end,
        case t.state when 'expired' then (s.options ->> 'expires_at')::timestamptz end, null, null, false)::tock.listed as task
      from seen s
      cross join lateral (
        select case when (s.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp() then 'expired'
          else 'waiting' end as state offset 0) t
      where coalesce(t.state = p_state, true) and coalesce(s.tenant = p_tenant, p_tenant is null)
        and coalesce(s.priority <> p_not_priority, true) and coalesce(s.position <= p_upto, true)
      order by s.due_at, s.position limit p_limit
    ), last as (
      select l.* from (
        (select s.due_at, s.position from seen s where (select count(*) from judged) < p_limit
         order by s.due_at desc, s.position desc limit 1)
        union all
        (select j.due_at, j.position from judged j order by j.due_at desc, j.position desc limit 1)) l
      order by l.due_at desc, l.position desc limit 1
    )
    select array(select j.task from judged j order by j.due_at, j.position), (select count(*) from seen)::integer,
      (select l.due_at from last l), (select l.position from last l);
end $$;

comment on function tock.list_waiting is 'Waiting tasks of a queue after a place in the order of due times, and the place to go on after.';
