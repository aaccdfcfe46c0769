create or replace function tock.run_at(p_id bigint)
returns tock.found_run
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch integer := tock.epoch_of(p_id >> 20);
  v_run tock.found_run;
begin
  if v_epoch is null or p_id & 1048575 = 0 then
    return null;
  end if;
  execute pg_catalog.format($q$
    select $1, coalesce(r.task_id, $1), s.queue, s.priority, r.tenant, r.attempt, r.max_attempts, r.lost, r.created_at,
      r.payload, d.state, l.worker, l.claimed_at, d.ended_at, e.result, nullif(e.error, 'null'), d.next_id, d.cancel_requested, r.options,
      l.leased_until, g.progress, g.note
    from tock.runs_%1$s r
    join tock.streams s on s.number = r.stream
    %2$s
    left join lateral (
      select g.progress, g.note from tock.progress g
      where g.position = any (array[r.position, l.after_position + 1]) and g.stream = r.stream
        and (g.of_all or g.position = r.position)
      order by g.told_at desc limit 1) g on l.stream is not null
    where r.stream = $2 and r.position = $3$q$, v_epoch, tock.standing(v_epoch))
    into v_run using p_id, (p_id & 1048575)::integer, p_id >> 20;
  return v_run;
end $$;

comment on function tock.run_at is 'A run and how it stands, by its id; null when there is none.';

-- A run's state is derived: a result says it, else the lease that covers it, else a mark, else it is ready. (What
-- a lease purged is cancelled where no mark says otherwise.)
-- A task goes on with the next run that its result names, or with what replaces it.
create or replace function tock.standing(p_epoch integer)
returns text
language sql
immutable
as $$
  select pg_catalog.format($q$
    left join tock.results_%1$s e on e.stream = r.stream and e.position = r.position
    left join lateral (
      select k.* from tock.leases_%1$s k where k.stream = r.stream and k.after_position < r.position
      order by k.stream desc, k.after_position desc limit 1) o on o.last_position >= r.position
    left join lateral (select o.* where o.runs > 0 and r.position <> all (coalesce(o.skips, '{}'))) l on true
    left join lateral (
      select m.stream, m.created_at from tock.marks_%1$s m
      where m.stream = r.stream and m.position = r.position and m.kind = 'cancelled'
        -- what had expired while it waited has ended with that, though it was purged
        and (l.stream is not null or (r.options ->> 'expires_at')::timestamptz <= m.created_at is not true) offset 0) c on true
    left join lateral (
      select m.other_id, m.created_at from tock.marks_%1$s m
      where m.stream = r.stream and m.position = r.position and m.kind = 'superseded' offset 0) n on true
    cross join lateral (
      select coalesce(e.state, l.outcome, case when l.stream is not null then 'running'
          when n.other_id > 0 then 'superseded' when c.stream is not null then 'cancelled'
          when o.outcome = 'purged' then case when (r.options ->> 'expires_at')::timestamptz <= o.closed_at then 'expired'
            else 'cancelled' end
          when (r.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp() then 'expired' else 'ready' end) as state,
        case when l.stream is null and n.other_id > 0 then n.other_id else e.next_id end as next_id,
        coalesce(e.ended_at, l.closed_at, case when l.stream is null then coalesce(c.created_at, n.created_at,
          case when o.outcome = 'purged' then least(o.closed_at, (r.options ->> 'expires_at')::timestamptz) end,
          case when (r.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp()
            then (r.options ->> 'expires_at')::timestamptz end) end) as ended_at,
        l.stream is not null and l.outcome is null and e.state is null and c.stream is not null as cancel_requested) d$q$,
    p_epoch)
$$;

comment on function tock.standing is 'What to join to a run r of an epoch to learn how it stands: d.state, d.next_id, d.ended_at, and the lease l that holds it.';

create or replace function tock.cancelled_for(p_options jsonb)
returns jsonb
language sql
immutable
as $$
  select pg_catalog.jsonb_build_object('name', case p_options -> 'cancelled_for' ->> 'state' when 'waiting for it' then 'WaitsForItself'
    else 'ParentFailed' end, 'message',
    pg_catalog.format('%s is %s', coalesce('task ' || (p_options -> 'cancelled_for' ->> 'id') || ', which it comes after,', 'a task that it comes after'),
      p_options -> 'cancelled_for' ->> 'state'))
  where p_options ? 'cancelled_for'
$$;

comment on function tock.cancelled_for is 'The error of a task that was cancelled for one of its parents; null of another.';
