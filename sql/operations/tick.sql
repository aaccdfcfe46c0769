create or replace function tock.tick()
returns timestamptz language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off as $$
declare
  v_job text;
begin
  for v_job in
    select d.name from tock.maintenance_jobs d
    -- A maintenance job that looks long and finds nothing does so less often: a twentieth of the time is
    -- enough. It rests for a minute at most, or last_ok_at would stand still for twelve minutes after one
    -- look of 36 s. Schedules see to that themselves, as whoever comes when next_wake_at() said is to find
    -- them fired
    where d.last_started_at > pg_catalog.clock_timestamp()  -- the clock was set back
      or coalesce(d.last_started_at, '-infinity') <= pg_catalog.clock_timestamp()
      - greatest(case when tock.sweep_may_be_late(d.writers) then 0 else d.every_seconds - 1 end,
          case when d.last_amount = 0 and d.name <> 'fire_schedules' then least(60, 20 * d.last_seconds) end)
          * interval '1 second'
      -- cut short: it goes on
      or (d.name = 'collect_metrics' and (select g.started_at is not null from tock.metrics_progress g))
    -- these three hold locks until the end
    order by d.name <> 'guard', d.name = 'drop_expired_segments', d.name = 'reap_pools',
      d.name = 'deactivate_streams', d.name
  loop
    perform tock.run_maintenance(v_job);
  end loop;
  return tock.next_wake_at();
end $$;

comment on function tock.tick is
  'Does every maintenance job that is due and returns next_wake_at(): what pg_cron calls, and an external '
  'wake can.';

-- What the last sweep has passed is read no more: dead entries may lie there. It was all that had been
-- committed then; what comes after is due later, or ten seconds before if its call took so long. Whoever had
-- begun earlier and was still at it then may leave something below: as soon as one of them has ended, it is
-- time for another sweep. Pools wake nobody: who asks for a task, or for a worker, lets go itself of those
-- that have vanished.
create or replace function tock.next_wake_at()
returns timestamptz language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off as $$
declare
  v_swept tock.maintenance_jobs := (select d from tock.maintenance_jobs d where d.name = 'promote');
  v_from timestamptz := coalesce(v_swept.reached_at - interval '10 s', '-infinity');
  v_reaped timestamptz := coalesce((select d.reached_at from tock.maintenance_jobs d
    where d.name = 'reap'), '-infinity');
  v_wake timestamptz := case when tock.sweep_may_be_late(v_swept.writers)
    then pg_catalog.clock_timestamp() else (
    select w.due_at from tock.waiting w
    where w.due_at >= v_from and w.due_at < 'infinity' order by w.due_at limit 1) end;
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
  return least(v_wake, tock.late_fires_swept_at(), tock.dead_task_events_due_at(), (
    select f.due_at from tock.schedule_next_fires f
    where f.due_at < 'infinity' and (f.due_at, f.schedule) >= (
      select m.due_at, m.schedule from tock.fires_from() m)
    order by f.due_at, f.schedule limit 1));
end $$;

comment on function tock.next_wake_at is
  'When time must next do something: the earliest waiting task, lease deadline or schedule that no sweep has '
  'passed yet, at once where a sweep may have passed one that was committed late; null '
  'when nothing is pending.';

-- What SQL enqueues with a concurrency key or a due time tells no alarm, and pg_cron 1.4 comes by the minute
-- only. Its jobs keep the database awake anyway.
create or replace function tock.tick_by()
returns timestamptz language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  select pg_catalog.clock_timestamp() + interval '5 seconds'
  where tock.cron_version() is not null and tock.cron_interval(5) = '* * * * *'
$$;

comment on function tock.tick_by is
  'By when an alarm ticks even if nothing that it knows of is due: five seconds from now '
  'where pg_cron knows no seconds, else null.';

create or replace function tock.cron_interval(p_seconds integer)
returns text language plpgsql stable as $$
declare
  v_version integer[] := pg_catalog.string_to_array(substring(tock.cron_version() from '^\d+\.\d+'),
    '.')::integer[];
begin
  return case when v_version >= array[1, 5] and p_seconds < 60 then p_seconds || ' seconds'
    else '* * * * *' end;
end $$;

comment on function tock.cron_interval is
  'A pg_cron schedule for every p_seconds (under 60): by seconds from pg_cron 1.5 on, by minutes before.';

create or replace function tock.cron_version()
returns text language sql stable as $$
  select x.extversion from pg_catalog.pg_extension x where x.extname = 'pg_cron'
$$;

comment on function tock.cron_version is
  'The version of pg_cron in this database; null where it is not there.';
