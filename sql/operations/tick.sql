create or replace function tock.tick()
returns timestamptz language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_job text;
begin
  for v_job in
    select d.name from tock.maintenance_jobs d
    -- A job that searches long and finds nothing rests, so that it takes at most a twentieth of the time. It
    -- rests for at most a minute: otherwise last_ok_at would not change for twelve minutes after a search of
    -- 36 s. fire_schedules does not rest here, since a call at next_wake_at() must fire the schedules that
    -- are due.
    where d.last_started_at > pg_catalog.clock_timestamp()  -- the clock was set back
      or coalesce(d.last_started_at, '-infinity') <= pg_catalog.clock_timestamp()
      - greatest(case when tock.sweep_may_be_late(d.writers) then 0 else d.every_seconds - 1 end,
          case when d.last_amount = 0 and d.name <> 'fire_schedules' then least(60, 20 * d.last_seconds) end)
          * interval '1 second'
      -- an unfinished round continues, and so does a bulk change
      or (d.name = 'collect_metrics' and (select g.started_at is not null from tock.metrics_progress g))
      or (d.name = 'run_bulk_changes' and exists (
        select from tock.bulk_changes b
        where b.state = 'running' and b.due_at <= pg_catalog.clock_timestamp()))
    -- the last six hold their locks until the tick ends
    order by d.name <> 'guard', d.name = 'drop_expired_segments', d.name = 'run_bulk_changes',
      d.name = 'reap_pools', d.name = 'deactivate_streams', d.name = 'create_segments', d.name = 'prune',
      d.name
  loop
    perform tock.run_maintenance(v_job);
  end loop;
  return tock.next_wake_at();
end $$;

comment on function tock.tick is
  'Runs every due maintenance job and returns next_wake_at(); for pg_cron and external alarms.';

-- Waiting tasks are read only above the due time that the last sweep has passed, since dead entries may lie
-- below. The sweep saw everything committed by then. A later transaction writes a later due time, or one up
-- to ten seconds earlier if it is slow. A transaction that was active at the last sweep may leave rows below:
-- when one of them has ended, another sweep is due at once. Pools need no wake-up: a call that asks for a
-- task or a worker removes vanished workers itself.
create or replace function tock.next_wake_at()
returns timestamptz language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_swept tock.maintenance_jobs := (select d from tock.maintenance_jobs d where d.name = 'promote');
  v_from timestamptz := coalesce(v_swept.reached_at - interval '10 s', '-infinity');
  v_reaped timestamptz := coalesce((select d.reached_at from tock.maintenance_jobs d
    where d.name = 'reap' and d.reached_at <= pg_catalog.clock_timestamp()), '-infinity');
  v_wake timestamptz := case when tock.sweep_may_be_late(v_swept.writers)
    then pg_catalog.clock_timestamp() else (
    select w.due_at from tock.waiting w
    where w.lost >= 0 and w.due_at >= v_from and w.due_at < 'infinity' order by w.due_at limit 1) end;
  v_segment integer;
  v_until timestamptz;
begin
  foreach v_segment in array tock.open_segments() loop
    execute pg_catalog.format('select l.leased_until from tock.leases_%s l
      where l.closed_at is null and l.leased_until >= $1 order by l.leased_until limit 1', v_segment)
      into v_until using v_reaped;
    v_wake := least(v_wake, v_until);
  end loop;
  v_wake := least(v_wake, (
    select min(n.not_before) from tock.dependency_rechecks n
    where n.number > (select tock.rechecks_from(1000))));
  v_wake := least(v_wake, (
    select b.due_at from tock.bulk_changes b where b.state = 'running' order by b.due_at limit 1));
  return least(v_wake, tock.late_fires_swept_at(), tock.dead_task_events_due_at(), (
    select f.due_at from tock.schedule_next_fires f
    where f.due_at < 'infinity' and (f.due_at, f.schedule) >= (
      select m.due_at, m.schedule from tock.fires_from() m)
    order by f.due_at, f.schedule limit 1));
end $$;

comment on function tock.next_wake_at is
  'The next time for tick(): the earliest waiting task, lease deadline or schedule that no sweep has passed '
  'yet, or the next page of a bulk change; now if a sweep may have missed one that was committed late; null '
  'if nothing is pending.';

-- A task that SQL enqueues with a concurrency key or a due time does not wake the Alarm of the Worker, and
-- pg_cron 1.4 runs jobs only once a minute. So the Alarm then ticks every five seconds. The database would
-- not sleep anyway, because of the jobs of pg_cron.
create or replace function tock.tick_by()
returns timestamptz language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  select pg_catalog.clock_timestamp() + interval '5 seconds'
  where tock.cron_version() is not null and tock.cron_interval(5) = '* * * * *'
$$;

comment on function tock.tick_by is
  'The time by which an alarm ticks even if it knows of nothing due: five seconds from now if pg_cron has '
  'no intervals in seconds, otherwise null.';

-- A pg_cron schedule for every p_seconds (under 60): in seconds from pg_cron 1.5 on, otherwise every minute.
create or replace function tock.cron_interval(p_seconds integer)
returns text language plpgsql stable as $$
declare
  v_version integer[] := pg_catalog.string_to_array(substring(tock.cron_version() from '^\d+\.\d+'),
    '.')::integer[];
begin
  return case when v_version >= array[1, 5] and p_seconds < 60 then p_seconds || ' seconds'
    else '* * * * *' end;
end $$;

-- The version of pg_cron in this database; null without it.
create or replace function tock.cron_version()
returns text language sql stable as $$
  select x.extversion from pg_catalog.pg_extension x where x.extname = 'pg_cron'
$$;
