-- complete() for a lease whose runs are ended one by one: all that are left (p_results null), or the named
-- ones.
create or replace function tock.complete_runs(p_lease uuid, p_results jsonb)
returns table (completed integer, refused bigint[]) language plpgsql volatile as $$
declare
  v_segment integer := tock.token_segment(p_lease);
  v_has_options boolean := tock.lease_has_options(p_lease);
  v_exclusive boolean := false;
  v_ids bigint[];
  v_runs tock.leased_run[];
  v_now tock.completion;
  v_ended tock.ending[] := '{}';
begin
  if p_results is not null then
    perform tock.check_rows(p_results, 'results', array['id', 'result', 'stage', 'spawn']);
    v_ids := tock.parse_ids(p_results, 'results');
    v_exclusive := tock.before_complete(p_results);
  end if;
  loop
    v_runs := tock.lock_lease_runs(p_lease, v_segment, v_ids, v_exclusive);
    v_now := tock.completion_of(v_runs, p_results, case when v_has_options
      then tock.options_of(v_segment, v_runs) end);
    -- a concurrent repetition of this call may have ended some of these runs: read them again
    exit when tock.end_runs(v_segment, v_now.ended, v_now.fields) = pg_catalog.cardinality(v_now.ended);
    v_ended := v_ended || v_now.ended;
  end loop;
  v_ended := v_ended || v_now.ended;
  completed := pg_catalog.cardinality(v_now.good);
  if v_now.spawning <> '{}' then
    perform tock.after_complete(v_segment, v_now.spawning, p_results);
  end if;
  if v_ids is null and v_ended = '{}' then
    -- the same answer as for a lease that was closed before: no row if the reaper took runs
    if completed > 0 and not exists (select from unnest(v_runs) o where o.state = 'lost') then
      refused := '{}';
      return next;
    end if;
  elsif completed > 0 then
    perform tock.close_lease(p_lease, v_segment);
    if v_has_options then
      perform tock.after_runs_ended(v_segment, v_ended);
    end if;
    refused := '{}';
    if completed < pg_catalog.cardinality(v_ids) then
      refused := array(select l.id from tock.unmatched_ids(v_ids, v_now.good) l order by l.n);
    end if;
    return next;
  elsif v_ids is not null and tock.is_open(p_lease, v_segment) then
    return query select 0, v_ids;
  end if;
end $$;

-- The effect of a completion on runs of a lease: those that are done by it or were before, their next runs,
-- and those that spawn tasks.
create or replace function tock.completion_of(p_runs tock.leased_run[], p_results jsonb, p_options jsonb)
returns tock.completion language plpgsql volatile as $$
declare
  v_spawns boolean := pg_catalog.jsonb_path_exists(p_results, '$[*].spawn');
  v_features boolean := v_spawns or pg_catalog.jsonb_path_exists(p_results, '$[*].stage');
  v_run tock.leased_run;
  v_item jsonb;
  v_result jsonb;
  v_pipeline boolean;
  v_next tock.continuation;
  v_keep boolean;
  v_unchanged boolean := false;
  v_now tock.completion;
begin
  v_now.good := '{}';
  v_now.ended := '{}';
  v_now.spawning := '{}';
  foreach v_run in array p_runs loop
    -- for a whole lease n is a position, which may exceed an integer
    v_item := case when p_results is not null then p_results -> (v_run.n - 1)::integer end;
    v_result := nullif(v_item -> 'result', 'null');
    v_pipeline := coalesce(p_options -> v_run.position::text ? 'pipeline', false);
    v_next := null;
    -- plain runs need no hook
    if v_features or v_pipeline then
      v_next := tock.on_completing(v_run, v_item, p_options -> v_run.position::text);
      v_unchanged := v_unchanged or coalesce(v_next.unchanged, false);
    end if;
    if v_result is not null then
      v_keep := coalesce(v_keep,
        not exists (select from tock.queues q where q.name = v_run.queue and not q.keep_results));
      v_result := case when v_keep then v_result end;
    end if;
    -- completing all remaining runs also counts those that ended separately before, as closing a lease does
    continue when v_run.state is not null and case
      when p_results is null then v_run.state <> 'done' and not tock.was_ended_so(v_run, true, v_next.queue)
      else not tock.was_completed_so(v_run, v_item, v_next, v_pipeline)
        or (v_run.result is distinct from v_result and coalesce(v_keep, true)) end;
    v_now.good := v_now.good || v_run.n;
    continue when v_run.state is not null;
    v_now.ended := v_now.ended || row(v_run.stream, v_run.position, 'done', v_result, null,
      case when v_next.waits then 'infinity' when v_next.queue is not null
        then '-infinity'::timestamptz end, 1, 0,
      case when not v_next.waits then v_next.queue end, v_next.payload)::tock.ending;
    if nullif(v_item -> 'spawn', 'null') is not null then
      v_now.spawning := v_now.spawning || v_run;
    end if;
  end loop;
  if v_spawns then
    -- only the first outcome of a run is stored, so the tasks that the second one spawns would be lost
    perform tock.refuse(422, 'this run is named twice, by its own id and by the id of its task',
      pg_catalog.format('results[%s].id', max(r.n) - 1))
    from unnest(p_runs) r group by r.stream, r.position having count(*) > 1 order by max(r.n) limit 1;
  end if;
  v_now.ended := tock.dedupe_outcomes(v_now.ended);
  if v_unchanged then
    v_now.fields := tock.unchanged_fields(v_now.ended, p_runs, p_results is null);
  end if;
  return v_now;
end $$;
