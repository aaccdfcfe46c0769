-- Raises TK422, with its field, for the first unchanged payload that is too large for the next stage. The
-- pending changes are already in p_again, so a changed payload is checked.
create or replace function tock.check_stages_take(p_again tock.next_attempt[], p_fields text[])
returns void language plpgsql stable as $$
declare
  v_next tock.next_attempt;
  v_policy tock.queues;
begin
  foreach v_next in array p_again loop
    continue when v_next.cancelled or v_next.position is null or p_fields[v_next.n] is null;
    if v_policy.name is distinct from v_next.queue then
      v_policy := tock.policy(v_next.queue);
      v_policy.name := v_next.queue;
    end if;
    if v_next.bytes > v_policy.max_payload_bytes then
      perform tock.refuse(422,
        pg_catalog.format(
          'without a result task %s keeps its payload, and queue %s accepts payloads of up to %s bytes '
          'of JSON',
        v_next.task_id, v_policy.name, v_policy.max_payload_bytes), p_fields[v_next.n],
        'complete it with a smaller result, or raise max_payload_bytes of the queue');
    end if;
  end loop;
end $$;

-- The stage in which a task with a pipeline continues after its run is done: the named one, or else the next;
-- queue null if it ends. TK422 for a stage outside its pipeline, or for a payload that is too large for it.
create or replace function tock.pipeline_continuation(p_run tock.leased_run, p_item jsonb, p_options jsonb)
returns tock.continuation language plpgsql volatile as $$
declare
  v_pipeline jsonb := p_options -> 'pipeline';
  v_stage jsonb := p_item -> 'stage';
  v_field text := pg_catalog.format('results[%s].', p_run.n - 1);
  v_next tock.continuation;
  v_policy tock.queues;
begin
  v_next.waits := false;
  v_next.queue := v_stage #>> '{}';
  if v_stage is null then
    v_next.queue := v_pipeline ->> (
      select s.n::integer from pg_catalog.jsonb_array_elements_text(v_pipeline) with ordinality s (stage, n)
      where s.stage = p_run.queue);
  elsif v_pipeline is null then
    perform tock.refuse(422, 'this task has no pipeline and therefore no stages', v_field || 'stage',
      'leave out stage');
  elsif v_stage <> 'null'
    and not (case when pg_catalog.jsonb_typeof(v_stage) = 'string' then v_pipeline ? v_next.queue
    else false end)
  then
    perform tock.refuse(422, 'stage must be in the pipeline of this task, or null to end the task here',
      v_field || 'stage', 'its stages: ' || (select pg_catalog.string_agg(s, ', ')
        from pg_catalog.jsonb_array_elements_text(v_pipeline) s));
  end if;
  if v_next.queue is not null and p_run.state is null then
    v_next.payload := nullif(p_item -> 'result', 'null');
    v_next.unchanged := v_next.payload is null;
    v_policy := tock.policy(v_next.queue);
    if v_policy.name = '*' then
      perform tock.check_queue(v_next.queue, 'pipeline', 422), tock.make_queue(v_next.queue);
    end if;
    if pg_catalog.octet_length(v_next.payload::text) > v_policy.max_payload_bytes then
      perform tock.refuse(422,
        pg_catalog.format(
          'the result becomes the payload of the next stage, and queue %s accepts payloads of up to %s bytes '
          'of JSON',
        v_next.queue, v_policy.max_payload_bytes), v_field || 'result',
        'store large data elsewhere and send its address, or raise max_payload_bytes of the queue');
    end if;
  end if;
  return v_next;
end $$;
