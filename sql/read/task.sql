-- task() with runs that were read from the archive: "missing" is the next run that it needs. Runs that the
-- database no longer has are taken from p_archived, the runs read from the archive (empty at first).
-- "missing" names the run to read next and its files. p_scanned has the ids that were read in vain, or that
-- were waiting rows.
create or replace function tock.task_with(
  p_id bigint, p_archived tock.found_run[] default null, p_scanned bigint[] default '{}')
returns table (
  id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer,
  lost integer, created_at timestamptz, run_at timestamptz, ended_at timestamptz, payload json, result jsonb,
  error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint,
  reruns jsonb, schedule text, missing jsonb) language plpgsql
volatile as $$
#variable_conflict use_column
declare
  v_first tock.found_run := tock.run_at(p_id);
  v_run tock.found_run;
  v_next bigint;
  v_waits tock.waiting;
  v_task_id bigint;
  v_asked_at timestamptz;
  v_internal text[] := '{stage,suspended,keeps_key,wake_at}';
begin
  if v_first.id is null and pg_catalog.cardinality(p_archived) > 0 then
    v_first := tock.archived_run(p_archived, p_id, p_id);
  end if;
  v_run := v_first;
  v_next := coalesce(v_run.task_id, p_id);
  -- if the segment of its first run was dropped, the history begins with the successor of that run, or else
  -- with the run p_id
  if v_run.task_id <> p_id and tock.segment_of(tock.position_of(v_run.task_id)) is null
    and not exists (select from tock.promotions p where p.position = tock.position_of(v_run.task_id))
    and (p_archived is null
      or v_run.task_id = any (p_scanned)
      and (tock.archived_run(p_archived, v_run.task_id, v_run.task_id)).id is null
      or not exists (select from tock.files_of(v_run.task_id, v_run.task_id)))
  then
    v_next := p_id;
  end if;
  runs := '[]';
  while v_next is not null loop
    v_run := case when v_next = v_first.id then v_first else tock.run_at(v_next) end;
    -- the next run of a task is known only after all archived files that may hold it were read
    if v_run.id is null and pg_catalog.cardinality(p_archived) > 0
      and (tock.stream_of(v_next) <> 0 or v_next = any (p_scanned))
    then
      v_run := tock.archived_run(p_archived, v_next, coalesce(id, v_next));
      v_next := coalesce(v_run.id, v_next);
    end if;
    if v_run.id is null then
      -- `waiting` before `promotions`: a promotion may turn the waiting entry into a run in between. Ids can
      -- be guessed, so an id with a stream is no waiting task. It may be a run whose segment was dropped.
      select w.* into v_waits from tock.waiting w
      where w.position = tock.position_of(v_next) and tock.stream_of(v_next) = 0;
      if not found then
        if p_archived is not null and v_next <> all (p_scanned) then
          -- the archived files that may hold this run, oldest first
          missing := (
            select pg_catalog.jsonb_build_object('id', v_next::text, 'task_id', coalesce(id, v_next)::text,
              'files', pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('segment', f.segment, 'path', f.path, 'bytes', f.bytes)
                order by f.segment, f.part))
            from tock.files_of(v_next, coalesce(id, v_next)) f having count(*) > 0);
          if missing is not null then
            return next;
            return;
          end if;
        end if;
        v_next := (select p.run_id from tock.promotions p where p.position = tock.position_of(v_next)
          and (tock.stream_of(v_next) = 0 or tock.segment_of(tock.position_of(v_next)) is null));
        continue when v_next is not null;
        perform tock.refuse_foreign_ids(array[p_id], 'id');
        return;  -- unknown, or continued in a segment that was dropped
      end if;
      id := coalesce(v_waits.task_id, tock.id_at(v_waits.position, 0));
      queue := v_waits.queue; priority := v_waits.priority; options := v_waits.options - v_internal;
      ended_at := (v_waits.options ->> 'expires_at')::timestamptz;
      ended_at := case when ended_at <= pg_catalog.clock_timestamp() then ended_at end;
      state := case when ended_at is null then 'waiting' else 'expired' end;
      tenant := v_waits.tenant; attempt := v_waits.attempt; lost := v_waits.lost;
      created_at := v_waits.created_at; payload := v_waits.payload; max_attempts := v_waits.max_attempts;
      run_at := nullif(coalesce(v_waits.due_after_parents, v_waits.due_at), 'infinity');
      progress := null; note := null; result := null;
      exit;
    end if;
    id := v_run.task_id; queue := v_run.queue; priority := v_run.priority; tenant := v_run.tenant;
    attempt := v_run.attempt; lost := v_run.lost + (v_run.state = 'lost')::integer;
    created_at := v_run.created_at; payload := v_run.payload;
    max_attempts := v_run.max_attempts; result := v_run.result; options := v_run.options - v_internal;
    error := coalesce(v_run.error, case when v_run.state = 'cancelled'
      then tock.cancelled_for(v_run.options) end);
    ended_at := case when v_run.next_id is null then v_run.ended_at end; run_at := null;
    progress := case when v_run.state = 'running' then v_run.progress end;
    note := case when v_run.state = 'running' then v_run.note end;
    state := case when v_run.state in ('failed', 'lost', 'superseded') then 'dead' else v_run.state end;
    if v_run.cancel_requested then
      select o.created_at into v_asked_at from tock.run_overrides o where o.kind = 'cancelled'
        and o.stream = tock.stream_of(v_next) and o.position = tock.position_of(v_next);
    end if;
    runs := runs || pg_catalog.jsonb_build_object('id', v_next::text, 'queue', v_run.queue,
      'attempt', v_run.attempt, 'state', v_run.state, 'worker', v_run.worker, 'started_at', v_run.started_at,
      'leased_until', v_run.leased_until, 'ended_at', v_run.ended_at, 'progress', v_run.progress,
      'note', v_run.note, 'cancel_requested', v_run.cancel_requested, 'cancel_requested_at', v_asked_at,
      'result', case when pg_catalog.octet_length(v_run.result::text) <= 4096 then v_run.result
        when v_run.result is not null then '{"shortened": true}' end,
      'error', case when pg_catalog.octet_length(v_run.error::text) <= 4096 then v_run.error
        -- a thousand runs have to fit into one answer; the full error of the newest one is in the column
        -- error
        when v_run.error is not null then pg_catalog.jsonb_build_object('name', v_run.error -> 'name',
          'message', pg_catalog.left(v_run.error ->> 'message', 1000),
          'stack', pg_catalog.left(v_run.error ->> 'stack', 2000), 'shortened', true) end);
    v_next := v_run.next_id;
  end loop;
  v_task_id := id;
  if id is null or p_archived is null and ended_at < tock.visible_since(queue) then
    return;
  end if;
  max_attempts := coalesce(max_attempts, (tock.policy(queue)).max_attempts);
  rerun_of := (select r.of_id from tock.reruns r where r.id = v_task_id);
  reruns := (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', r.id::text, 'kind', r.kind,
      'reason', r.reason, 'created_at', r.created_at) order by r.number), '[]')
    from tock.reruns r where r.of_id = v_task_id);
  -- with a unique key several fires have the same task, and a fire one that was there before
  schedule := (
    select d.schedule from tock.schedule_history d where d.task_id = v_task_id
    order by d.task_id, d.number limit 1);
  return next;
end $$;

create or replace function tock.task(p_id bigint)
returns table (
  id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer,
  lost integer, created_at timestamptz, run_at timestamptz, ended_at timestamptz, payload json, result jsonb,
  error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint, reruns jsonb,
  schedule text) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query
    select t.id, t.queue, t.state, t.priority, t.tenant, t.attempt, t.max_attempts, t.lost, t.created_at,
      t.run_at, t.ended_at, t.payload, t.result, t.error, t.options, t.progress, t.note, t.runs,
      t.rerun_of, t.reruns, t.schedule
    from tock.task_with(p_id) t;
end $$;

comment on function tock.task is
  'A task by its id or the id of any of its runs: its state, and all its runs in order with queue, worker, '
  'times, progress, result and error. The schedule is that of a fire that has this task, for seven days. '
  'No row if there is none, or if it ended longer ago than the retention of its queue.';
