-- The error in the options of a task: {field, message}, or null. This function reads no rows. before_append()
-- checks what depends on other tasks and queues.
create or replace function tock.option_error(p_options jsonb)
returns text[] language plpgsql stable as $$
declare
  v_key text;
  v_value jsonb;
  v_type text;
  v_error text[];
begin
  for v_key, v_value in select o.key, o.value from pg_catalog.jsonb_each(p_options) o loop
    v_type := pg_catalog.jsonb_typeof(v_value);
    continue when v_type = 'null';
    case v_key
      when 'delay_seconds' then
        if v_type <> 'number' or v_value::numeric not between 0 and 315360000 then
          return array[v_key, 'delay_seconds must be a number from 0 to 315360000 (ten years)'];
        elsif p_options ->> 'run_at' is not null then
          return array[v_key, 'give delay_seconds or run_at, not both'];
        end if;
      when 'run_at' then
        if v_type <> 'string' or not tock.is_instant(v_value #>> '{}') then
          return array[v_key, 'run_at must be an ISO 8601 instant with its zone, like 2030-01-31T09:00:00Z'];
        elsif (v_value #>> '{}')::timestamptz > pg_catalog.clock_timestamp() + interval '10 years' then
          return array[v_key, 'run_at must be at most ten years from now'];
        end if;
      when 'priority' then
        if v_type <> 'number' or v_value::numeric not between 0 and 9 or v_value::numeric % 1 <> 0 then
          return array[v_key, 'priority must be a whole number from 0 (first) to 9'];
        end if;
      when 'tenant' then
        if v_type <> 'string' or pg_catalog.length(v_value #>> '{}') not between 1 and 200 then
          return array[v_key, 'tenant must be a string of 1 to 200 characters'];
        end if;
      when 'max_attempts' then
        if v_type <> 'number' or v_value::numeric not between 1 and 1000 or v_value::numeric % 1 <> 0 then
          return array[v_key, 'max_attempts must be a whole number from 1 to 1000'];
        end if;
      else
        v_error := tock.extended_option_error(v_key, v_value, p_options);
        if v_error is not null then
          return v_error;
        end if;
    end case;
  end loop;
  return null;
end $$;

-- Raises TK422 for a payload that is too large for its queue.
create or replace function tock.refuse_large_payload(p_max_payload_bytes integer, p_field text)
returns void language plpgsql stable as $$
begin
  perform tock.refuse(422, 'this queue accepts payloads of up to ' || p_max_payload_bytes || ' bytes of JSON',
    p_field, 'store large data elsewhere and send its address, or raise max_payload_bytes of the queue');
end $$;

-- Raises TK422 for the first payload that is too large; DETAIL is like payloads[3].
create or replace function tock.refuse_large_payloads(p_payloads json, p_max_payload_bytes integer)
returns void language plpgsql stable as $$
begin
  perform tock.refuse_large_payload(p_max_payload_bytes, pg_catalog.format('payloads[%s]', p.n - 1))
  from pg_catalog.json_array_elements(p_payloads) with ordinality p (payload, n)
  where pg_catalog.octet_length(p.payload::text) > p_max_payload_bytes order by p.n limit 1;
end $$;

-- A task for each payload, but without it: append_any() takes both.
create or replace function tock.tasks_of(p_payloads json)
returns jsonb language sql immutable as $$
  select pg_catalog.to_jsonb(pg_catalog.array_fill('{}'::jsonb,
    array[pg_catalog.json_array_length(p_payloads)]))
$$;

-- Raises TK422 for the first invalid task; DETAIL is like tasks[3].priority.
create or replace function tock.refuse_bad_tasks(p_tasks jsonb, p_max_payload_bytes integer)
returns void language plpgsql stable as $$
declare
  v_n integer;
  v_task jsonb;
  v_error text[];
begin
  select t.n, t.task into v_n, v_task
  from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)
  where case when pg_catalog.jsonb_typeof(t.task) <> 'object' then true
    else pg_catalog.octet_length((t.task -> 'payload')::text) > p_max_payload_bytes
      or case when t.task - 'payload' <> '{}'
        then tock.option_error(t.task - 'payload') is not null else false end
    end
  order by t.n limit 1;
  if not found then
    return;
  end if;
  if pg_catalog.jsonb_typeof(v_task) <> 'object' then
    v_error := array['', 'a task must be an object'];
  elsif pg_catalog.octet_length((v_task -> 'payload')::text) > p_max_payload_bytes then
    perform tock.refuse_large_payload(p_max_payload_bytes, pg_catalog.format('tasks[%s].payload', v_n - 1));
  else
    v_error := tock.option_error(v_task - 'payload');
  end if;
  perform tock.refuse(422, v_error[2],
    pg_catalog.rtrim(pg_catalog.format('tasks[%s].%s', v_n - 1, v_error[1]), '.'));
end $$;

-- Raises TK422 if tasks of one call name each other and some of them have unique keys.
create or replace function tock.refuse_named_keys(p_tasks jsonb, p_field text)
returns void language plpgsql immutable as $$
begin
  if pg_catalog.jsonb_path_exists(p_tasks, '$[*].name ? (@ != null)')
    or pg_catalog.jsonb_path_exists(p_tasks, '$[*].depends_on[*] ? (@ == "*")')
  then
    perform tock.refuse(422,
      'tasks that depend on each other in one call cannot have a unique_key, which may name another task',
      p_field, 'enqueue the tasks with a unique_key first, and put their ids into depends_on');
  end if;
end $$;
