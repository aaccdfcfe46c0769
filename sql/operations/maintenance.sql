-- A call is bounded by limits and guarded by a try-lock. If the job fails or is cancelled, its work is rolled
-- back, but the record of the failure stays.
create or replace function tock.run_maintenance(p_job text, p_seconds integer default 5)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '1s' as $$
declare
  v_started timestamptz := pg_catalog.clock_timestamp();
  v_known boolean := exists (select from tock.maintenance_jobs d where d.name = p_job);
  v_done integer;
  v_amount integer := 0;
  v_writers text[] := '{}';
begin
  if not v_known then
    perform tock.refuse(422, 'there is no maintenance job ' || coalesce(p_job, 'null'), 'maintenance_job',
      'maintenance jobs: ' || (select pg_catalog.string_agg(d.name, ', ' order by d.name)
        from tock.maintenance_jobs d));
  end if;
  perform tock.cancel_overdue();
  -- Another transaction may hold the row of the job for long, because it has called reap() itself or changes
  -- the interval. This call could then record nothing, and a claim may be waiting for it, so it gives up.
  if not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), tock.named_key('maintenance_job', p_job))
    or (select d.name from tock.maintenance_jobs d where d.name = p_job for update skip locked) is null
  then
    return null;
  end if;
  if p_job = 'promote' then
    v_writers := tock.writers_of('tock.waiting', interval '9 s');
  end if;
  loop
    if p_job = 'promote' then
      v_done := tock.promote(case p_seconds when 0 then 1000 else 10000 end, true);
    elsif p_job = 'fire_schedules' then
      v_done := tock.run_fire_schedules();
    else
      -- a job has the name of its function
      execute pg_catalog.format('select tock.%I()', p_job) into v_done;
    end if;
    v_amount := v_amount + v_done;
    -- With pg_cron 1.4 a job runs once a minute, so one batch would be too little. But the work is invisible
    -- until the end, and a claim must not wait for more than one batch.
    exit when v_done = 0 or p_job not in ('verify_segments', 'reap_pools', 'promote', 'reap',
      'fire_schedules', 'prune')
      or pg_catalog.clock_timestamp() >= v_started + p_seconds * interval '1 second';
  end loop;
  update tock.maintenance_jobs d set
    reached_at = case p_job when 'promote' then v_started else d.reached_at end,
    -- if the sweep was cut short, store a writer that does not exist: sweep_may_be_late() then says that it
    -- has ended
    writers = case when p_job = 'fire_schedules' then d.writers
      else v_writers || case when p_job = 'promote' and v_done > 0 then array['cut short'] end end,
    -- if the time was too short to prune everything, the next tick continues
    last_started_at = case when p_job <> 'prune' or v_done = 0 then v_started end,
    last_ok_at = pg_catalog.clock_timestamp(), last_amount = v_amount,
    last_seconds = extract(epoch from pg_catalog.clock_timestamp() - v_started),
    last_error = null, failures = 0
  where d.name = p_job;
  return v_amount;
exception
  when others or query_canceled then
    -- or the claim itself was cancelled
    if not v_known or (sqlstate = '57014' and p_seconds = 0 and not tock.is_out_of_time()) then
      raise;
    end if;
    update tock.maintenance_jobs d set
      last_started_at = v_started,
        last_seconds = extract(epoch from pg_catalog.clock_timestamp() - v_started),
      last_error = pg_catalog.concat(sqlstate, ' ', sqlerrm), failures = d.failures + 1
    where d.name = p_job;
    if p_job = 'run_bulk_changes' then
      perform tock.bulk_page_failed(null, sqlstate, sqlerrm);
    end if;
    return null;
end $$;

comment on function tock.run_maintenance is
  'Runs one maintenance job now, in batches for up to p_seconds (0: one batch), and records the outcome in '
  'tock.maintenance_jobs. Returns the amount of work, null if it failed or is running in another session.';

-- Cancels calls of tick() and run_maintenance() by this role that have run longer than p_seconds; returns the
-- number. statement_timeout has no effect in pg_cron's background workers, and a function can set it only for
-- the next statement. The jobs therefore supervise each other.
create or replace function tock.cancel_overdue(p_seconds integer default 60)
returns integer language sql volatile as $$
  select count(pg_catalog.pg_cancel_backend(o.pid))::integer
  from (
    select distinct a.pid
    from tock.maintenance_jobs d
    join pg_catalog.pg_locks l on l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace
      and l.objid::bigint = tock.named_key('maintenance_job', d.name)
      and l.database = (select b.oid from pg_catalog.pg_database b
        where b.datname = pg_catalog.current_database())
    join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where a.state = 'active' and a.pid <> pg_catalog.pg_backend_pid() and a.usename = current_user
      and a.query ~ 'tock\.(tick|run_maintenance)\('
      and a.query_start < pg_catalog.clock_timestamp() - p_seconds * interval '1 second') o
