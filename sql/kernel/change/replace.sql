-- The run stays where it is, marked, and another takes its place: a run at the end of a stream, or a waiting entry. With
-- the locks of their streams held, and in a new snapshot, what lies above the cursor can't start any more. Of this and a
-- cancel at the same time the key of marks lets one.
create or replace function tock.supersede(p_found tock.whereabout[], p_changes jsonb)
returns tock.whereabout[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_due timestamptz := coalesce((p_changes ->> 'run_at')::timestamptz, v_now);
  v_epoch integer;
  v_runs tock.going[];
  v_slot integer := -1;
  v_part tock.whereabout[];
  v_replaced tock.whereabout[] := '{}';
begin
  if pg_catalog.cardinality(p_found) = 0 then
    return v_replaced;
  end if;
  perform tock.hold_streams(array(select (f.current_id & 1048575)::integer from unnest(p_found) f));
  if v_due <= v_now then
    v_slot := tock.take_slot();
  else
    perform tock.check_waiting_ids();
  end if;
  for v_epoch in select distinct tock.epoch_of(f.current_id >> 20) as epoch from unnest(p_found) f order by epoch loop
    continue when v_epoch is null;
    execute pg_catalog.format($q$
      select array(
        select row(f.n, r.stream, r.position, f.task_id, r.attempt, r.max_attempts, r.tenant, r.created_at,
          coalesce(($2 ->> 'bytes')::integer, r.bytes), null,
          coalesce($2 ->> 'queue', s.queue), coalesce(($2 ->> 'priority')::smallint, s.priority),
          case when $2 ? 'queue' then tock.lane_in($2 ->> 'queue', r.tenant, r.options) else s.lane end, $3, false, r.lost,
          null)::tock.going
        from unnest($1) f
        cross join lateral (
          select r.* from tock.runs_%1$s r
          where r.stream = (f.current_id & 1048575)::integer and r.position = f.current_id >> 20 offset 0) r
        join tock.streams s on s.number = r.stream
        where coalesce((
          select l.last_position from tock.leases_%1$s l where l.stream = r.stream and l.after_position < r.position
          order by l.stream desc, l.after_position desc limit 1), 0) < r.position)$q$, v_epoch)
      into v_runs using p_found, p_changes, v_due;
    if v_due <= v_now then
      perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
      from (select distinct r.queue, r.priority, r.lane from unnest(v_runs) r) d;
    end if;
    execute pg_catalog.format($q$
      with placed as materialized (
        select pg_catalog.nextval('tock.positions') as next_position, o.*
        from (
          select r.*, coalesce(t.number, 0) as next_stream from unnest($1) r
          left join tock.streams t on t.queue = r.queue and t.priority = r.priority and t.lane = r.lane and t.slot = $2
          order by r.n) o
      ), marked as (
        insert into tock.marks (stream, position, kind, other_id)
        select p.stream, p.position, 'superseded', p.next_position << 20 | p.next_stream from placed p
        order by p.position, p.stream
        on conflict do nothing
        returning stream, position
      ), replacing as (
        select p.*, r.options, case when $3 ? 'payload' then tock.with_own_payload(r.payload, r.options, $3 -> 'payload')
            else r.payload end as payload,
          case when $3 ? 'payload' and tock.is_whole(r.payload, r.options)
            then pg_catalog.octet_length(tock.with_own_payload(r.payload, r.options, $3 -> 'payload')::text) else p.bytes end as new_bytes
        from placed p join marked m using (stream, position)
        cross join lateral (
          select r.payload, r.options from tock.runs_%s r where r.stream = p.stream and r.position = p.position offset 0) r
      ), ready as (
        insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload,
          options)
        select p.next_stream, p.next_position, p.task_id, p.attempt, p.lost, p.max_attempts, p.tenant, p.created_at,
          p.new_bytes, p.payload, p.options
        from replacing p where p.next_stream <> 0
      ), later as (
        insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
          created_at, bytes, payload, options, gate)
        select p.next_position, p.task_id, p.due_at, p.queue, p.priority, p.lane, p.attempt, p.lost, p.max_attempts, p.tenant,
          p.created_at, p.new_bytes, p.payload, p.options, p.options ->> 'gate'
        from replacing p where p.next_stream = 0
      )
      select array(
        select row(p.next_position << 20 | p.next_stream, p.task_id, p.position << 20 | p.stream, 'ready', p.queue)::tock.whereabout
        from placed p join marked m using (stream, position))$q$, v_epoch)
      into v_part using v_runs, v_slot, p_changes;
    v_replaced := v_replaced || v_part;
  end loop;
  perform tock.on_runs_moved(array(select r.current_id from unnest(v_replaced) r));
  return v_replaced;
end $$;

comment on function tock.supersede is
  'Replaces ready runs by changed ones; returns those that had not started or been cancelled, n being the id of what replaces them. Until the transaction ends no claim takes from their streams.';
