-- The jobs that pg_cron must have, with their commands. Must match sql/cron/: otherwise the doctor reports a
-- difference in a database that was just migrated.
create or replace function tock.cron_jobs()
returns table (job text, command text) language sql immutable as $$
  values ('tock:tick', 'select tock.tick()'), ('tock:reap', 'select tock.run_maintenance(''reap'')'),
    ('tock:create_segments', 'select tock.run_maintenance(''create_segments'')'),
    ('tock:verify_segments', 'select tock.run_maintenance(''verify_segments'')'),
    ('tock:drop_expired_segments', 'select tock.run_maintenance(''drop_expired_segments'')'),
    ('tock:prune', 'select tock.run_maintenance(''prune'')')
$$;

-- The database in which pg_cron works, ? if that is hidden; null if pg_cron is not loaded. Only superusers
-- and members of pg_read_all_settings may read the setting where pg_cron is loaded. But every role sees the
-- database of its launcher, which a superuser started (role 10 is the one that initdb made).
create or replace function tock.cron_home()
returns text language plpgsql volatile as $$
begin
  return coalesce((
    select a.datname from pg_catalog.pg_stat_activity a
    where a.application_name = 'pg_cron scheduler' and a.usesysid = 10 limit 1),
    pg_catalog.current_setting('cron.database_name', true));
exception when insufficient_privilege then
  return '?';
end $$;

-- Findings about jobs of pg_cron: missing, inactive, changed, duplicate or left over. The function sees only
-- the jobs of its owner, because pg_cron hides those of other roles.
create or replace function tock.doctor_of_cron_jobs()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
begin
  if pg_catalog.to_regclass('cron.job') is null
    or not pg_catalog.has_schema_privilege('cron', 'usage')
    or not pg_catalog.has_table_privilege('cron.job', 'select')
  then
    return;
  end if;
  return query
    select 'a job of pg_cron is wrong', case when bool_and(w.why ^@ 'runs by ') then 'warning'
      else 'critical' end,
      pg_catalog.string_agg(w.job || ' ' || w.why, ', ' order by w.job),
      pg_catalog.concat_ws('; then ',
        pg_catalog.string_agg('select cron.unschedule(' || w.jobid || ')', '; ' order by w.job),
        'tock migrate makes them again')
    from (
      select d.job, j.jobid, case when j.jobid is null then 'is missing'
        when not j.active then 'is switched off'
        when j.database <> pg_catalog.current_database() then 'runs in database ' || j.database
        when j.command <> d.command then 'calls something else'
        -- once a minute, as before an update of pg_cron
        when j.schedule <> case d.job when 'tock:tick' then tock.cron_interval(5)
        when 'tock:reap' then tock.cron_interval(10)
          else j.schedule end then 'runs by ' || j.schedule end as why
      from tock.cron_jobs() d
      left join lateral (
        select * from cron.job j where j.jobname = d.job
        order by j.username <> current_user, j.database <> pg_catalog.current_database() limit 1) j on true) w
    where w.why is not null having count(*) > 0
    union all
    select 'pg_cron has an extra job', 'warning',
      pg_catalog.string_agg(pg_catalog.format('%s (%s of %s: %s)', j.jobid,
        coalesce(j.jobname, 'without a name'), j.username,
        pg_catalog.left(j.command, 100)), ', ' order by j.jobid),
      pg_catalog.string_agg(pg_catalog.format('select cron.unschedule(%s)', j.jobid), '; ' order by j.jobid)
    from cron.job j
    where j.database = pg_catalog.current_database() and (j.jobname like 'tock:%' or exists (
        select from tock.cron_jobs() d where d.command = pg_catalog.rtrim(j.command, '; ')))
      and (j.username <> current_user
        or not coalesce(j.jobname = any (array(select d.job from tock.cron_jobs() d)), false))
    having count(*) > 0;
end $$;

