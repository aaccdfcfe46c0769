-- A run and its state by its id; null if there is none.
create or replace function tock.run_at(p_id bigint)
returns tock.found_run language plpgsql volatile as $$
declare
  v_segment integer := tock.segment_of(tock.position_of(p_id));
  v_run tock.found_run;
begin
  if v_segment is null or tock.stream_of(p_id) = 0 then
    return null;
  end if;
  execute pg_catalog.format('select r.* from tock.run_at_%s($1) r', v_segment) into v_run using p_id;
  return v_run;
end $$;

-- The error of a task that was cancelled because of a parent; null for other tasks.
create or replace function tock.cancelled_for(p_options jsonb)
returns jsonb language sql immutable as $$
  select pg_catalog.jsonb_build_object('name', case p_options -> 'cancelled_for' ->> 'state'
    when 'waiting for it' then 'WaitsForItself'
    else 'ParentFailed' end, 'message',
    pg_catalog.format('%s is %s',
      coalesce('task ' || (p_options -> 'cancelled_for' ->> 'id') || ', which this task depends on,',
        'a task that this task depends on'),
      p_options -> 'cancelled_for' ->> 'state'))
  where p_options ? 'cancelled_for'
$$;
