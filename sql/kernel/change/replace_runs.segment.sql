-- Marks ready runs as superseded and adds changed ones in their place, or waiting tasks if p_slot is -1. The
-- caller holds the stream locks and has a new snapshot, so no claim can take the runs above the cursor. If a
-- cancel inserts an override for the same run, the primary key of run_overrides lets only one of them
-- succeed.
create or replace function tock.replace_runs_{segment}(
  p_found tock.resolved_task[], p_changes jsonb, p_due timestamptz, p_slot integer)
returns tock.resolved_task[] language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
declare
  v_runs tock.next_attempt[];
  v_replaced tock.resolved_task[];
begin
  v_runs := array(
    select row(f.n, r.stream, r.position, f.task_id, r.attempt, r.max_attempts, r.tenant, r.created_at,
      coalesce((p_changes ->> 'bytes')::integer, r.bytes), null,
      coalesce(p_changes ->> 'queue', s.queue), coalesce((p_changes ->> 'priority')::smallint, s.priority),
      case when p_changes ? 'queue' then tock.lane_in(p_changes ->> 'queue', r.tenant, r.options)
        else s.lane end,
      p_due, false, r.lost, null)::tock.next_attempt
    from unnest(p_found) f
    cross join lateral (
      select r.* from tock.runs_{segment} r
      where r.stream = tock.stream_of(f.current_id)
        and r.position = tock.position_of(f.current_id) offset 0) r
    join tock.streams s on s.number = r.stream
    where coalesce((
      select l.last_position from tock.leases_{segment} l
      where l.stream = r.stream and l.after_position < r.position
      order by l.stream desc, l.after_position desc limit 1), 0) < r.position);
  if p_slot >= 0 then
    perform tock.open_stream(d.queue, d.priority, d.lane, p_slot)
    from (select distinct r.queue, r.priority, r.lane from unnest(v_runs) r) d;
  end if;
  with placed as materialized (
    select pg_catalog.nextval('tock.positions') as next_position, o.*
    from (
      select r.*, coalesce(t.number, 0) as next_stream from unnest(v_runs) r
      left join tock.streams t
        on t.queue = r.queue and t.priority = r.priority and t.lane = r.lane and t.slot = p_slot
      order by r.n) o
  ), marked as (
    insert into tock.run_overrides (stream, position, kind, other_id)
    select p.stream, p.position, 'superseded', tock.id_at(p.next_position, p.next_stream) from placed p
    order by p.position, p.stream
    on conflict do nothing
    returning stream, position
  ), replacing as (
    select p.*, r.options, case when p_changes ? 'payload'
        then tock.with_own_payload(r.payload, r.options, p_changes -> 'payload')
        else r.payload end as payload,
      case when p_changes ? 'payload' and tock.is_whole(r.payload, r.options)
        then pg_catalog.octet_length(tock.with_own_payload(r.payload, r.options,
          p_changes -> 'payload')::text)
        else p.bytes end as new_bytes
    from placed p join marked m using (stream, position)
    cross join lateral (
      select r.payload, r.options from tock.runs_{segment} r
      where r.stream = p.stream and r.position = p.position offset 0) r
  ), ready as (
    insert into tock.runs (
      stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload, options)
    select p.next_stream, p.next_position, p.task_id, p.attempt, p.lost, p.max_attempts,
      p.tenant, p.created_at, p.new_bytes, p.payload, p.options
    from replacing p where p.next_stream <> 0
  ), later as (
    insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost,
      max_attempts, tenant, created_at, bytes, payload, options, concurrency_key)
    select p.next_position, p.task_id, p.due_at, p.queue, p.priority, p.lane, p.attempt, p.lost,
      p.max_attempts, p.tenant, p.created_at, p.new_bytes, p.payload, p.options,
      p.options ->> 'concurrency_key'
    from replacing p where p.next_stream = 0
  )
  select array(
    select row(tock.id_at(p.next_position, p.next_stream), p.task_id,
      tock.id_at(p.position, p.stream), 'ready', p.queue)::tock.resolved_task
    from placed p join marked m using (stream, position)) into v_replaced;
  return v_replaced;
end $$;
