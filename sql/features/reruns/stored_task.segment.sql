-- The stored data of a task, from a run of the segment or from tock.waiting.
create or replace function tock.stored_task_{segment}(p_current_id bigint)
returns table (
  priority smallint, tenant text, max_attempts smallint, bytes integer, payload json, options jsonb)
language sql stable as $$
  select s.priority, r.tenant, r.max_attempts, r.bytes, r.payload, r.options
  from tock.runs_{segment} r join tock.streams s on s.number = r.stream
  where tock.stream_of(p_current_id) <> 0
    and r.stream = tock.stream_of(p_current_id) and r.position = tock.position_of(p_current_id)
  union all
  select w.priority, w.tenant, w.max_attempts, w.bytes, w.payload, w.options
  from tock.waiting w where tock.stream_of(p_current_id) = 0 and w.position = tock.position_of(p_current_id)
$$;
