create or replace function tock.maintenance_jobs_list()
returns table (
  name text, every_seconds integer, last_started_at timestamptz, last_ok_at timestamptz,
  late_seconds double precision, last_amount bigint, last_seconds double precision, last_error text,
  failures integer) language sql
stable security definer
set search_path = pg_catalog, pg_temp as $$
  -- late means the same as in doctor(): pg_cron 1.4 runs jobs once a minute at best
  select d.name, d.every_seconds, d.last_started_at, d.last_ok_at,
    nullif(greatest(0, extract(epoch from pg_catalog.clock_timestamp() - coalesce(d.last_ok_at,
      (select max(m.applied_at) from tock.migrations m)))
      - 3 * d.every_seconds - 120), 0)::double precision,
    d.last_amount::bigint, d.last_seconds::double precision, d.last_error, d.failures::integer
  from tock.maintenance_jobs d order by d.name
$$;

comment on function tock.maintenance_jobs_list is
  'Each maintenance job: when it last ran and with what outcome; late_seconds if it should have run long '
  'ago.';

create or replace function tock.cron_jobs_list()
returns table (jobname text, schedule text, active boolean, last_status text, last_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if pg_catalog.to_regclass('cron.job') is null then
    return;
  end if;
  -- the run details have no index by job: the newest two thousand show the last run of each
  return query
    with lately as (
      select d.jobid, d.status, d.start_time from (
        select * from cron.job_run_details order by runid desc limit 2000) d)
    select j.jobname::text, j.schedule, j.active, l.status, l.start_time
    from cron.job j
    left join lateral (select l.status, l.start_time from lately l where l.jobid = j.jobid
      order by l.start_time desc nulls last limit 1) l on true
    where j.jobname like 'tock:%' and j.username = current_user order by j.jobname;
end $$;

comment on function tock.cron_jobs_list is
  'The pg_cron jobs of Tock with their last run; none if pg_cron is not in this database.';

create or replace function tock.segments_list(p_limit integer default 100)
returns table (
  number integer, state text, first_position bigint, end_position bigint, started_at timestamptz,
  closed_at timestamptz, verified_at timestamptz, bytes bigint, runs bigint) language sql
volatile security definer
set search_path = pg_catalog, pg_temp as $$
  select e.number,
    case when e.first_position > p.last_value then 'ahead' when e.verified_at is not null then 'verified'
      when e.closed_at is not null then 'closed' when e.end_position <= p.last_value then 'ended'
      else 'in use' end,
    e.first_position, e.end_position, e.started_at, e.closed_at, e.verified_at,
    (select sum(pg_catalog.pg_total_relation_size(c.oid))::bigint from pg_catalog.pg_class c
     where c.relnamespace = 'tock'::regnamespace
       and c.relname in ('runs_' || e.number, 'leases_' || e.number, 'results_' || e.number,
         'run_overrides_' || e.number, 'steps_' || e.number)),
    (select greatest(0, c.reltuples)::bigint from pg_catalog.pg_class c
     where c.relnamespace = 'tock'::regnamespace and c.relname = 'runs_' || e.number)
  from tock.segments e cross join tock.positions p
  order by e.number desc limit least(greatest(p_limit, 1), 1000)
$$;

comment on function tock.segments_list is
  'Segments, the newest first: their state, their size, and about how many runs each stores.';
