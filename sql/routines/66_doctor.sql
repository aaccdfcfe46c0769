-- The highest position comes first, the sequence is read after it: writers go on meanwhile.
create or replace function tock.doctor_of_positions()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  with sequence as materialized (
    select h.highest, s.last_value, q.seqcache, e.end_position,
      (select count(*) from tock.epochs a where a.first_position > s.last_value) as ahead
    from (select tock.highest_position() as highest offset 0) h
    cross join lateral (select p.last_value from tock.positions p where h.highest is not null offset 0) s
    cross join (select max(e.end_position) as end_position from tock.epochs e) e
    join pg_catalog.pg_sequence q on q.seqrelid = 'tock.positions'::regclass
  )
  select 'the sequence is behind', 'critical',
    pg_catalog.format('tock.positions is at %s, and position %s is stored', s.last_value, s.highest),
    'select tock.run_duty(''guard''); then find out who set it back: a restore of data alone, replication, setval'
  from sequence s where s.highest > s.last_value
  union all
  select 'the sequence is cached', 'critical',
    pg_catalog.format('each session takes %s positions at once, so they are not used in their order', s.seqcache),
    'alter sequence tock.positions cache 1'
  from sequence s where s.seqcache <> 1
  union all
  select 'no epoch is ahead', case when s.end_position - s.last_value < 200000 then 'critical' else 'warning' end,
    pg_catalog.format('%s positions are left', greatest(s.end_position - s.last_value, 0)),
    'select tock.run_duty(''rotate''), and see in tock.duties why it was not done'
  from sequence s where s.ahead = 0
$$;

comment on function tock.doctor_of_positions is 'What doctor() says of the sequence and the epochs.';

-- By the minute (pg_cron 1.4) nothing comes sooner; what was installed just now has its time, and so has pg_cron where the
-- server has just started, as after a sleep. The alarm of a database that sleeps ticks when something is due, and
-- never otherwise: where nothing has been due for two minutes it is no fault that nobody ticked.
create or replace function tock.doctor_of_duties()
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
as $$
begin
  return query
  select 'a duty fails', 'critical',
    pg_catalog.format('%s, %s in a row: %s', d.name, tock.some(d.failures, 'time'), d.last_error),
    pg_catalog.format('mend what it says; select tock.run_duty(%L) tries again', d.name)
  from tock.duties d where d.failures > 0
  union all
  select 'duties are late', case when c.runs or tock.next_wake_at() < pg_catalog.clock_timestamp() - interval '2 minutes'
      then 'warning' else 'note' end,
    pg_catalog.string_agg(d.name || ' (' || coalesce('last done at '
      || pg_catalog.to_char(d.last_ok_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'never done') || ')', ', ' order by d.name),
    case when pg_catalog.to_regclass('cron.job') is not null
        then 'see that pg_cron runs and has its jobs (tock migrate makes them): select * from cron.job'
      when tock.cron_home() <> pg_catalog.current_database()
        then pg_catalog.format('pg_cron works in database %s: set cron.database_name to this one, restart, create extension pg_cron, '
          'tock migrate; or call POST /v1/tick', coalesce(nullif(tock.cron_home(), '?'), 'of another name'))
      else 'without pg_cron somebody has to call select tock.tick() or POST /v1/tick' end
  from tock.duties d
  cross join (select pg_catalog.to_regclass('cron.job') is not null as runs) c
  where d.failures = 0
    and greatest(d.last_ok_at, (select max(m.applied_at) from tock.migrations m), case when c.runs then pg_catalog.pg_postmaster_start_time() end)
      < pg_catalog.clock_timestamp() - (3 * d.every_seconds + 120) * interval '1 second'
  group by c.runs;
end $$;

comment on function tock.doctor_of_duties is 'What doctor() says of the duties: those that fail, and those that are late, a note while nothing waits for them.';

-- 'new' is the guard's first look at a server, no finding; 'restored' its first after a restore, a failover or a branch, where it did
-- what it is for.
create or replace function tock.doctor_of_reports()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select k.finding, case when n.restored then 'note' else k.severity end,
    pg_catalog.format('%s within a day, the newest: %s', tock.some(n.count, 'report'), n.detail),
    'select * from tock.reports order by reported_at desc'
  from (
    select r.kind, count(*) over (partition by r.kind) as count, r.detail,
      bool_and(coalesce(r.detail ->> 'found' = 'restored', false)) over (partition by r.kind) as restored,
      row_number() over (partition by r.kind order by r.reported_at desc) as place
    from tock.reports r
    where r.reported_at > pg_catalog.clock_timestamp() - interval '1 day'
      and coalesce(r.detail ->> 'found', '') <> 'new') n
  join (values
    ('audit', 'the audit found runs that nobody was handed', 'critical'),
    ('guard', 'the guard had to act', 'warning')) k (kind, finding, severity) on k.kind = n.kind
  where n.place = 1
$$;

comment on function tock.doctor_of_reports is 'What doctor() says of the last day''s reports.';

create or replace function tock.doctor_of_schedules()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'schedules fail', 'warning',
    pg_catalog.string_agg(f.schedule || ' (' || tock.some(f.failures, 'time') || ' in a row: ' || pg_catalog.left(f.last_error, 200) || ')',
      ', ' order by f.schedule),
    'mend what it says, or drop_schedule(); last_fires() has what was not fired'
  from (select n.* from tock.fires n where n.failures > 0 order by n.schedule limit 5) f
  having count(*) > 0
$$;

comment on function tock.doctor_of_schedules is 'What doctor() says of schedules: the first five that fail.';

-- The parts are all functions of that name. What one raises becomes a finding, and the others go on; once a
-- lock was not to be had, nobody is waited for any more.
create or replace function tock.examine()
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
set lock_timeout = '2s'
set jit = off
as $$
declare
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '15 s';  -- half of what the edge's role is given
  v_part name;
begin
  for v_part in
    select p.proname from pg_catalog.pg_proc p
    where p.pronamespace = 'tock'::regnamespace and p.proname like 'doctor\_of\_%' order by p.proname
  loop
    begin
      if pg_catalog.clock_timestamp() > v_until then
        raise lock_not_available using message = 'the others took too long';
      end if;
      return query execute pg_catalog.format('select d.finding, d.severity, d.detail, d.hint from tock.%I() d', v_part);
    exception when others then
      perform pg_catalog.set_config('lock_timeout', '50ms', true);
      return query select 'the doctor could not look', 'warning',
        pg_catalog.format('%s: %s %s', pg_catalog.substr(v_part, 11), sqlstate, sqlerrm),
        'ask again in a moment; when it stays so, ' || case sqlstate
          when '55P03' then 'see who has the lock: select pid, relation::regclass from pg_locks where granted and mode = ''AccessExclusiveLock'' and database = (select oid from pg_database where datname = current_database())'
          else 'mend what it says' end;
    end;
  end loop;
end $$;

comment on function tock.examine is 'What each part of doctor() says, in no order; bounded by 2 s for the first lock, 50 ms for the next, and 15 s in all.';

-- What is wrong now, and what was reported within a day.
create or replace function tock.doctor()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select f.finding, f.severity, f.detail, f.hint from tock.examine() f
  order by pg_catalog.array_position(array['critical', 'warning', 'note'], f.severity), f.finding, f.detail
$$;

comment on function tock.doctor is
  'What is not as it should be, critical first, then warnings, then notes, which can wait; and what to do about each. No row when all is well.';

create or replace view tock.findings as
  select d.severity, d.finding, d.detail, d.hint from tock.doctor() d;

comment on view tock.findings is 'doctor(), for whoever looks with psql.';
