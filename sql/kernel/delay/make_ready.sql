-- The rows are locked by the caller. A task that is cancelled while it waits becomes a run as well, a
-- marked one that claims pass over: so its history lies where all history lies.
create or replace function tock.make_ready(p_positions bigint[], p_cancelled boolean default false)
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_slot integer := tock.take_slot();
  v_queues text[];
  v_gates text[];
begin
  if p_cancelled then
    select pg_catalog.array_agg(w.queue), pg_catalog.array_agg(w.gate) into v_queues, v_gates
    from tock.waiting w where w.position = any (p_positions) and w.gate is not null;
  end if;
  perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
  from (select distinct w.queue, w.priority, w.lane from tock.waiting w where w.position = any (p_positions)) d;
  with due as (
    delete from tock.waiting w where w.position = any (p_positions) returning w.*
  ), placed as materialized (
    select pg_catalog.nextval('tock.positions') as next_position, d.*
    from (
      select s.number as stream, d.* from due d
      join tock.streams s on s.queue = d.queue and s.priority = d.priority and s.lane = d.lane and s.slot = v_slot
      order by d.due_at, d.position) d
  ), ready as (
    insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload, options)
    select p.stream, p.next_position, coalesce(p.task_id, p.position << 20), p.attempt, p.lost, p.max_attempts,
      p.tenant, p.created_at, p.bytes, p.payload, p.options
    from placed p
  ), marked as (
    insert into tock.marks (stream, position, kind)
    select p.stream, p.next_position, 'cancelled' from placed p where p_cancelled
  )
  insert into tock.promotions (position, run_id, due_at)
  select p.position, p.next_position << 20 | p.stream, case when p_cancelled or p.due_at = 'infinity' then '-infinity' else p.due_at end
  from placed p
  on conflict (position) do update set run_id = excluded.run_id;  -- known by the first id of a dropped epoch
  if v_gates is not null then
    perform tock.open_gates(v_queues, v_gates);
  end if;
  if p_cancelled then
    delete from tock.watches x where x.child = any (p_positions);
  end if;
  if not tock.sees_all() then
    insert into tock.nudges (stream, after_position, upto) select 0, p - 1, p from unnest(p_positions) p;
  end if;
  -- A child of one of these watches its run from now on. One whose row is locked can't be moved: whoever has it may have
  -- looked before this promotion commits, and nothing would tell it of the run's end. It gets a nudge.
  if (select x.position from tock.watches x
    where x.stream = 0 and x.position >= (select min(p) from unnest(p_positions) p)
      and x.position <= (select max(p) from unnest(p_positions) p)
    order by x.stream, x.position limit 1) is not null
  then
    update tock.watches x set stream = p.run_id & 1048575, position = p.run_id >> 20
    from (
      select w.position from tock.waiting w
      where w.position = any (array(
        select y.child from tock.watches y where y.stream = 0 and y.position = any (p_positions)))
      order by w.position for update skip locked) c, tock.promotions p
    where x.stream = 0 and x.position = any (p_positions) and x.child = c.position and p.position = x.position;
    perform tock.look_soon(array(
      select y.child from tock.watches y where y.stream = 0 and y.position = any (p_positions)));
    if p_cancelled then
      perform tock.parents_passed((p.run_id & 1048575)::integer, (p.run_id >> 20) - 1, p.run_id >> 20)
      from tock.promotions p where p.position = any (p_positions);
    end if;
  end if;
end $$;

comment on function tock.make_ready is
  'Turns waiting entries into runs, at the ends of their streams; p_cancelled ones are marked and never handed out.';
