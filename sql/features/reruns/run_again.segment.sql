-- Makes new tasks of ended ones in a queue and records them in reruns; returns them with current_id as the
-- new id. With p_again also of tasks that were run again before. p_found has tasks whose last run is in this
-- segment, or waiting tasks. Payloads are copied from table to table. If another call has run a task again
-- meanwhile, the primary key of reruns leaves the task to that call. An erased run has bytes -1.
create or replace function tock.run_again_{segment}(
  p_found tock.resolved_task[], p_queue text, p_slot integer, p_kind text, p_again boolean, p_reason text)
returns tock.resolved_task[] language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_bulk text[] := '{}';
  v_made tock.resolved_task[];
  v_waits boolean;
begin
  if pg_catalog.cardinality(p_found) >= 1000 then
    v_bulk := array(
      select r.tenant from unnest(p_found) f
      cross join lateral (select t.* from tock.stored_task_{segment}(f.current_id) t offset 0) r
      where r.tenant is not null group by 1 having count(*) >= 1000);
  end if;
  with given as materialized (
    select f.n, f.task_id, f.current_id, r.priority, r.tenant, r.max_attempts, r.bytes,
      tock.options_again(case when r.options -> 'pipeline' ? p_queue then r.options
        else r.options - 'pipeline' - 'stage' end, v_policy, v_now, p_kind) as options
    from unnest(p_found) f
    cross join lateral (select t.* from tock.stored_task_{segment}(f.current_id) t offset 0) r
    where r.bytes >= 0
  ), laned as materialized (
    select g.*, g.options ->> 'concurrency_key' as concurrency_key,
      case when g.tenant is null then 0 else tock.lane_of(v_policy, g.tenant, v_bulk) end
        + case when g.options is null then 0 else 1024 end as lane
    from given g
  ), opened as materialized (
    select d.priority, d.lane, tock.open_stream(p_queue, d.priority, d.lane, p_slot) as stream
    from (select distinct l.priority, l.lane from laned l where l.concurrency_key is null) d
  ), placed as materialized (
    select pg_catalog.nextval('tock.positions') as next_position, o.*
    from (
      select l.*, case when l.concurrency_key is null then s.stream else 0 end as next_stream
      from laned l left join opened s on s.priority = l.priority and s.lane = l.lane
      order by l.n) o
  ), taken as (
    insert into tock.reruns (of_id, number, id, kind, reason)
    select p.task_id, case when p_again then 1 + coalesce((
        select x.number from tock.reruns x where x.of_id = p.task_id order by x.number desc limit 1), 0)
        else 1 end,
      tock.id_at(p.next_position, p.next_stream), p_kind, p_reason
    from placed p order by p.task_id
    on conflict do nothing
    returning id
  ), again as materialized (
    select p.* from placed p join taken t on t.id = tock.id_at(p.next_position, p.next_stream)
  ), ready as (
    insert into tock.runs (stream, position, max_attempts, tenant, bytes, payload, options)
    select a.next_stream, a.next_position, a.max_attempts, a.tenant, a.bytes, r.payload, a.options
    from again a cross join lateral (select t.payload
      from tock.stored_task_{segment}(a.current_id) t offset 0) r
    where a.next_stream <> 0
  ), later as (
    insert into tock.waiting (
      position, due_at, queue, priority, lane, max_attempts, tenant, bytes, payload, options, concurrency_key)
    select a.next_position, v_now, p_queue, a.priority, a.lane, a.max_attempts, a.tenant, a.bytes, r.payload,
      a.options, a.concurrency_key
    from again a cross join lateral (select t.payload
      from tock.stored_task_{segment}(a.current_id) t offset 0) r
    where a.next_stream = 0
  )
  select array(
      select row(a.n, a.task_id, tock.id_at(a.next_position, a.next_stream), null,
        p_queue)::tock.resolved_task
      from again a order by a.n),
    exists (select from again a where a.next_stream = 0)
    into v_made, v_waits;
  if v_waits then
    perform tock.check_waiting_ids();
    perform tock.check_new_ids(array(select m.current_id from unnest(v_made) m));
  end if;
  perform tock.notify_dependents(array(select f.current_id from unnest(p_found) f));
  return v_made;
end $$;
