create or replace function tock.extend(p_lease uuid, p_seconds integer default null, p_progress jsonb default null)
returns table (leased_until timestamptz, runs integer, cancel bigint[], refused bigint[])
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
  v_epoch integer := tock.lease_epoch(p_lease);
  v_told boolean := p_progress <> 'null';
  v_ids bigint[];
begin
  if p_seconds not between 1 and 86400 then
    perform tock.refuse(422, 'lease_seconds is a whole number from 1 to 86400', 'lease_seconds');
  elsif v_told then
    v_ids := tock.check_progress(p_progress);
  end if;
  if v_epoch is null then
    return;
  end if;
  -- one deadline for all rows of the lease, so that it is reaped whole
  execute pg_catalog.format($q$
    with extended as (
      update tock.leases_%1$s l set leased_until = greatest(l.leased_until, least($2, l.timeout_at))
      where %2$s and coalesce(l.closed_at, 'infinity') = 'infinity'
      returning l.stream, l.after_position, l.last_position, l.leased_until, l.runs)
    select min(e.leased_until), sum(e.runs)::integer, array(
      select coalesce(r.task_id, r.position << 20 | r.stream)
      from extended x
      cross join lateral (
        select m.* from tock.marks_%1$s m
        where m.stream = x.stream and m.position > x.after_position and m.position <= x.last_position
          and m.kind = 'cancelled' offset 0) m
      join tock.runs_%1$s r on r.stream = m.stream and r.position = m.position
      where (select c.position from tock.results_%1$s c where c.stream = m.stream and c.position = m.position) is null
        and (select m.position = any (l.skips) from tock.leases_%1$s l
             where l.stream = x.stream and l.after_position = x.after_position) is not true
      order by 1)
    from extended e having count(*) > 0$q$, v_epoch, tock.lease_condition(v_epoch, tock.is_of_one(p_lease)))
    into leased_until, runs, cancel
    using p_lease, pg_catalog.clock_timestamp() + interval '1 second'
      * coalesce(p_seconds, (tock.policy(tock.queue_of_lease(p_lease))).lease_seconds);
  if leased_until is null then
    return;
  end if;
  refused := '{}';
  if v_told then
    refused := tock.keep_progress(p_lease, v_epoch, v_ids, p_progress);
  end if;
  return next;
end $$;

comment on function tock.extend is
  'Moves an open lease''s deadline to p_seconds (by default the queue''s lease_seconds) from now, never back, and names the tasks that somebody wants cancelled. p_progress says how far its runs are, {progress, note} for all or [{id, progress, note}]; refused are ids that are none of its running ones. No row when the lease is no longer open.';
