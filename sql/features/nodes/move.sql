-- What a node has of a queue, to move it: its row and the settings of its concurrency keys, the number of its
-- tasks that have not ended, and its schedules. Null if it has nothing.
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

-- Forgets a queue that has moved to another node. From then on the guard refuses its name here. Returns the
-- number of its tasks here that have not ended; above 0 nothing has changed. Each enqueue reads
-- tock.queues. So the table's lock makes sure that none is under way, and it is held for milliseconds only.
create or replace function tock.leave_queue(p_queue text)
returns bigint language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '500ms' as $$
declare
  v_tasks bigint;
begin
  for v_look in 1 .. 2 loop
    v_tasks := (select coalesce(sum(s.ready + s.running + s.waiting), 0) from tock.queue_stats(p_queue) s);
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
