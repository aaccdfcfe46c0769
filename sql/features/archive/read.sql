-- A run among those read from the archive, by its own id or the id of the waiting row that became it; null if
-- it is not among them. The archive has no waiting tasks, so the id of a waiting task means the next run of
-- its task.
create or replace function tock.archived_run(p_archived tock.found_run[], p_id bigint, p_task_id bigint)
returns tock.found_run language plpgsql stable as $$
declare
  v_run tock.found_run;
begin
  select a.* into v_run from unnest(p_archived) a
  where case when tock.stream_of(p_id) = 0 then a.task_id = p_task_id and a.id > p_id else a.id = p_id end
  order by a.id limit 1;
  -- the task may have been erased since the file was written, or even since it was read
  if exists (select from tock.archive_erasures e where e.task_id = v_run.task_id) then
    v_run.payload := null;
    v_run.result := null;
    v_run.error := null;
    v_run.note := null;
    v_run.options := tock.without_secrets(v_run.options);
  end if;
  return v_run;
end $$;

-- The options of a run without what an erasure removes.
create or replace function tock.without_secrets(p_options jsonb)
returns jsonb language sql immutable as $$
  select p_options - '{unique_key,concurrency_key,names,headers,push_url}'::text[]
$$;

-- The inverse of micros().
create or replace function tock.from_micros(p_micros bigint)
returns timestamptz language sql immutable as $$
  select '1970-01-01 00:00:00+00'::timestamptz + p_micros * interval '1 microsecond'
$$;

-- Rows of the archive as runs. The rows are as the Worker reads them: texts, with the names of
-- functions/archive/columns.ts.
create or replace function tock.archived_runs(p_rows jsonb)
returns tock.found_run[] language sql stable as $$
  select coalesce(array(
    select row(u.id, u.task_id, u.queue, u.priority, u.tenant, u.attempt, u.max_attempts, u.lost,
      tock.from_micros(u.created_at), u.payload::json, u.state, u.worker, tock.from_micros(u.started_at),
      tock.from_micros(u.ended_at), u.result::jsonb,
      u.error::jsonb, u.next_id, u.cancel_requested, u.options::jsonb, tock.from_micros(u.leased_until),
      u.progress, u.note)::tock.found_run
    from pg_catalog.jsonb_to_recordset(p_rows) u (
      id bigint, task_id bigint, next_id bigint, queue text, state text, priority smallint, tenant text,
      attempt smallint, max_attempts smallint, lost smallint, created_at bigint, started_at bigint,
      leased_until bigint, ended_at bigint, worker text, payload text, result text, error text, options text,
      progress real, note text, cancel_requested boolean)), '{}')
$$;
