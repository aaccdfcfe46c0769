-- What a node has of a queue, to move it: its row and the settings of its concurrency keys, the number of its
-- tasks that have not ended, and the names of its schedules. Null if it has nothing.
create or replace function tock.queue_to_move(p_queue text)
returns jsonb language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
  select pg_catalog.jsonb_build_object('row', pg_catalog.to_jsonb(q), 'tasks', s.tasks,
    'paused', tock.is_paused(q), 'keys', (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(k)), '[]') from tock.concurrency_keys k
      where k.queue = p_queue),
    'schedules', array(select h.name from tock.schedules h where h.queue = p_queue order by h.name))
  from (select sum(t.ready + t.running + t.waiting) as tasks from tock.queue_stats(p_queue) t) s
  left join tock.queues q on q.name = p_queue
  where q.name is not null or s.tasks > 0
    or exists (select from tock.schedules h where h.queue = p_queue)
$$;

-- Makes a queue that comes from another node, with its settings there. So its first task here finds them.
create or replace function tock.adopt_queue(p_queue jsonb, p_keys jsonb)
returns void language sql volatile as $$
  insert into tock.queues
  select n.* from pg_catalog.jsonb_populate_record(null::tock.queues,
    p_queue || pg_catalog.jsonb_build_object('home', (select i.last_value from tock.system_identity i))) n
  on conflict do nothing;
  insert into tock.concurrency_keys
  select n.* from pg_catalog.jsonb_populate_recordset(null::tock.concurrency_keys, p_keys) n
  on conflict do nothing;
$$;

-- The last enqueues to a queue that have a request id. The node to which it moves adopts them, so that it
-- answers a repeat of such a call like this one.
create or replace function tock.requests_to_move(p_queue text)
returns jsonb language sql stable as $$
  select coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(n)), '[]') from (
    select r.* from tock.requests r
    where r.queue = p_queue and r.verb = 'enqueue' and r.created_at > now() - interval '10 minutes'
    order by r.created_at desc limit 100000) n
$$;

-- Keeps request ids that came first to the node that the queue leaves.
create or replace function tock.adopt_requests(p_requests jsonb)
returns void language sql volatile as $$
  insert into tock.requests
  select n.* from pg_catalog.jsonb_populate_recordset(null::tock.requests, p_requests) n
  on conflict do nothing
$$;

-- Forgets a queue that has moved to another node. From then on the guard refuses its name here. Returns the
-- number of its tasks here that have not ended, and of its schedules; above 0 nothing has changed. Each
-- enqueue reads tock.queues, and so does put_schedule(). So the table's lock makes sure that none is under
-- way, and it is held for milliseconds only.
create or replace function tock.leave_queue(p_queue text)
returns bigint language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '500ms' as $$
declare
  v_tasks bigint;
begin
  for v_look in 1 .. 2 loop
    v_tasks := (select coalesce(sum(s.ready + s.running + s.waiting), 0) from tock.queue_stats(p_queue) s)
      + (select count(*) from tock.schedules h where h.queue = p_queue);
    exit when v_tasks > 0 or v_look = 2;
    lock table tock.queues in access exclusive mode;
  end loop;
  if v_tasks = 0 then
    delete from tock.queues q where q.name = p_queue;
    delete from tock.concurrency_keys g where g.queue = p_queue;
    delete from tock.concurrency_admissions t where t.queue = p_queue;
    delete from tock.unique_keys k where k.queue = p_queue;
    delete from tock.queue_limiter_state a where a.queue = p_queue;
    perform tock.write_audit_log('leave_queue', p_queue, '{}');
  end if;
  return v_tasks;
end $$;

-- Takes the schedules of a queue from this node, each with its next fire, to put them on another node in the
-- same transaction. It waits for a fire that is under way. With another overlap than 'queue' the next fire
-- depends on the last task, which only this node knows: the schedule stays until that task has ended.
create or replace function tock.take_schedules(p_queue text)
returns jsonb language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_schedule tock.schedules;
  v_fire tock.schedule_next_fires;
  v_taken jsonb := '[]';
begin
  for v_schedule in select s.* from tock.schedules s where s.queue = p_queue order by s.name for update loop
    v_fire := tock.remove_next_fire(v_schedule.name);
    if v_schedule.overlap <> 'queue' and exists (
      select from tock.resolve_tasks(array[v_fire.last_task_id]) t
      where t.state in ('waiting', 'ready', 'running'))
    then
      perform tock.store_next_fire(v_schedule.name, v_fire);
    else
      delete from tock.schedules s where s.name = v_schedule.name;
      perform tock.write_audit_log('take_schedules', v_schedule.name);
      v_taken := v_taken || pg_catalog.jsonb_build_object('schedule', v_schedule, 'fire', v_fire);
    end if;
  end loop;
  return v_taken;
end $$;

-- Puts schedules on this node that take_schedules() has taken from another one. Their next fires stay. The
-- last task is on the other node, where it has ended or does not matter.
create or replace function tock.adopt_schedules(p_taken jsonb)
returns void language sql volatile as $$
  insert into tock.schedules
  select s.* from pg_catalog.jsonb_array_elements(p_taken) t (item)
  cross join lateral pg_catalog.jsonb_populate_record(null::tock.schedules, t.item -> 'schedule') s;
  insert into tock.schedule_next_fires
  select f.* from pg_catalog.jsonb_array_elements(p_taken) t (item)
  cross join lateral pg_catalog.jsonb_populate_record(null::tock.schedule_next_fires,
    t.item -> 'fire' || '{"last_task_id": null}') f;
  select tock.write_audit_log('adopt_schedules', t.item -> 'schedule' ->> 'name')
  from pg_catalog.jsonb_array_elements(p_taken) t (item);
$$;
