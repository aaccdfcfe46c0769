create or replace function tock.complete(p_lease uuid, p_results jsonb default null)
returns table (completed integer, refused bigint[]) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_segment integer;
  v_runs tock.leased_run[];
begin
  if coalesce(p_results, 'null') <> 'null' then
    return query select c.completed, c.refused from tock.complete_runs(p_lease, p_results) c;
    return;
  end if;
  completed := tock.end_lease_current(p_lease, tock.token_segment(p_lease));
  if coalesce(completed, 0) < 1 then
    v_segment := tock.lease_segment(p_lease);
    if v_segment is null then
      return;
    elsif completed = -1 then
      execute pg_catalog.format('select tock.end_lease_%s($1, $2)', v_segment) into completed
        using p_lease, v_segment;
    end if;
    if completed is null then
      -- closed before: by the same call, which gets the same answer again, or by the reaper
      v_runs := tock.lock_lease_runs(p_lease, v_segment, null);
      completed := (select count(*) from unnest(v_runs) r where r.state = 'done'
        and not exists (select from unnest(v_runs) o where o.state = 'lost'));
    end if;
  end if;
  if completed > 0 then
    refused := '{}';
    return next;
  elsif completed = -2 then
    return query select c.completed, c.refused from tock.complete_runs(p_lease, null) c;
  end if;
end $$;

comment on function tock.complete is
  'Ends runs of a lease as done: all that are left, or those in p_results ([{id, result, stage, spawn}]). A '
  'queue without keep_results stores no result. A task with a pipeline continues in its next stage, or in '
  'the named one (null ends it), with the result as its payload. spawn ({queue, tasks, wait, on_failure}) '
  'enqueues tasks; with wait the task continues when they have ended, with their results. Returns how many '
  'runs this call (or the same call before) completed, and the ids that the lease could not complete; no '
  'row if the lease has ended.';
