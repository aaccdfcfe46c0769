create or replace function tock.release(p_lease uuid, p_ids bigint[] default null)
returns table (released integer, refused bigint[]) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_segment integer := tock.token_segment(p_lease);
  v_ids bigint[] := case when p_ids is not null then array(select distinct i from unnest(p_ids) i) end;
  v_good bigint[];
  v_runs tock.leased_run[];
  v_options jsonb;
  v_run tock.leased_run;
  v_ended tock.ending[];
  v_before tock.ending[] := '{}';
begin
  loop
    released := 0;
    v_good := '{}';
    v_ended := '{}';
    v_runs := tock.lock_lease_runs(p_lease, v_segment, v_ids);
    if tock.lease_has_options(p_lease) then
      v_options := tock.options_of(v_segment, v_runs);
    end if;
    foreach v_run in array v_runs loop
      -- a run that the reaper ended after a cancel request is cancelled too, but has an error
      continue when v_run.state not in ('superseded', 'cancelled') or v_run.error is not null;
      released := released + 1;
      v_good := v_good || v_ids[v_run.n];
      if v_run.state is null then
        v_ended := v_ended || row(v_run.stream, v_run.position, 'superseded', null, null,
          tock.ready_again_at(v_run.queue, v_options -> v_run.position::text), v_run.attempt,
          v_run.lost, null, null)::tock.ending;
      end if;
    end loop;
    if released = 0 then
      return query select 0, v_ids where p_ids is not null and tock.is_open(p_lease, v_segment);
      return;
    end if;
    if p_ids is not null then
      v_ended := tock.dedupe_outcomes(v_ended);
    end if;
    -- a concurrent repetition of this call may have ended some of these runs: read them again
    exit when tock.end_runs(v_segment, v_ended) = pg_catalog.cardinality(v_ended);
    v_before := v_before || v_ended;
  end loop;
  perform tock.close_lease(p_lease, v_segment);
  if v_options is not null then
    perform tock.after_runs_ended(v_segment, v_before || v_ended);
  end if;
  refused := '{}';
  if released < pg_catalog.cardinality(v_ids) then
    refused := array(select unnest(v_ids) except select unnest(v_good) order by 1);
  end if;
  return next;
end $$;

comment on function tock.release is
  'Returns runs of a lease to their queue (all that are left, or the named ones). They are ready again at '
  'once, at the end of their stream, and no attempt is counted. refused are the ids that the lease could '
  'not release; no row if the lease has ended.';
