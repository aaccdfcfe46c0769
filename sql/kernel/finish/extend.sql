create or replace function tock.extend(
  p_lease uuid, p_seconds integer default null, p_progress jsonb default null)
returns table (leased_until timestamptz, runs integer, cancel bigint[], refused bigint[])
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_segment integer := tock.lease_segment(p_lease);
  v_has_progress boolean := p_progress <> 'null';
  v_ids bigint[];
begin
  if p_seconds not between 1 and 86400 then
    perform tock.refuse(422, 'lease_seconds must be a whole number from 1 to 86400', 'lease_seconds');
  elsif v_has_progress then
    v_ids := tock.check_progress(p_progress);
  end if;
  if v_segment is null then
    return;
  end if;
  execute pg_catalog.format('select * from tock.extend_lease_%s($1, $2)', v_segment)
    into leased_until, runs, cancel
    using p_lease, pg_catalog.clock_timestamp() + interval '1 second'
      * coalesce(p_seconds, (tock.policy(tock.queue_of_lease(p_lease))).lease_seconds);
  if leased_until is null then
    return;
  end if;
  refused := '{}';
  if v_has_progress then
    refused := tock.record_progress(p_lease, v_segment, v_ids, p_progress);
  end if;
  return next;
end $$;

comment on function tock.extend is
  'Moves the deadline of an open lease to p_seconds from now (default: lease_seconds of the queue), never '
  'back. Returns the tasks with a cancel request. p_progress is the progress of its runs, {progress, note} '
  'for all or [{id, progress, note}]; refused are the ids that are not running in this lease. No row if the '
  'lease is closed.';
