-- A move works like a change: a waiting task gets the other queue, and a ready run is replaced by one in the
-- other queue, under the lock of its stream. A task with a concurrency key or unique key stays, because these
-- belong to its queue. A task with a pipeline stays, because its queue is its stage.
create or replace function tock.move(p_ids bigint[], p_queue text)
returns table (id bigint, state text, changed boolean) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s'
set plan_cache_mode = auto as $$
#variable_conflict use_column
declare
  v_ids bigint[] := tock.check_ids(p_ids);
  v_changes jsonb := pg_catalog.jsonb_build_object('queue', p_queue);
  v_tasks tock.resolved_task[];
  v_keyed bigint[];
  v_attempts tock.resolved_task[];
  v_moved bigint[];
begin
  perform tock.check_read_committed('move');
  perform tock.check_queue(p_queue, 'queue', 422);
  perform tock.check_not_webhooks(p_queue, 'queue');
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  for v_try in 1 .. 10 loop
    v_tasks := tock.resolve_each_task(v_ids);
    v_keyed := array(
      select s.id from tock.stored_runs(array(
        select f.current_id from unnest(v_tasks) f
        -- runs in other streams have no options
        where f.state = 'waiting' or (f.state = 'ready' and (
          select t.lane >= 1024 from tock.streams t where t.number = tock.stream_of(f.current_id))))) s
      where s.options ?| '{concurrency_key,unique_key,pipeline}');
    v_attempts := array(
      select f from unnest(v_tasks) f
      where f.state in ('waiting', 'ready') and f.queue <> p_queue and f.current_id <> all (v_keyed));
    if pg_catalog.cardinality(v_attempts) > 0 and (tock.policy(p_queue)).name = '*' then
      perform tock.make_queue(p_queue);
    end if;
    v_moved := tock.change_waiting(array(select g from unnest(v_attempts) g
      where g.state = 'waiting'), v_changes)
      || array(select r.current_id from unnest(tock.replace_runs_anywhere(
        array(select g from unnest(v_attempts) g where g.state = 'ready'), v_changes)) r);
    insert into tock.moves (id)
      select g.task_id from unnest(v_attempts) g where g.current_id = any (v_moved)
      union
      select g.current_id from unnest(v_attempts) g where g.current_id = any (v_moved)
      order by 1
      on conflict do nothing;
    -- a task that was promoted, claimed or changed meanwhile is looked up again
    v_ids := array(select g.task_id from unnest(v_attempts) g where g.current_id <> all (v_moved));
    return query
      select f.task_id, f.state, f.current_id = any (v_moved) from unnest(v_tasks) f
      where f.task_id <> all (v_ids);
    if pg_catalog.cardinality(v_ids) = 0 then
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'some of these tasks are being changed by other calls', 'ids', 'try again');
end $$;

comment on function tock.move is
  'Moves up to 10,000 waiting and ready tasks unchanged to the end of another queue. Locks the streams of '
  'ready ones like change(), and waits as long. Returns one row per task: its state, and whether it was '
  'moved. It is not moved if it is running or has ended, if it is in that queue already, or if it has a '
  'concurrency key, a unique key or a pipeline.';

-- p_id may be any run of a moved task; resolve_tasks() finds the queue of the newest one. It also does so for
-- a run whose segment was dropped: only the position of that run is still known, and the stream in the id may
-- be wrong.
create or replace function tock.queue_of_task(p_id bigint)
returns text language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
  select coalesce(
    (select (select w.queue from tock.resolve_tasks(array[m.id]) w) from tock.moves m
     where m.id in (p_id, case when exists (select from tock.moves) then tock.first_id(p_id) end) limit 1),
    (select w.queue from tock.resolve_tasks(array[p_id]) w
     where tock.segment_of(tock.position_of(p_id)) is null),
    (select s.queue from tock.streams s where s.number = tock.stream_of(p_id)),
    (select w.queue from tock.waiting w where w.position = tock.position_of(p_id)),
    (select s.queue from tock.promotions p join tock.streams s on s.number = tock.stream_of(p.run_id)
     where p.position = tock.position_of(p_id)))
$$;

comment on function tock.queue_of_task is
  'The current queue of the task with this id; null if there is none.';
