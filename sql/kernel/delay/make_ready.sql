-- Turns waiting tasks into runs at the ends of their streams; claims skip them if p_cancelled. The caller
-- holds the row locks. A waiting task that is cancelled becomes a run too, so that its history is in the log
-- like all history. An override makes claims skip that run.
create or replace function tock.make_ready(p_positions bigint[], p_cancelled boolean default false)
returns void language plpgsql volatile
set plan_cache_mode = force_generic_plan as $$
declare
  v_slot integer := tock.take_slot();
  v_queues text[];
  v_concurrency_keys text[];
begin
  if p_cancelled then
    select pg_catalog.array_agg(w.queue), pg_catalog.array_agg(w.concurrency_key)
    into v_queues, v_concurrency_keys
    from tock.waiting w where w.position = any (p_positions) and w.concurrency_key is not null;
  end if;
  perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
  from (select distinct w.queue, w.priority, w.lane from tock.waiting w
    where w.position = any (p_positions)) d;
  with due as (
    delete from tock.waiting w where w.position = any (p_positions) returning w.*
  ), placed as materialized (
    select pg_catalog.nextval('tock.positions') as next_position, d.*
    from (
      select s.number as stream, d.* from due d
      join tock.streams s on s.queue = d.queue and s.priority = d.priority and s.lane = d.lane
        and s.slot = v_slot
      order by d.due_at, d.position) d
  ), ready as (
    insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes,
      payload, options)
    select p.stream, p.next_position, coalesce(p.task_id, tock.id_at(p.position, 0)), p.attempt, p.lost,
      p.max_attempts, p.tenant, p.created_at, p.bytes, p.payload, p.options
    from placed p
  ), marked as (
    insert into tock.run_overrides (stream, position, kind)
    select p.stream, p.next_position, 'cancelled' from placed p where p_cancelled
  )
  insert into tock.promotions (position, run_id, due_at)
  select p.position, tock.id_at(p.next_position, p.stream), case when p_cancelled
    or p.due_at = 'infinity' then '-infinity' else p.due_at end
  from placed p
  -- this position may be there already: the first id of a task whose segment was dropped
  on conflict (position) do update set run_id = excluded.run_id;
  perform tock.on_made_ready(p_positions, p_cancelled, v_queues, v_concurrency_keys);
end $$;
