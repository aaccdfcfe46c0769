-- Raises TK422 unless p_steps is an array of steps as save_steps() takes them.
create or replace function tock.check_steps(p_steps jsonb)
returns void language plpgsql stable as $$
declare
  v_step jsonb;
  v_place text;
  v_field text;
begin
  perform tock.check_rows(coalesce(p_steps, 'null'), 'steps', array[
    'id', 'name', 'result', 'error', 'retry_in_seconds', 'sleep_seconds', 'sleep_until', 'event',
    'timeout_seconds', 'keep_concurrency_key']);
  if pg_catalog.jsonb_array_length(p_steps) > 1000 then
    perform tock.refuse(422, 'steps must be an array of 1 to 1,000 objects', 'steps');
  end if;
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_steps) - 1 loop
    v_step := p_steps -> v_n;
    v_place := pg_catalog.format('steps[%s]', v_n);
    if not coalesce(tock.is_id(v_step ->> 'id'), false) then
      perform tock.refuse(422, 'an id is a whole number, as enqueue and claim return it', v_place || '.id');
    elsif (select count(*) from pg_catalog.jsonb_object_keys(v_step) k
      where k in ('result', 'error', 'sleep_seconds', 'sleep_until', 'event')) <> 1
    then
      perform tock.refuse(422, 'give one of result, error, sleep_seconds, sleep_until and event', v_place);
    end if;
    foreach v_field in array array['name', 'event'] loop
      if v_step ? v_field and pg_catalog.jsonb_typeof(v_step -> v_field) is distinct from 'string'
        or coalesce(pg_catalog.length(v_step ->> v_field) not between 1 and 200, v_field = 'name')
      then
        perform tock.refuse(422, v_field || ' must be a string of 1 to 200 characters',
          v_place || '.' || v_field);
      end if;
    end loop;
    foreach v_field in array array['retry_in_seconds', 'sleep_seconds', 'timeout_seconds'] loop
      if v_step ? v_field and (case when pg_catalog.jsonb_typeof(v_step -> v_field) = 'number'
        then (v_step ->> v_field)::numeric not between 0 and 315360000 else true end)
      then
        perform tock.refuse(422, v_field || ' must be a number from 0 to 315360000',
          v_place || '.' || v_field);
      end if;
    end loop;
    if v_step ? 'sleep_until' and not coalesce(tock.is_instant(v_step ->> 'sleep_until'), false) then
      perform tock.refuse(422,
        'sleep_until must be an ISO 8601 instant with its zone, like 2030-01-31T09:00:00Z',
        v_place || '.sleep_until');
    elsif v_step ? 'keep_concurrency_key'
      and pg_catalog.jsonb_typeof(v_step -> 'keep_concurrency_key') <> 'boolean'
    then
      perform tock.refuse(422, 'keep_concurrency_key must be true or false',
        v_place || '.keep_concurrency_key');
    elsif v_step ? 'retry_in_seconds' and not v_step ? 'error' then
      perform tock.refuse(422, 'retry_in_seconds belongs to an error', v_place || '.retry_in_seconds');
    elsif v_step ? 'timeout_seconds' and not v_step ? 'event' then
      perform tock.refuse(422, 'timeout_seconds belongs to an event', v_place || '.timeout_seconds');
    end if;
  end loop;
end $$;
