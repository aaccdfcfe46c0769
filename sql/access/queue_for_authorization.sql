-- All runs of a task have the same tenant, and the options of each run have the stages of its task. If the
-- segment of the run was dropped, task() finds it through its successor.
create or replace function tock.rights_of_task(p_id bigint, out tenant text, out stages jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_run bigint := p_id;
  v_segment integer;
begin
  if tock.stream_of(p_id) = 0 then
    select w.tenant, coalesce(nullif(w.options -> 'pipeline', 'null'), '[]') into tenant, stages
    from tock.waiting w where w.position = tock.position_of(p_id);
    if found then
      return;
    end if;
    v_run := (select p.run_id from tock.promotions p where p.position = tock.position_of(p_id));
  end if;
  v_segment := tock.segment_of(tock.position_of(v_run));
  if v_segment is not null then
    execute pg_catalog.format($q$
      select r.tenant, coalesce(nullif(r.options -> 'pipeline', 'null'), '[]')
      from tock.runs_%s r where r.stream = $1 and r.position = $2$q$, v_segment)
      into tenant, stages using tock.stream_of(v_run), tock.position_of(v_run);
  end if;
  -- of a segment that exists, the run was found, or there is none
  if stages is null and (v_segment is null or tock.stream_of(v_run) = 0) then
    select t.tenant, coalesce(nullif(t.options -> 'pipeline', 'null'), '[]') into tenant, stages
    from tock.task(p_id) t;
  end if;
end $$;

comment on function tock.rights_of_task is
  'What a key must be for to reach a task: its tenant (null without one), and the stages of its pipeline '
  '(empty without one). Both are null if there is no such task.';

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
  v_queues text[] := tock.queues_of_key(p_key);
begin
  if v_queues is null or v_queue is null or v_queue <> all (v_queues) then
    return v_queue;
  end if;
  v_stages := (tock.rights_of_task(p_id)).stages;
  return case when v_stages is not null then coalesce((
    select s.stage from pg_catalog.jsonb_array_elements_text(v_stages) s (stage)
    where s.stage <> all (v_queues) limit 1), v_queue) end;
end $$;

comment on function tock.queue_for_authorization is
  'The queue that a key must be for to reach a task: its own, or a stage of its pipeline that the key is '
  'not for; null if there is no such task.';

create or replace function tock.visible_task(p_key text, p_id bigint)
returns bigint language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_key record;
begin
  select k.tenants, k.queues into v_key from tock.keys k
  where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
  return case when (v_key.tenants is null or (tock.rights_of_task(p_id)).tenant = any (v_key.tenants))
    and (v_key.queues is null or tock.queue_for_authorization(p_key, p_id) is not null) then p_id end;
end $$;

comment on function tock.visible_task is
  'This id; null if the key is for some tenants and the task is of another one, or if the key is restricted '
  'and there is no such task.';
