create or replace function tock.drop_queue(p_queue text, p_force boolean default false)
returns table (dropped boolean, ready bigint, running bigint, waiting bigint) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '10s' as $$
#variable_conflict use_column
declare
  v_policy tock.queues;
begin
  perform tock.check_read_committed('drop_queue');
  perform tock.check_queue(p_queue);
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('queue', p_queue));
  select q.* into v_policy from tock.queues q where q.name = p_queue;
  if not found then
    return;
  elsif not (tock.is_paused(v_policy) or coalesce(p_force, false)) then
    perform tock.refuse(409, 'the queue must be paused: its ready and waiting tasks are dropped with it',
      'queue', 'pause it first, or set force');
  end if;
  -- before the locks of the purge: a page of a bulk change has its row first, too
  perform from tock.bulk_changes b where b.queue = p_queue and b.state = 'running' order by b.id for update;
  perform tock.purge_queue(p_queue);
  select s.ready, s.running, s.waiting into ready, running, waiting from tock.queue_stats(p_queue) s;
  dropped := ready = 0 and running = 0 and waiting = 0;
  if dropped then
    update tock.bulk_changes b set state = 'stopped', error = 'the queue was dropped',
      ended_at = pg_catalog.clock_timestamp()
    where b.queue = p_queue and b.state = 'running';
    delete from tock.queues q where q.name = p_queue;
    delete from tock.concurrency_keys g where g.queue = p_queue;
    delete from tock.concurrency_admissions t where t.queue = p_queue;
    delete from tock.unique_keys k where k.queue = p_queue;
    delete from tock.queue_limiter_state a where a.queue = p_queue;
  end if;
  perform tock.write_audit_log('drop_queue', p_queue,
    pg_catalog.jsonb_build_object('force', coalesce(p_force, false), 'dropped', dropped));
  return next;
end $$;

comment on function tock.drop_queue is
  'Purges a paused queue (any queue with p_force). If nothing in it is unfinished, also deletes its policy, '
  'concurrency keys and unique keys; otherwise returns what is left: call again. Its ended tasks are kept '
  'by the default policy. No row if there is no such queue. A later task with this queue name makes it '
  'again.';