$$;

-- True if a transaction that was writing to tock.waiting at its last sweep has ended since.
create or replace function tock.sweep_may_be_late(p_writers text[])
returns boolean language plpgsql volatile as $$
begin
  return p_writers <> '{}' and not p_writers <@ tock.writers_of('tock.waiting');
end $$;

create or replace function tock.prune(p_limit integer default 10000)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_count integer;
  v_details integer := 0;
  v_oldest bigint := (select e.first_position from tock.segments e order by e.number limit 1);
begin
  if p_limit < 0 then
    perform tock.refuse(422, 'p_limit must not be negative', 'p_limit');
  end if;
  with reruns as (
    -- except reruns whose tasks are in the archive
    delete from tock.reruns r where r.id = any (array(
      select o.id from tock.reruns o
      where o.id < tock.id_at(v_oldest, 0) and not tock.is_archiving()
        and not exists (select from tock.archives)
      order by o.id limit p_limit))
    returning r.id
  ), moves as (
    delete from tock.moves m where m.id = any (array(
      select o.id from tock.moves o where o.id < tock.id_at(v_oldest, 0) order by o.id limit p_limit))
    returning m.id
  ), children as (
    -- a parent with such an id may still wait, or have runs in later segments
    delete from tock.children c where c.ctid = any (array(
      select o.ctid from tock.children o
      where o.parent < tock.id_at(v_oldest, 0)
        and (select w.position from tock.waiting w where w.position = tock.position_of(o.parent)) is null
        and (select p.position from tock.promotions p where p.position = tock.position_of(o.parent)) is null
      order by o.parent, o.child limit p_limit))
    returning c.child
  ), requests as (
    delete from tock.requests r where r.ctid = any (array(
      select o.ctid from tock.requests o
      where o.created_at < pg_catalog.now() - interval '24 hours' order by o.created_at limit p_limit))
    returning 1::bigint
  ), fires as (
    delete from tock.schedule_history d where d.number = any (array(
      select o.number from (select f.number, f.fired_at from tock.schedule_history f order by f.number
        limit p_limit) o
      where o.fired_at < pg_catalog.now() - interval '7 days'))
    returning d.number
  ), changes as (
    delete from tock.bulk_changes b where b.id = any (array(
      select o.id from (select c.id, c.ended_at from tock.bulk_changes c order by c.id limit p_limit) o
      where o.ended_at < pg_catalog.now() - interval '30 days'))
  ), entries as (
    delete from tock.audit_log a where a.number = any (array(
      select o.number from (select n.number, n.at from tock.audit_log n order by n.number limit p_limit) o
      where o.at < pg_catalog.now() - interval '1 year'))
    returning a.number
  )
  select count(*) into v_count from (
    select * from reruns union all select * from moves union all select * from children
    union all select * from requests union all select * from fires union all select * from entries) x;
  if pg_catalog.to_regclass('cron.job_run_details') is not null then
    delete from cron.job_run_details where runid in (
      select d.runid from cron.job_run_details d
      where d.command like '%tock.%' and d.username = current_user and d.end_time < now() - interval '1 day'
      order by d.runid limit p_limit);
    get diagnostics v_details = row_count;
  end if;
  perform tock.prune_worker_leases(least(p_limit, 1000));
  delete from tock.reports r where r.reported_at < pg_catalog.now() - interval '90 days'
    and not r.detail ? 'identity';
  return v_count + v_details + tock.prune_unique_keys(p_limit) + tock.prune_concurrency_keys(p_limit)
    + tock.prune_events(p_limit);
end $$;

comment on function tock.prune is
  'Deletes expired rows, up to p_limit of each kind. After a day: request ids and run details of pg_cron '
  'about jobs of Tock. After two days without claim_for_worker(): workers (at most 1,000). After seven '
  'days: the history of schedules. After 30 days: ended bulk changes. After a year: audit log entries. Also '
  'unused unique keys and concurrency keys, and the children of tasks whose history is gone.';
