create or replace function tock.is_plain_one(p_tasks jsonb)
returns boolean language sql immutable as $$
  select case when pg_catalog.jsonb_typeof(p_tasks) <> 'array' then false
    when pg_catalog.jsonb_array_length(p_tasks) <> 1 then false
    when pg_catalog.jsonb_typeof(p_tasks -> 0) <> 'object' then false
    else (p_tasks -> 0) - 'payload' = '{}' end
$$;

comment on function tock.is_plain_one is 'True if p_tasks is one task with only a payload.';

create or replace function tock.are_plain(p_tasks jsonb)
returns boolean language plpgsql immutable as $$
begin
  return not exists (
    select from pg_catalog.jsonb_array_elements(p_tasks) t (task)
    where case when pg_catalog.jsonb_typeof(t.task) = 'object' then t.task - 'payload' <> '{}' else true end);
end $$;

comment on function tock.are_plain is 'True if each task has only a payload.';
