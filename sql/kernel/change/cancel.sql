-- A cancel inserts a run override and takes no stream lock. So while its transaction is open, it blocks only
-- changes of the same tasks. If a task has continued with another run meanwhile, the loop resolves it again.
-- A change and a cancel of the same ready run both insert an override of kind superseded, and the primary key
-- lets only one succeed. other_id 0 says that the run was cancelled and has no replacement. Both take effect
-- from their commit. If an attempt ends at that moment, the task may get one more attempt. The end of that
-- one sees the override on the first run of the task.
create or replace function tock.cancel(p_ids bigint[])
returns table (id bigint, state text, changed boolean) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s'
set plan_cache_mode = auto as $$
#variable_conflict use_column
declare
  v_ids bigint[] := tock.check_ids(p_ids);
  v_tasks tock.resolved_task[];
  v_waiting bigint[];
  v_stopped bigint[];
  v_marked bigint[] := '{}';
  v_now tock.resolved_task[];
begin
  perform tock.check_read_committed('cancel');
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  for v_try in 1 .. 10 loop
    v_tasks := tock.resolve_each_task(v_ids);
    return query
      select f.task_id, f.state, false from unnest(v_tasks) f
      where f.state not in ('waiting', 'ready', 'running');
    v_tasks := array(select f from unnest(v_tasks) f where f.state in ('waiting', 'ready', 'running'));
    v_waiting := array(
      select w.position from tock.waiting w
      where w.position = any (array(select tock.position_of(f.current_id) from unnest(v_tasks) f
        where f.state = 'waiting'))
      order by w.position for update);
    if pg_catalog.cardinality(v_waiting) > 0 then
      perform tock.make_ready(v_waiting, true);
    end if;
    with taken as (
      insert into tock.run_overrides (stream, position, kind, other_id)
      select tock.stream_of(f.current_id), tock.position_of(f.current_id), 'superseded', 0
      from unnest(v_tasks) f
      where f.state = 'ready'
      order by 2, 1
      on conflict do nothing
      returning tock.id_at(position, stream) as id)
    select array(select t.id from taken t
      union all select f.current_id from unnest(v_tasks) f where f.state = 'running'
      union all select tock.id_at(p, 0) from unnest(v_waiting) p) into v_stopped;
    with marked as (
      insert into tock.run_overrides (stream, position, kind)
      select distinct tock.stream_of(m.id), tock.position_of(m.id), 'cancelled'
      from unnest(v_tasks) f
      cross join lateral (
        select f.current_id where f.state <> 'waiting' union all select f.task_id
        where f.task_id <> f.current_id) m (id)
      where f.current_id = any (v_stopped)
        and exists (select from tock.segments e where tock.position_of(m.id) >= e.first_position
          and tock.position_of(m.id) < e.end_position)
      order by 2, 1
      on conflict do nothing
      returning tock.id_at(position, stream) as id)
    select v_marked || array(select m.id from marked m) into v_marked;
    -- read again for the answer: a task may have started, ended or continued with another run meanwhile
    v_now := array(select w from tock.resolve_tasks(array(
      select f.task_id from unnest(v_tasks) f where f.current_id = any (v_stopped))) w);
    perform tock.on_runs_moved(array(select w.current_id from unnest(v_now) w));
    return query
      select f.task_id, w.state, w.state in ('cancelled', 'running')
        and (f.state = 'waiting' or f.current_id = any (v_marked))
      from unnest(v_tasks) f join unnest(v_now) w using (task_id)
      where f.state = 'waiting' or w.current_id = f.current_id;
    v_ids := array(
      select f.task_id from unnest(v_tasks) f left join unnest(v_now) w using (task_id)
      where f.current_id <> all (v_stopped) or f.state <> 'waiting' and w.current_id <> f.current_id);
    if pg_catalog.cardinality(v_ids) = 0 then
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'some of these tasks are being changed by other calls', 'ids', 'try again');
end $$;

comment on function tock.cancel is
  'Cancels up to 10,000 tasks. Waiting and ready ones never start, unless a concurrent claim has them. The '
  'worker of a running one gets a cancel request (see extend()), and the task is not retried, or once if '
  'its attempt is ending at that moment. Returns one row per task: its state, and whether this call changed '
  'anything.';
