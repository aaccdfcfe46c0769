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
  v_runs tock.leased_run[];
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
  -- The statement above has locked the rows of the lease. So no other call ends runs of it meanwhile, and the
  -- statements below see all runs that had ended.
  if v_ids is not null then
    v_runs := tock.lock_lease_runs(p_lease, v_segment, v_ids);
    insert into tock.progress (position, stream, of_all, progress, note)
    select distinct on (r.position, r.stream) r.position, r.stream, false,
      pg_catalog.round((p_progress -> (r.n - 1)::integer ->> 'progress')::numeric, 2),
      p_progress -> (r.n - 1)::integer ->> 'note'
    from unnest(v_runs) r where r.state is null
    order by r.position, r.stream, r.n
    on conflict (position, stream, of_all) do update
      set progress = excluded.progress, note = excluded.note, reported_at = excluded.reported_at;
    refused := array(
      select l.id from tock.unmatched_ids(v_ids,
        array(select r.n from unnest(v_runs) r where r.state is null)) l
      order by l.n);
  elsif v_has_progress then
    execute pg_catalog.format('select tock.record_lease_progress_%s($1, $2)', v_segment)
      using p_lease, p_progress;
  end if;
  return next;
end $$;

comment on function tock.extend is
  'Moves the deadline of an open lease to p_seconds from now (default: lease_seconds of the queue), never '
  'back. Returns the tasks with a cancel request. p_progress is the progress of its runs, {progress, note} '
  'for all or [{id, progress, note}]; refused are the ids that are not running in this lease. No row if the '
  'lease is closed.';
