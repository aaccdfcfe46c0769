-- The rows of expired leases are locked with skip locked, and a later statement reads their results. So a
-- concurrent completion of some runs is either visible, or holds its row, which the next call then finds. The
-- scan starts at the deadline that the last call reached: while an old transaction is open, the index below
-- it is full of dead entries. A claim that commits after its deadline lies below that point, and a sweep
-- finds it. Sweeps run once a minute, and for at most a twentieth of the time.
create or replace function tock.reap(p_limit integer default 10000, p_sweep boolean default null)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_job tock.maintenance_jobs := (select d from tock.maintenance_jobs d where d.name = 'reap');
  v_set_back boolean := coalesce(v_job.reached_at > v_now, false);  -- the clock
  v_sweep boolean := coalesce(p_sweep, v_set_back or v_job.swept_at is null
    or v_job.swept_at < v_now - interval '1 minute');
  v_from timestamptz := case when v_sweep then '-infinity' else coalesce(v_job.reached_at, '-infinity') end;
  v_reached timestamptz := v_now;
  v_segment integer;
  v_part tock.reaped;
  v_runs integer := 0;
begin
  foreach v_segment in array tock.open_segments() loop
    execute pg_catalog.format('select r.* from tock.reap_segment_%s($1, $2, $3) r', v_segment)
      into v_part using v_from, v_now, p_limit - v_runs;
    v_runs := v_runs + v_part.runs;
    v_reached := least(v_reached, v_part.reached_at);
    exit when v_runs >= p_limit;
  end loop;
  update tock.maintenance_jobs d
  set reached_at = case when v_runs >= p_limit then d.reached_at when v_set_back then v_reached
      else greatest(d.reached_at, v_reached) end,
    swept_at = case when v_sweep and v_runs < p_limit
      then v_now + 20 * (pg_catalog.clock_timestamp() - v_now) else d.swept_at end
  where d.name = 'reap';
  return v_runs;
end $$;

comment on function tock.reap is
  'Ends the runs of expired leases, about p_limit a call: each is lost and its task ready again, or dead '
  'after max_lost. Returns the number. p_sweep reads all expired leases (default: once a minute).';
