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
  v_ended tock.ended[];
  v_before tock.ended[] := '{}';
  v_good bigint[];
  v_run tock.leased_run;
  v_result jsonb;
  v_keep boolean;
  v_done integer;
begin
  if p_results is not null and p_results <> 'null' then
    perform tock.check_rows(p_results, 'results', array['id', 'result']);
    v_ids := tock.parse_ids(p_results, 'results');
  end if;
  v_done := case when v_ids is null then tock.end_hot(p_lease, v_epoch) end;
  if v_done > 0 then
    completed := v_done;
    refused := '{}';
    return next;
    return;
  elsif v_ids is null and coalesce(v_done < 0, true) then
    v_epoch := tock.lease_epoch(p_lease);
    if v_epoch is null then
      return;
    end if;
  end if;

  if v_ids is null then
    if v_done < 0 then
      execute tock.close_statement(v_epoch, tock.is_of_one(p_lease)) into v_done using p_lease;
      if v_done is not null then
        execute tock.done_statement(v_epoch) into v_done using p_lease;
        perform tock.lease_parents_moved(p_lease, v_epoch);
        if tock.lease_asks(p_lease) then
          perform tock.leave_gates(p_lease, v_epoch);
        end if;
      end if;
    end if;
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

  loop
    completed := 0;
    v_good := '{}';
    v_ended := '{}';
    foreach v_run in array tock.hold_runs(p_lease, v_epoch, v_ids) loop
      v_result := nullif(p_results -> (v_run.n - 1)::integer -> 'result', 'null');
      if v_result is not null then
        v_keep := coalesce(v_keep, not exists (select from tock.queues q where q.name = v_run.queue and not q.keep_results));
        v_result := case when v_keep then v_result end;
      end if;
      continue when v_run.state is not null
        and (v_run.state <> 'done' or (v_run.result is distinct from v_result and coalesce(v_keep, true)));
      completed := completed + 1;
      v_good := v_good || v_run.n;
      if v_run.state is null then
        v_ended := v_ended || row(v_run.stream, v_run.position, 'done', v_result, null, null, null, null)::tock.ended;
      end if;
    end loop;
    v_ended := tock.each_once(v_ended);
    -- the same call, made again before it was answered, may have ended some meanwhile: look again
    exit when tock.end_runs(v_epoch, v_ended) = pg_catalog.cardinality(v_ended);
    v_before := v_before || v_ended;
  end loop;
  if completed > 0 then
    perform tock.close_lease(p_lease, v_epoch);
    if tock.lease_asks(p_lease) then
      perform tock.leave_gates_at(v_epoch, v_before || v_ended);
    end if;
    refused := '{}';
    if completed < pg_catalog.cardinality(v_ids) then
      refused := array(select l.id from tock.ids_left(v_ids, v_good) l order by l.n);
    end if;
    return next;
  elsif tock.is_open(p_lease, v_epoch) then
    return query select 0, v_ids;
  end if;
end $$;

comment on function tock.complete is
  'Ends runs of a lease as done: all that are left, or those in results ([{id, result}]); a queue without keep_results keeps no result. Returns how many are done by this call (or the same call before) and the ids that were not this lease''s to complete; no row when the lease is over.';
