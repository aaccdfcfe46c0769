-- Each of the most frequent HTTP requests is one function call. Most poolers keep no prepared statements, so
-- PostgreSQL would plan a longer statement again for each request. The functions return response bodies as
-- JSON. The most frequent case skips the verb and calls what the verb would call.
create or replace function tock.http_enqueue(
  p_key text, p_queue text, p_body text, p_request_id text, p_trace jsonb default null)
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
  v_own boolean := false;
  v_body jsonb;
  v_payloads json;
  v_tasks jsonb;
  v_id bigint;
begin
  if not coalesce(tock.allows_simple(p_key, 'enqueue', p_queue), false) then
    perform tock.authorize(p_key, 'enqueue', p_queue, true);
    p_request_id := tock.own_request_id(p_key, p_request_id);
    v_own := tock.tenants_of_key(p_key) is not null;
  end if;
  if pg_catalog.strpos(p_body, '"payloads"') > 0 then
    v_payloads := p_body::json -> 'payloads';
  end if;
  if v_payloads is null then
    v_body := p_body;
  elsif p_trace is null and not v_own then
    return '{"ids":' || pg_catalog.to_json(
      tock.enqueue_payloads(p_queue, v_payloads, p_request_id)::text[]) || '}';
  else
    v_body := pg_catalog.jsonb_build_object('tasks', tock.tasks_of(v_payloads));
  end if;
  if p_trace is not null then
    v_body := tock.with_trace(v_body, p_trace);
  end if;
  -- before anything copies or writes the tasks
  if pg_catalog.pg_column_size(v_body) > 262144 then
    perform tock.refuse_large_body(p_queue, v_body, p_request_id);
  end if;
  if v_own then
    v_body := tock.own_tasks(p_key, v_body);
  end if;
  if p_request_id is null and v_body - 'payload' = '{}'
    and pg_catalog.current_setting('transaction_isolation') = 'read committed'
  then
    v_id := tock.append_one(p_queue, nullif(v_body -> 'payload', 'null')::text);
    if v_id is not null then
      return '{"ids":["' || v_id || '"]}';
    end if;
  end if;
  v_tasks := coalesce(v_body -> 'tasks', pg_catalog.jsonb_build_array(v_body - 'request_id'));
  perform tock.authorize_tasks(p_key, v_tasks, 'depends_on');
  return '{"ids":' || pg_catalog.to_json(
    tock.enqueue_any(p_queue, v_tasks, p_request_id, v_payloads)::text[]) || '}';
end $$;

comment on function tock.http_enqueue is
  'POST /v1/queues/:queue/tasks: authorize(), also for each stage of a pipeline, and enqueue() or '
  'enqueue_payloads(); returns the body of the answer. p_trace is the trace context of the request.';

-- Raises TK422 for a payload larger than its queue accepts, unless the request id was seen before. Without
-- this check, a payload of 300,000 keys took 0.5 s and 2.2 MB of WAL before it was rejected (PostgreSQL 15).
-- A repeated call gets its ids, whatever limit the queue has by now.
create or replace function tock.refuse_large_body(p_queue text, p_body jsonb, p_request_id text)
returns void language plpgsql stable as $$
declare
  v_tasks jsonb := coalesce(p_body -> 'tasks', pg_catalog.jsonb_build_array(p_body - 'request_id'));
  v_max integer := (tock.policy(p_queue)).max_payload_bytes;
begin
  if pg_catalog.jsonb_typeof(v_tasks) = 'array'
    and exists (select from pg_catalog.jsonb_array_elements(v_tasks) t (task)
      where pg_catalog.octet_length((t.task -> 'payload')::text) > v_max)
    and not exists (select from tock.requests r
      where r.queue = p_queue and r.verb = 'enqueue' and r.request_id = p_request_id)
  then
    perform tock.refuse_bad_tasks(v_tasks, v_max);
  end if;
end $$;

-- Raises TK403 if a key may not enqueue tasks with these stages or these parents, TK422 for a parent that
-- does not exist. Each route that enqueues tasks needs this check: a key that may not enqueue into a stage
-- must not reach it through another stage or a completion. A child may get the results of its parents, so a
-- key for some queues may name only parents in those queues.
create or replace function tock.authorize_tasks(p_key text, p_tasks jsonb, p_field text)
returns void language plpgsql volatile as $$
declare
  v_queues text[];
  v_bad record;
begin
  if pg_catalog.jsonb_path_exists(p_tasks, '$[*].depends_on')
    and pg_catalog.jsonb_typeof(p_tasks) = 'array'
  then
    v_queues := tock.queues_of_key(p_key);
  end if;
  if v_queues is not null then
    -- the check is that for reading a parent; an unknown id is refused, since it may belong to another queue
    -- by the time it is resolved
    select j.id, j.queue into v_bad
    from (
      select i as id, tock.queue_for_authorization(p_key, i) as queue
      from unnest(array(
        select distinct a.id::bigint from pg_catalog.jsonb_array_elements(p_tasks) t (task)
        cross join lateral pg_catalog.jsonb_array_elements_text(t.task -> 'depends_on') a (id)
        where pg_catalog.jsonb_typeof(t.task -> 'depends_on') = 'array' and tock.is_id(a.id))) i
      offset 0) j
    where (j.queue = any (v_queues)) is not true limit 1;
    if v_bad.id is not null and v_bad.queue is null then
      perform tock.refuse(422, pg_catalog.format('task %s does not exist, or its history is gone', v_bad.id),
        p_field);
    elsif v_bad.id is not null then
      perform tock.refuse(403, pg_catalog.format('this key is not for the queue of task %s', v_bad.id),
        p_field, 'use another key; this one is for: ' || pg_catalog.array_to_string(v_queues, ', '));
    end if;
  end if;
  perform tock.authorize(p_key, 'enqueue', s.stage #>> '{}', true)
  from (select distinct stage from pg_catalog.jsonb_path_query(p_tasks, '$[*].pipeline[*]') stage) s;
end $$;
