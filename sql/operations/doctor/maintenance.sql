-- Findings about maintenance jobs: those that fail, and those that are late, as a note if nothing waits for
-- them. With pg_cron 1.4 jobs run once a minute at best. The grace period also starts at a fresh
-- installation, and for pg_cron at a start of the server. The alarm of a suspended database ticks only when
-- something is due. If nothing has been due for two minutes, late jobs are only a note.
create or replace function tock.doctor_of_maintenance()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'a maintenance job fails', 'critical',
    pg_catalog.format('%s, %s in a row: %s', d.name, tock.some(d.failures, 'time'), d.last_error),
    pg_catalog.format('fix the reported error; select tock.run_maintenance(%L) tries again', d.name)
  from tock.maintenance_jobs d where d.failures > 0
  union all
  select 'maintenance jobs are late', case when c.runs
    or tock.next_wake_at() < pg_catalog.clock_timestamp() - interval '2 minutes'
      then 'warning' else 'note' end,
    pg_catalog.string_agg(d.name || ' (' || coalesce('last run at ' || tock.utc(d.last_ok_at), 'never run')
      || ')', ', ' order by d.name),
    case when pg_catalog.to_regclass('cron.job') is not null
        then 'check that pg_cron runs and has its jobs (tock migrate makes them): select * from cron.job'
      when tock.cron_home() <> pg_catalog.current_database()
        then pg_catalog.format(
          'pg_cron works in database %s: set cron.database_name to this one, restart, create extension '
          'pg_cron, '
          'tock migrate; or call POST /v1/tick', coalesce(nullif(tock.cron_home(), '?'), 'of another name'))
      else 'without pg_cron, call select tock.tick() or POST /v1/tick regularly' end
  from tock.maintenance_jobs d
  cross join (select pg_catalog.to_regclass('cron.job') is not null as runs) c
  where d.failures = 0
    and greatest(d.last_ok_at, (select max(m.applied_at) from tock.migrations m),
      case when c.runs then pg_catalog.pg_postmaster_start_time() end)
      < pg_catalog.clock_timestamp() - (3 * d.every_seconds + 120) * interval '1 second'
  group by c.runs
$$;

-- Findings from the reports of the last day. The guard reports 'new' when it first runs on a server, which is
-- no finding. It reports 'restored' when it first runs after a restore, a failover or a branch, where it did
-- its job.
create or replace function tock.doctor_of_reports()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select k.finding, case when bool_and(coalesce(r.detail ->> 'found' = 'restored', false)) then 'note'
      else k.severity end,
    pg_catalog.format('%s within a day, the newest: %s', tock.some(count(*), 'report'),
      (pg_catalog.array_agg(r.detail order by r.reported_at desc))[1]),
    'select * from tock.reports order by reported_at desc'
  from tock.reports r
  join (values
    ('verify_segments', 'the verification found runs that no claim leased', 'critical'),
    ('guard', 'the guard had to act', 'warning')) k (kind, finding, severity) on k.kind = r.kind
  where r.reported_at > pg_catalog.clock_timestamp() - interval '1 day'
    and coalesce(r.detail ->> 'found', '') <> 'new'
  group by k.finding, k.severity
$$;

-- A finding about schedules that fail, with the first five.
create or replace function tock.doctor_of_schedules()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'schedules fail', 'warning',
    pg_catalog.string_agg(f.schedule || ' (' || tock.some(f.failures, 'time') || ' in a row: '
      || pg_catalog.left(f.last_error, 200) || ')',
      ', ' order by f.schedule),
    'fix the reported error, or drop_schedule(); schedule_history() lists the failed fires'
  from (select n.* from tock.schedule_next_fires n where n.failures > 0 order by n.schedule limit 5) f
  having count(*) > 0
$$;
