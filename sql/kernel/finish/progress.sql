-- The ids of [{id, progress, note}], null for one object for all; TK422 names an invalid field.
create or replace function tock.check_progress(p_progress jsonb)
returns bigint[] language plpgsql immutable as $$
declare
  v_all boolean := pg_catalog.jsonb_typeof(p_progress) = 'object';
  v_rows jsonb := case when v_all then pg_catalog.jsonb_build_array(p_progress) else p_progress end;
  v_allowed text[] := case when v_all then array['progress', 'note'] else array['id', 'progress', 'note'] end;
  v_row jsonb;
  v_place text;
begin
  if pg_catalog.jsonb_typeof(v_rows) <> 'array'
    or pg_catalog.jsonb_array_length(v_rows) not between 1 and 10000
  then
    perform tock.refuse(422,
      'progress must be an object with progress and note, or an array of 1 to 10,000 objects with id, '
      'progress and note',
      'progress');
  end if;
  for v_n in 0 .. pg_catalog.jsonb_array_length(v_rows) - 1 loop
    v_row := v_rows -> v_n;
    v_place := case when v_all then 'progress' else pg_catalog.format('progress[%s]', v_n) end;
    if (case when pg_catalog.jsonb_typeof(v_row) = 'object' then v_row - v_allowed <> '{}' else true end) then
      perform tock.refuse(422,
        pg_catalog.format('%s must be an object with these fields and no others: %s', v_place,
          pg_catalog.array_to_string(v_allowed, ', ')),
        v_place);
    end if;
    v_row := pg_catalog.jsonb_strip_nulls(v_row);
    if not v_row ?| array['progress', 'note'] then
      perform tock.refuse(422, 'give progress, a note or both', v_place);
    elsif v_row ? 'progress' and (case when pg_catalog.jsonb_typeof(v_row -> 'progress') = 'number'
      then (v_row ->> 'progress')::numeric not between 0 and 100 else true end)
    then
      perform tock.refuse(422, 'progress must be a number from 0 to 100', v_place || '.progress');
    elsif v_row ? 'note' and (case when pg_catalog.jsonb_typeof(v_row -> 'note') = 'string'
      then pg_catalog.length(v_row ->> 'note') > 500 else true end)
    then
      perform tock.refuse(422, 'note must be a string of up to 500 characters', v_place || '.note');
    end if;
  end loop;
  return case when not v_all then tock.parse_ids(v_rows, 'progress') end;
end $$;
