-- A call adds all its tasks or none.
create or replace function tock.enqueue(p_queue text, p_tasks jsonb, p_request_id text default null)
returns bigint[] language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
  v_id bigint;
begin
  -- the most frequent call: one task with only a payload
  if p_request_id is null and pg_catalog.current_setting('transaction_isolation') = 'read committed'
    and (case when pg_catalog.jsonb_typeof(p_tasks) <> 'array' then false
      when pg_catalog.jsonb_array_length(p_tasks) <> 1 then false
      when pg_catalog.jsonb_typeof(p_tasks -> 0) <> 'object' then false
      else (p_tasks -> 0) - 'payload' = '{}' end)
  then
    v_id := tock.append_one(p_queue, nullif(p_tasks -> 0 -> 'payload', 'null')::text);
    if v_id is not null then
      return array[v_id];
    end if;
  end if;
  return tock.enqueue_any(p_queue, p_tasks, p_request_id);
end $$;

comment on function tock.enqueue is
  'Adds tasks in the caller''s transaction and returns their ids in order. A task is {payload, '
  'delay_seconds | run_at, priority, tenant, max_attempts} with any of the further options of '
  'docs/guides/task-options.md; each field may be left out. A repeated call with the same request_id '
  'returns the same ids for 24 hours.';

-- JSON that jsonb does not hold would fail later, in a search for example: a character that PostgreSQL does
-- not store, or a number beyond numeric.
create or replace function tock.enqueue_payloads(
  p_queue text, p_payloads json, p_request_id text default null)
returns bigint[] language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan as $$
begin
  if pg_catalog.json_typeof(p_payloads) is distinct from 'array' then
    perform tock.refuse(422, 'payloads must be an array of any JSON', 'payloads');
  elsif p_payloads::text ~ '\\u|[eE][+-]?[0-9]{5}|[0-9]{100}' then
    perform p_payloads::jsonb;
  end if;
  return tock.enqueue_any(p_queue, null, p_request_id, p_payloads);
end $$;

comment on function tock.enqueue_payloads is
  'enqueue() for up to 100,000 tasks with only a payload each, given as a JSON array of the payloads. It '
  'takes less CPU time than enqueue(), and stores the JSON text exactly as given.';

-- enqueue() for tasks with any options. The planner settings are here and not on enqueue(), where they would
-- cost the most frequent call some microseconds. With p_payloads, p_tasks is null or has what the call adds
-- to each: a tenant, a trace.
create or replace function tock.enqueue_any(
  p_queue text, p_tasks jsonb, p_request_id text, p_payloads json default null)
returns bigint[] language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_digest bigint;
  v_seen tock.requests;
  v_count integer;
  v_plain boolean := false;  -- all tasks have only a payload
  v_ids bigint[];
begin
  perform tock.check_not_webhooks(p_queue, 'queue');
  if p_payloads is null and pg_catalog.jsonb_typeof(p_tasks) is distinct from 'array' then
    perform tock.refuse(422, 'tasks must be an array of tasks', 'tasks');
  end if;
  v_count := coalesce(pg_catalog.json_array_length(p_payloads), pg_catalog.jsonb_array_length(p_tasks));
  if v_count > 100000 then
    perform tock.refuse(422, 'one call accepts up to 100,000 tasks',
      case when p_payloads is null then 'tasks' else 'payloads' end, 'split it into several calls');
  end if;
  if v_policy.name = '*' then
    perform tock.check_queue_name(p_queue);
    perform tock.make_queue(p_queue);
  end if;
  if p_request_id is not null then
    v_digest := pg_catalog.hashtextextended(case
      when p_payloads is not null then 'payloads' || p_payloads::text
      when pg_catalog.jsonb_path_exists(p_tasks, '$[*].headers') then tock.without_trace(p_tasks)::text
      else p_tasks::text end, 0);
    v_seen := tock.request_seen('enqueue', p_queue, p_request_id, v_digest);
    if v_seen.ids is not null then
      return v_seen.ids;
    end if;
  end if;
  if v_count = 0 then
    return '{}';
  elsif pg_catalog.octet_length(p_payloads::text) > v_policy.max_payload_bytes then
    perform tock.refuse_large_payloads(p_payloads, v_policy.max_payload_bytes);
  end if;
  if v_count <= 5000 and v_policy.timeout_seconds is null and v_policy.max_wait_seconds is null
    and (v_policy.push is null or v_policy.push ? 'url')
  then
    v_plain := p_tasks is null or not exists (
      select from pg_catalog.jsonb_array_elements(p_tasks) t (task)
      where case when pg_catalog.jsonb_typeof(t.task) = 'object' then t.task - 'payload' <> '{}'
        else true end);
  end if;
  if not v_plain then
    p_tasks := coalesce(p_tasks, tock.tasks_of(p_payloads));
  end if;
  v_ids := case
    when v_plain then tock.append_plain(p_queue, p_tasks, p_payloads, v_policy.max_payload_bytes)
    when pg_catalog.jsonb_path_exists(p_tasks, '$[*].unique_key')
      then tock.append_with_keys(p_queue, p_tasks, v_policy)
    else tock.append_any(p_queue, p_tasks, v_policy, p_payloads) end;
  if p_request_id is not null then
    insert into tock.requests (verb, queue, request_id, digest, ids)
      values ('enqueue', p_queue, p_request_id, v_digest, v_ids)
      on conflict do nothing;  -- a conflict is possible only under an old snapshot, and raises 40001 there
  end if;
  return v_ids;
end $$;

-- The digest of a request must not depend on the time zone or extra_float_digits of the session. So the time
-- is written in UTC, and the delay as numeric.
create or replace function tock.enqueue_task(
  p_queue text, p_payload jsonb default null, p_delay_seconds double precision default null,
  p_run_at timestamptz default null, p_priority integer default null, p_tenant text default null,
  p_max_attempts integer default null, p_request_id text default null)
returns bigint language sql volatile as $$
  select (tock.enqueue(p_queue, pg_catalog.jsonb_build_array(pg_catalog.jsonb_strip_nulls(
    pg_catalog.jsonb_build_object('delay_seconds', p_delay_seconds::numeric,
      'run_at', (pg_catalog.to_jsonb(p_run_at at time zone 'UTC') #>> '{}') || '+00:00',
      'priority', p_priority, 'tenant', p_tenant, 'max_attempts', p_max_attempts))
    || pg_catalog.jsonb_build_object('payload', p_payload)), p_request_id))[1]
$$;

comment on function tock.enqueue_task is 'Adds one task and returns its id: enqueue() with scalar arguments.';
