-- The options of each run have the stages of its task.
create or replace function tock.stages_of_task(p_id bigint)
returns jsonb language plpgsql stable as $$
declare
  v_id bigint := p_id;
  v_segment integer;
  v_rows integer := 0;
  v_stages jsonb;
begin
  if tock.stream_of(v_id) = 0 then
    select w.options -> 'pipeline' into v_stages from tock.waiting w
    where w.position = tock.position_of(p_id);
    if found then
      return coalesce(nullif(v_stages, 'null'), '[]');
    end if;
    v_id := (select p.run_id from tock.promotions p where p.position = tock.position_of(p_id));
  end if;
  v_segment := tock.segment_of(tock.position_of(v_id));
  if v_segment is not null then
    execute pg_catalog.format(
      'select r.options -> ''pipeline'' from tock.runs_%s r where r.stream = $1 and r.position = $2',
      v_segment) into v_stages using tock.stream_of(v_id), tock.position_of(v_id);
    get diagnostics v_rows = row_count;
  end if;
  if v_rows = 0 then
    return (select coalesce(nullif(t.options -> 'pipeline', 'null'), '[]') from tock.task(p_id) t);
  end if;
  return coalesce(nullif(v_stages, 'null'), '[]');
end $$;

comment on function tock.stages_of_task is
  'The stages of the pipeline of a task, empty without one; null if there is no such task.';

-- An id belongs to the queue of its run and leads to all other runs of the task: a change, rerun or erasure
-- may reach a later stage. A verb may see tasks that were enqueued after its key was checked, and ids can be
-- guessed. So an unknown id belongs to no queue.
create or replace function tock.queue_for_authorization(p_key text, p_id bigint)
returns text language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_queue text := tock.queue_of_task(p_id);
  v_stages jsonb;
  v_queues text[] := (select k.queues from tock.keys k
    where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8')));
begin
  if v_queues is null or v_queue is null or v_queue <> all (v_queues) then
    return v_queue;
  end if;
  v_stages := tock.stages_of_task(p_id);
  return case when v_stages is not null then coalesce((
    select s.stage from pg_catalog.jsonb_array_elements_text(v_stages) s (stage)
    where s.stage <> all (v_queues) limit 1), v_queue) end;
end $$;

comment on function tock.queue_for_authorization is
  'The queue that a key must be for to reach a task: its own, or a stage of its pipeline that the key is '
  'not for; null if there is no such task.';
