create or replace function tock.complete(p_lease uuid, p_results jsonb default null)
returns table (completed integer, refused bigint[])
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_epoch integer := tock.token_epoch(p_lease);
  v_ids bigint[];
  v_runs tock.leased_run[];
  v_ended tock.ending[];
  v_before tock.ending[] := '{}';
  v_good bigint[];
  v_run tock.leased_run;
  v_item jsonb;
  v_result jsonb;
  v_payload jsonb;
  v_keep boolean;
  v_done integer;
  v_asks boolean;
  v_options jsonb;
  v_stages boolean;
  v_stage text;
  v_policy tock.queues;
  v_spawns boolean := false;
  v_spawn jsonb;
  v_wait boolean := false;
  v_fresh tock.leased_run[] := '{}';
  v_unchanged boolean := false;
  v_fields text[];
begin
  if p_results is not null and p_results <> 'null' then
    perform tock.check_rows(p_results, 'results', array['id', 'result', 'stage', 'spawn']);
    v_ids := tock.parse_ids(p_results, 'results');
    v_spawns := pg_catalog.jsonb_path_exists(p_results, '$[*].spawn');
    if v_spawns then
      perform tock.check_spawns(p_results);
    end if;
  end if;
  v_done := case when v_ids is null then tock.end_lease_current(p_lease, v_epoch) end;
  if v_done > 0 then
    completed := v_done;
    refused := '{}';
    return next;
    return;
  elsif v_ids is null and coalesce(v_done < 0, true) then
    v_epoch := tock.lease_epoch(p_lease);
    if v_epoch is null then
      return;
    elsif v_done = -1 then
      execute pg_catalog.format('select tock.end_lease_%s($1, $2)', v_epoch) into v_done using p_lease, v_epoch;
    end if;
  end if;

  if v_ids is null and v_done is distinct from -2 then
    if v_done is null then
      -- closed before: by this same call, which is answered the same, or by the reaper
      v_runs := tock.hold_runs(p_lease, v_epoch, null);
      select count(*) into v_done from unnest(v_runs) r where r.state = 'done'
        and not exists (select from unnest(v_runs) o where o.state = 'lost');
    end if;
    if v_done > 0 then
      completed := v_done;
      refused := '{}';
      return next;
    end if;
    return;
  end if;

  -- alone with the lease: else, of a run that another call ends meanwhile, this one would spawn all the same
  if v_spawns and tock.lease_epoch(p_lease) is not null then
    execute pg_catalog.format('select tock.lock_lease_%s($1)', v_epoch) using p_lease;
  end if;
  v_asks := tock.lease_asks(p_lease);
  v_stages := v_ids is not null and pg_catalog.jsonb_path_exists(p_results, '$[*].stage');
  loop
    completed := 0;
    v_good := '{}';
    v_ended := '{}';
    v_runs := tock.hold_runs(p_lease, v_epoch, v_ids);
    if v_asks then
      v_options := tock.options_of(v_epoch, v_runs);
    end if;
    foreach v_run in array v_runs loop
      v_item := case when v_ids is not null then p_results -> (v_run.n - 1)::integer end;
      v_result := nullif(v_item -> 'result', 'null');
      v_stage := null;
      v_payload := null;
      if v_spawns then
        v_spawn := nullif(v_item -> 'spawn', 'null');
        v_wait := coalesce((v_spawn ->> 'wait')::boolean, false);
      end if;
      if v_wait then
        -- one that waits may have been moved since
        v_stage := coalesce(tock.led_to(v_run.next_id), v_run.queue);
      elsif v_stages or v_options -> v_run.position::text ? 'pipeline' then
        v_stage := tock.next_stage(v_options -> v_run.position::text, v_run.queue, v_item,
          pg_catalog.format('results[%s].stage', v_run.n - 1));
      end if;
      if v_stage is not null and v_run.state is null and not v_wait then
        if v_policy.name is distinct from v_stage then
          v_policy := tock.stage_policy(v_stage);
        end if;
        v_payload := v_result;
        v_unchanged := v_unchanged or v_payload is null;
        perform tock.check_stage_takes(v_policy, v_payload, pg_catalog.format('results[%s].result', v_run.n - 1));
      end if;
      if v_result is not null then
        v_keep := coalesce(v_keep, not exists (select from tock.queues q where q.name = v_run.queue and not q.keep_results));
        v_result := case when v_keep then v_result end;
      end if;
      -- all that are left: those that ended before, by themselves, count as they do when a lease is closed
      continue when v_run.state is not null and case
        when v_ids is null then v_run.state <> 'done' and not tock.ended_so(v_run, true, v_stage)
        else not tock.ended_so(v_run, v_wait or coalesce(v_options -> v_run.position::text ? 'pipeline', false), v_stage)
          or not tock.spawned_so(v_run, v_spawn)
          or (v_run.result is distinct from v_result and coalesce(v_keep, true)) end;
      completed := completed + 1;
      v_good := v_good || v_run.n;
      if v_run.state is null then
        v_ended := v_ended || row(v_run.stream, v_run.position, 'done', v_result, null,
          case when v_wait then 'infinity' when v_stage is not null then '-infinity'::timestamptz end, 1, 0,
          case when not v_wait then v_stage end, v_payload)::tock.ending;
        if v_spawn is not null then
          v_fresh := v_fresh || v_run;
        end if;
      end if;
    end loop;
    if v_spawns then
      perform tock.refuse_twice(v_runs);
    end if;
    v_ended := tock.each_once(v_ended);
    if v_unchanged then
      v_fields := tock.unchanged_fields(v_ended, v_runs, v_ids is null);
    end if;
    -- the same call, made again before it was answered, may have ended some meanwhile: look again
    exit when tock.end_runs(v_epoch, v_ended, v_fields) = pg_catalog.cardinality(v_ended);
    v_before := v_before || v_ended;
  end loop;
  if v_fresh <> '{}' then
    perform tock.spawn_all(v_epoch, v_fresh, p_results);
  end if;
  if v_ids is null and pg_catalog.cardinality(v_before || v_ended) = 0 then
    -- as of a lease that was closed before: nothing is the caller's when the reaper had some
    return query select completed, '{}'::bigint[]
    where completed > 0 and not exists (select from unnest(v_runs) o where o.state = 'lost');
  elsif completed > 0 then
    perform tock.close_lease(p_lease, v_epoch);
    if v_asks then
      perform tock.leave_gates_at(v_epoch, v_before || v_ended);
    end if;
    refused := '{}';
    if completed < pg_catalog.cardinality(v_ids) then
      refused := array(select l.id from tock.ids_left(v_ids, v_good) l order by l.n);
    end if;
    return next;
  elsif v_ids is not null and tock.is_open(p_lease, v_epoch) then
    return query select 0, v_ids;
  end if;
end $$;

comment on function tock.complete is
  'Ends runs of a lease as done: all that are left, or those in results ([{id, result, stage, spawn}]); a queue without keep_results keeps no result. A task with a pipeline goes on in its next stage, or the one named (null: it ends), the result being its payload. spawn ({queue, tasks, wait, on_failure}) enqueues tasks; with wait the task goes on when those have ended, with their results. Returns how many are done by this call (or the same call before) and the ids that were not this lease''s to complete; no row when the lease is over.';
