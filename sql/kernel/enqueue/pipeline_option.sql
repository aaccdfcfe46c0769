-- The error in the pipeline of a task: {field, message}, or null. A stage is a queue: its workers do the work
-- of the stage, and its policy applies.
create or replace function tock.pipeline_error(p_pipeline jsonb, p_options jsonb)
returns text[] language plpgsql immutable as $$
declare
  v_stage record;
begin
  if (case when pg_catalog.jsonb_typeof(p_pipeline) = 'array'
    then pg_catalog.jsonb_array_length(p_pipeline) not between 2 and 20
    else true end)
  then
    return array['pipeline', 'pipeline must be an array of 2 to 20 queues, the stages of a task in order'];
  end if;
  for v_stage in
    select s.n, pg_catalog.jsonb_typeof(s.stage) as type, s.stage #>> '{}' as name,
      row_number() over (partition by s.stage order by s.n) as times
    from pg_catalog.jsonb_array_elements(p_pipeline) with ordinality s (stage, n) order by s.n
  loop
    if v_stage.type <> 'string' or v_stage.name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
      return array[pg_catalog.format('pipeline[%s]', v_stage.n - 1),
        'a stage must be a queue name of 1 to 100 letters, digits and _ . : -, first a letter or digit'];
    elsif v_stage.times > 1 then
      return array[pg_catalog.format('pipeline[%s]', v_stage.n - 1),
        'this stage is named twice; a worker can send a task back to an earlier stage by its name'];
    end if;
  end loop;
  return case when p_options ->> 'on_conflict' = 'rerun'
    then array['pipeline',
      'on_conflict rerun applies to one queue only: leave out the pipeline'] end;
end $$;
