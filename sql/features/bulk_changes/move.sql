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
  perform tock.check_queue_name(p_queue);
  perform tock.check_not_webhooks(p_queue, 'queue');
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  for v_try in 1 .. 10 loop
    v_tasks := tock.resolve_each_task(v_ids);
    v_keyed := tock.keyed(array(select f.current_id from unnest(v_tasks) f
      where f.state in ('waiting', 'ready')));
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

create or replace function tock.keyed(p_ids bigint[])
returns bigint[] language plpgsql volatile as $$
declare
  v_segment integer;
  v_part bigint[];
  v_keyed bigint[] := array(
    select tock.id_at(w.position, 0) from tock.waiting w
    where w.position = any (array(select tock.position_of(i) from unnest(p_ids) i
      where tock.stream_of(i) = 0))
      and w.options ?| array['concurrency_key', 'unique_key', 'pipeline']);
begin
  for v_segment in
    select distinct tock.segment_of(tock.position_of(i)) from unnest(p_ids) i
    where (select s.lane >= 1024 from tock.streams s where s.number = tock.stream_of(i))
  loop
    execute pg_catalog.format($q$
      select array(
        select i.id from unnest($1) i (id)
        cross join lateral (
          select r.options from tock.runs_%s r
          where r.stream = tock.stream_of(i.id) and r.position = tock.position_of(i.id) offset 0) r
        where r.options ?| array['concurrency_key', 'unique_key', 'pipeline'])$q$, v_segment)
      into v_part using p_ids;
    v_keyed := v_keyed || v_part;
  end loop;
  return v_keyed;
end $$;

comment on function tock.keyed is
  'The runs and waiting tasks among these that have a concurrency key, a unique key or a pipeline.';

-- p_id may be any run of a moved task; resolve_tasks() finds the queue of the newest one.
create or replace function tock.queue_of_task(p_id bigint)
returns text language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
  select coalesce(
    (select (select w.queue from tock.resolve_tasks(array[m.id]) w) from tock.moves m
     where m.id in (p_id, case when exists (select from tock.moves) then tock.first_id(p_id) end) limit 1),
    (select s.queue from tock.streams s where s.number = tock.stream_of(p_id)),
    (select w.queue from tock.waiting w where w.position = tock.position_of(p_id)),
    (select s.queue from tock.promotions p join tock.streams s on s.number = tock.stream_of(p.run_id)
     where p.position = tock.position_of(p_id)))
$$;

comment on function tock.queue_of_task is
  'The current queue of the task with this id; null if there is none.';
