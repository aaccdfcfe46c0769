-- A stage is a queue: whoever claims from it works on that stage, and its policy is the queue's.
create or replace function tock.pipeline_error(p_pipeline jsonb, p_options jsonb)
returns text[]
language plpgsql
immutable
as $$
declare
  v_stage record;
begin
  if (case when pg_catalog.jsonb_typeof(p_pipeline) = 'array'
    then pg_catalog.jsonb_array_length(p_pipeline) not between 2 and 20
    else true end)
  then
    return array['pipeline', 'pipeline is an array of 2 to 20 queues, a task''s stages in order'];
  end if;
  for v_stage in
    select s.n, pg_catalog.jsonb_typeof(s.stage) as type, s.stage #>> '{}' as name,
      row_number() over (partition by s.stage order by s.n) as times
    from pg_catalog.jsonb_array_elements(p_pipeline) with ordinality s (stage, n) order by s.n
  loop
    if v_stage.type <> 'string' or v_stage.name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
      return array[pg_catalog.format('pipeline[%s]', v_stage.n - 1),
        'a stage is a queue''s name: 1 to 100 letters, digits and _ . : -, starting with a letter or digit'];
    elsif v_stage.times > 1 then
      return array[pg_catalog.format('pipeline[%s]', v_stage.n - 1),
        'this stage stands twice; a task can be sent back to one by name'];
    end if;
  end loop;
  return case when p_options ->> 'on_conflict' = 'rerun'
    then array['pipeline',
      'on_conflict rerun has a concurrency key of its key''s own in one queue: leave out the pipeline'] end;
end $$;

comment on function tock.pipeline_error is
  'What is wrong with a task''s pipeline: {field, message}, or null.';

-- stage has what the task asks for itself: what its queue adds is another's in the next stage.
create or replace function tock.stages_kept(p_task jsonb, p_due_at timestamptz)
returns jsonb
language plpgsql
stable
as $$
begin
  return case when p_task ->> 'pipeline' is null then '{}' else pg_catalog.jsonb_build_object(
    'pipeline', p_task -> 'pipeline',
    'stage', pg_catalog.jsonb_build_object(
      'timeout_seconds', (p_task ->> 'timeout_seconds')::numeric::integer,
      'expires_at', coalesce((p_task ->> 'expires_at')::timestamptz,
        p_due_at + pg_catalog.round((p_task ->> 'expires_in_seconds')::numeric, 6)::float8
          * interval '1 second'))) end;
end $$;

comment on function tock.stages_kept is 'What a run keeps of a task''s pipeline.';
