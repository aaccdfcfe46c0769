-- A task with the trace context of the request that enqueues it, unless it has its own. A header of the task
-- takes precedence over the trace. The trace is left out if it makes the headers too large, so that tracing
-- never makes a valid task invalid.
create or replace function tock.task_with_trace(p_task jsonb, p_trace jsonb)
returns jsonb language sql immutable as $$
  select case
    when pg_catalog.jsonb_typeof(p_task) <> 'object' then p_task
    when coalesce(p_task -> 'headers', 'null') in ('null', '{}')
      then p_task || pg_catalog.jsonb_build_object('headers', p_trace)
    when pg_catalog.jsonb_typeof(p_task -> 'headers') <> 'object'
      or p_task -> 'headers' ? 'traceparent' then p_task
    when tock.headers_error(p_trace || (p_task -> 'headers')) is not null then p_task
    else pg_catalog.jsonb_set(p_task, '{headers}', p_trace || (p_task -> 'headers')) end
$$;

create or replace function tock.with_trace(p_body jsonb, p_trace jsonb)
returns jsonb language sql immutable security definer
set search_path = pg_catalog, pg_temp as $$
  select case
    when pg_catalog.jsonb_typeof(p_body -> 'tasks') = 'array'
      then pg_catalog.jsonb_set(p_body, '{tasks}', pg_catalog.to_jsonb(array(
      select tock.task_with_trace(t.task, p_trace)
      from pg_catalog.jsonb_array_elements(p_body -> 'tasks') with ordinality t (task, n) order by t.n)))
    when p_body ? 'tasks' then p_body
    else tock.task_with_trace(p_body, p_trace) end
$$;

comment on function tock.with_trace is
  'The body of POST /v1/queues/:queue/tasks with the trace context from the headers of its request.';

-- Tasks as a repeated call is compared: without the trace context, which differs for each attempt. A client
-- that traces its attempts sends another span with each attempt, and a repeated call must still be equal.
create or replace function tock.without_trace(p_tasks jsonb)
returns jsonb language sql immutable as $$
  select pg_catalog.to_jsonb(array(
    select case
      when h.own is null then t.task
      when h.own = '{}' then t.task - 'headers'
      else pg_catalog.jsonb_set(t.task, '{headers}', h.own) end
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
    cross join lateral (
      select case pg_catalog.jsonb_typeof(t.task -> 'headers')
        when 'object' then (t.task -> 'headers') - '{traceparent,tracestate,baggage}'::text[]
        when 'null' then '{}' end as own) h
    order by t.n))
$$;
