create or replace function tock.release(p_lease uuid, p_ids bigint[] default null)
returns table (released integer, refused bigint[])
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
    v_runs := tock.hold_runs(p_lease, v_epoch, v_ids);
    if tock.lease_asks(p_lease) then
      v_options := tock.options_of(v_epoch, v_runs);
    end if;
    foreach v_run in array v_runs loop
      -- one that was wanted cancelled is cancelled by the reaper too, which says why
      continue when v_run.state not in ('superseded', 'cancelled') or v_run.error is not null;
      released := released + 1;
      v_good := v_good || v_run.id;
      if v_run.state is null then
        v_ended := v_ended || row(v_run.stream, v_run.position, 'superseded', null, null,
          tock.back_at(v_run.queue, v_options -> v_run.position::text), v_run.attempt, v_run.lost, null,
          null)::tock.ending;
      end if;
    end loop;
    if released = 0 then
      return query select 0, v_ids where p_ids is not null and tock.is_open(p_lease, v_epoch);
      return;
    end if;
    if p_ids is not null then
      v_ended := tock.each_once(v_ended);
    end if;
    -- the same call, made again before it was answered, may have ended some meanwhile: look again
    exit when tock.end_runs(v_epoch, v_ended) = pg_catalog.cardinality(v_ended);
    v_before := v_before || v_ended;
  end loop;
  perform tock.close_lease(p_lease, v_epoch);
  if v_options is not null then
    perform tock.leave_gates_at(v_epoch, v_before || v_ended);
  end if;
  refused := '{}';
  if released < pg_catalog.cardinality(v_ids) then
    refused := array(select unnest(v_ids) except select unnest(v_good) order by 1);
  end if;
  return next;
end $$;

comment on function tock.release is
  'Gives runs of a lease back unharmed (all that are left, or those named): they are ready again at once, at the end of their stream, and it counts as no attempt. Ids that were not this lease''s to release are refused; no row when it is over.';

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

create or replace function tock.queue_of_lease(p_lease uuid)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_epoch integer := tock.lease_epoch(p_lease);
  v_queue text;
begin
  if v_epoch is not null then
    execute pg_catalog.format('select s.queue from tock.streams s where s.number = '
      '(select l.stream from tock.leases_%s l where %s limit 1)', v_epoch,
      tock.lease_condition(v_epoch, tock.is_of_one(p_lease))) into v_queue using p_lease;
  end if;
  return v_queue;
end $$;

comment on function tock.queue_of_lease is 'The queue that a lease was claimed from; null when there is no such lease.';
