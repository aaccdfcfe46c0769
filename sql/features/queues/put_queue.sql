create or replace function tock.put_queue(p_queue text, p_policy jsonb default '{}')
returns tock.queues language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_policy jsonb;
  v_row tock.queues;
  v_identity bigint;
begin
  if p_queue is distinct from '*' then
    perform tock.check_queue_name(p_queue);
  end if;
  v_policy := tock.check_policy(p_policy);
  perform tock.check_push_policy(p_queue, v_policy -> 'push');
  perform tock.check_dead_webhook(p_queue, v_policy -> 'dead_webhook');
  perform tock.guard_before_use();
  v_identity := (select i.last_value from tock.system_identity i);
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('queue', p_queue));
  if p_queue <> '*' then
    perform tock.make_queue(p_queue);
  end if;
  update tock.queues q set
    (lease_seconds, max_attempts, max_lost, backoff_kind, backoff_base_seconds, backoff_factor,
      backoff_cap_seconds, backoff_jitter, lanes, max_payload_bytes, retention_seconds, timeout_seconds,
      max_wait_seconds, concurrency_limit, concurrency_retry, concurrency_rate_limit,
      concurrency_rate_seconds, concurrency_rate_burst,
      max_running, rate_limit, rate_seconds, rate_burst,
      keep_results, paused, pause_after_restore, push, dead_webhook) = (
      n.lease_seconds, n.max_attempts, n.max_lost, n.backoff_kind, n.backoff_base_seconds, n.backoff_factor,
      n.backoff_cap_seconds, n.backoff_jitter, n.lanes, n.max_payload_bytes, n.retention_seconds,
      n.timeout_seconds, n.max_wait_seconds, n.concurrency_limit, n.concurrency_retry,
      n.concurrency_rate_limit, n.concurrency_rate_seconds, n.concurrency_rate_burst, n.max_running,
      n.rate_limit, n.rate_seconds, n.rate_burst, n.keep_results, n.paused, n.pause_after_restore,
      n.push, n.dead_webhook),
    -- earlier claims have not recorded their leases for the limit
    limited_at = case when n.max_running is not null and o.max_running is null
      then pg_catalog.clock_timestamp()
      else q.limited_at end,
    -- the identity of this server: on any other server the queue counts as a restored copy
    home = case when v_policy ->> 'paused' = 'false' or not q.pause_after_restore then v_identity
      else q.home end
  from tock.queues o cross join lateral pg_catalog.jsonb_populate_record(o, v_policy) n
  where q.name = p_queue and o.name = p_queue
  returning q.* into v_row;
  perform tock.write_audit_log('put_queue', p_queue,
    p_policy || case when p_policy ? 'push'
      then pg_catalog.jsonb_build_object('push', tock.without_query(p_policy -> 'push')) else '{}' end
    || case when p_policy ? 'dead_webhook'
      then pg_catalog.jsonb_build_object('dead_webhook', tock.without_query(p_policy -> 'dead_webhook'))
      else '{}' end);
  if v_policy ->> 'dead_webhook' is not null then
    perform tock.open_webhooks();
  end if;
  return v_row;
end $$;

comment on function tock.put_queue is
  'Makes a queue or changes the given settings; the others stay. ''*'' is the default policy. TK422 names a '
  'setting that is out of range.';

-- The queue from which webhooks are pushed, made or repaired if necessary.
create or replace function tock.open_webhooks()
returns tock.queues language plpgsql volatile as $$
declare
  v_queue tock.queues;
begin
  select q.* into v_queue from tock.queues q where q.name = 'tock-webhooks';
  if v_queue.name is null then
    v_queue := tock.put_queue('tock-webhooks',
      '{"push": {}, "dead_webhook": null, "max_attempts": 20, "backoff_kind": "exponential",
      "backoff_base_seconds": 10, "backoff_factor": 2, "backoff_cap_seconds": 3600,
      "retention_seconds": 86400, "paused": false, "timeout_seconds": null, "max_wait_seconds": null,
      "max_running": null, "rate_limit": null, "max_payload_bytes": 262144}');
  elsif v_queue.push is distinct from v_queue.push - 'url' or v_queue.max_payload_bytes < 65536 then
    v_queue := tock.put_queue('tock-webhooks', pg_catalog.jsonb_build_object('push', '{}'::jsonb,
      'max_payload_bytes', greatest(65536, v_queue.max_payload_bytes)));
  end if;
  return v_queue;
end $$;

create or replace function tock.queue(p_queue text)
returns setof tock.queues language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
declare
  v_row tock.queues;
begin
  select q.* into v_row from tock.queues q where q.name = p_queue;
  if found then
    v_row.paused := tock.is_paused(v_row);
    return next v_row;
  end if;
end $$;

comment on function tock.queue is
  'The policy of a queue; no row if it was never used. paused is also true while the queue waits to be '
  'resumed after a restore.';
