-- Raises TK422 unless p_steps is an array of steps as save_steps() takes them.
create or replace function tock.check_steps(p_steps jsonb)
returns void language plpgsql stable as $$
declare
  v_step jsonb;
  v_place text;
  v_field text;
begin
  perform tock.check_rows(coalesce(p_steps, 'null'), 'steps', array[
    'id', 'name', 'result', 'link', 'error', 'retry_in_seconds', 'sleep_seconds', 'sleep_until', 'event',
    'timeout_seconds', 'invoke', 'unused', 'keep_concurrency_key', 'version']);
  if pg_catalog.jsonb_array_length(p_steps) > 1000 then
    perform tock.refuse(422, 'steps must be an array of 1 to 1,000 objects', 'steps');
  end if;
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_steps) - 1 loop
    v_step := p_steps -> v_n;
    v_place := pg_catalog.format('steps[%s]', v_n);
    if not coalesce(tock.is_id(v_step ->> 'id'), false) then
      perform tock.refuse(422, 'an id is a whole number, as enqueue and claim return it', v_place || '.id');
    elsif (select count(*) from pg_catalog.jsonb_object_keys(v_step) k
      where k in ('result', 'link', 'error', 'sleep_seconds', 'sleep_until', 'event', 'invoke',
        'unused')) <> 1
    then
      perform tock.refuse(422,
        'give one of result, link, error, sleep_seconds, sleep_until, event, invoke and unused', v_place);
    elsif (case when pg_catalog.jsonb_typeof(v_step -> 'version') = 'number'
      then (v_step ->> 'version')::numeric not between 1 and 1000000
        or (v_step ->> 'version')::numeric % 1 <> 0
      else v_step ? 'version' end)
    then
      perform tock.refuse(422, 'version must be a whole number from 1 to 1000000', v_place || '.version');
    end if;
    foreach v_field in array array['name', 'event'] loop
      if v_step ? v_field and pg_catalog.jsonb_typeof(v_step -> v_field) is distinct from 'string'
        or coalesce(pg_catalog.length(v_step ->> v_field) not between 1 and 200, v_field = 'name')
      then
        perform tock.refuse(422, v_field || ' must be a string of 1 to 200 characters',
          v_place || '.' || v_field);
      end if;
    end loop;
    -- the most frequent step
    continue when v_step - array['id', 'name', 'version', 'result'] = '{}';
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
    elsif pg_catalog.jsonb_typeof(v_step -> 'keep_concurrency_key') <> 'boolean' then
      perform tock.refuse(422, 'keep_concurrency_key must be true or false',
        v_place || '.keep_concurrency_key');
    elsif v_step ? 'link' and (case when pg_catalog.jsonb_typeof(v_step -> 'link') = 'string'
      then pg_catalog.length(v_step ->> 'link') not between 1 and 2000 else true end)
    then
      perform tock.refuse(422, 'link must be a string of 1 to 2,000 characters', v_place || '.link');
    elsif v_step -> 'unused' <> 'true' then
      perform tock.refuse(422, 'unused must be true', v_place || '.unused');
    elsif v_step ? 'invoke' and pg_catalog.jsonb_typeof(v_step #> '{invoke,queue}') is distinct from 'string'
    then
      perform tock.refuse(422, 'invoke must be an object with a queue and a task', v_place || '.invoke');
    elsif v_step -> 'invoke' ?| '{unique_key,depends_on,name}' then
      -- such a task might be this one, or wait for it
      perform tock.refuse(422, 'a child of a step has no unique_key, depends_on or name',
        v_place || '.invoke');
    elsif v_step ? 'retry_in_seconds' and not v_step ? 'error' then
      perform tock.refuse(422, 'retry_in_seconds belongs to an error', v_place || '.retry_in_seconds');
    elsif v_step ? 'timeout_seconds' and not v_step ? 'event' then
      perform tock.refuse(422, 'timeout_seconds belongs to an event', v_place || '.timeout_seconds');
    end if;
  end loop;
end $$;