-- Findings about the run details of pg_cron: jobs whose last run failed, or more than p_bytes of details. The
-- run details are read only while they are small enough: prune() keeps one day of them.
create or replace function tock.doctor_of_cron_notes(p_bytes bigint default 67108864)
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_notes regclass := pg_catalog.to_regclass('cron.job_run_details');
begin
  if v_notes is null or not pg_catalog.has_schema_privilege('cron', 'usage') then
    return;
  elsif pg_catalog.pg_relation_size(v_notes) > p_bytes then
    return query select 'the run details of pg_cron grow', 'warning',
      pg_catalog.format('cron.job_run_details has %s',
        pg_catalog.pg_size_pretty(pg_catalog.pg_relation_size(v_notes))),
      'select tock.run_maintenance(''prune'') deletes those of Tock''s jobs after a day; a superuser '
      'deletes the others, then vacuum full';
  elsif pg_catalog.has_table_privilege(v_notes, 'select') then
    return query
      select 'pg_cron cannot run its jobs', 'critical',
        pg_catalog.string_agg(pg_catalog.format('%s: %s', f.jobname, pg_catalog.left(f.return_message, 200)),
          ', ' order by f.jobname),
        case when bool_or(f.return_message ~ 'connection failed')
          then 'set cron.use_background_workers = on and restart, or allow the role to connect at cron.host '
            '(pg_hba.conf, .pgpass)'
          else 'fix the reported error; if no worker could be started, raise max_worker_processes' end
      from cron.job j
      cross join lateral (
        select j.jobname, d.status, d.return_message from cron.job_run_details d
        where d.jobid = j.jobid and d.status in ('succeeded', 'failed') order by d.runid desc limit 1) f
      -- except jobs that a restart of the server interrupted
      where j.jobname in (select d.job from tock.cron_jobs() d) and f.status = 'failed'
        and f.return_message <> 'server restarted'
      having count(*) > 0;
  end if;
end $$;

-- Findings about pg_cron itself: whether it runs, its version, and how many jobs it may run. Without pg_cron
-- another caller ticks, or the maintenance jobs are late. cron.timezone is only a note, because no job of
-- Tock depends on the hour. At least two jobs must run at once, because they supervise each other
-- (cancel_overdue()). The launchers of pg_cron and of logical replication are workers too.
create or replace function tock.doctor_of_cron()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_home text := tock.cron_home();
  v_version text := tock.cron_version();
begin
  if v_version is null then
    return;
  end if;
  return query
  select 'pg_cron does not run', 'critical',
    case when v_home is null then 'it is not in shared_preload_libraries' else 'its launcher has ended' end,
    case when v_home is null then 'add it there and restart PostgreSQL'
      else 'restart PostgreSQL: nothing else starts it again' end
  where not exists (select from pg_catalog.pg_stat_activity a where a.application_name = 'pg_cron scheduler')
  union all
  select 'pg_cron works in another database', 'critical',
    pg_catalog.format('in %s, which has no jobs of Tock', v_home),
    pg_catalog.format('alter system set cron.database_name = %L, and restart PostgreSQL',
      pg_catalog.current_database())
  where v_home not in ('?', pg_catalog.current_database())
  union all
  select 'pg_cron launches no jobs', 'critical', 'cron.launch_active_jobs is off',
    'alter system set cron.launch_active_jobs = on; select pg_reload_conf()'
  from pg_catalog.pg_settings s where s.name = 'cron.launch_active_jobs' and s.setting = 'off'
  union all
  select 'pg_cron uses another time zone', 'note', pg_catalog.format('cron.timezone is %s', s.setting),
    'jobs of Tock do not depend on it, and schedules have their own time zones; check your own jobs'
  from pg_catalog.pg_settings s where s.name = 'cron.timezone'
    and s.setting not in ('GMT', 'UTC', 'Etc/UTC', 'Etc/GMT')
  union all
  -- a note, because the distribution may have no newer package
  select 'pg_cron has no intervals in seconds', 'note',
    pg_catalog.format('its version is %s: due tasks wait for up to a minute', v_version),
    'install pg_cron 1.5 or newer, alter extension pg_cron update, tock migrate'
  where tock.cron_interval(5) = '* * * * *'
  union all
  select 'pg_cron may run too few jobs at once', 'warning',
    pg_catalog.format('max_worker_processes is %s%s', w.workers, ', cron.max_running_jobs is ' || w.jobs),
    'set max_worker_processes to at least 8 and cron.max_running_jobs to at least 6, and restart PostgreSQL'
  from (
    select pg_catalog.current_setting('max_worker_processes')::integer as workers,
      (select s.setting::integer from pg_catalog.pg_settings s
       where s.name = 'cron.max_running_jobs') as jobs,
      (select s.setting = 'on' from pg_catalog.pg_settings s
       where s.name = 'cron.use_background_workers') as by_workers) w
  where w.jobs < 2 or (coalesce(w.by_workers, false) and w.workers < 4);
end $$;
