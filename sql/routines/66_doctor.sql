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

-- By the minute (pg_cron 1.4) nothing comes sooner; and what was installed just now has its time.
create or replace function tock.doctor_of_duties()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'the duty ' || d.name || ' fails', 'critical',
    pg_catalog.format('%s times in a row: %s', d.failures, d.last_error),
    pg_catalog.format('mend what it says; select tock.run_duty(%L) tries again', d.name)
  from tock.duties d where d.failures > 0
  union all
  select 'duties are late', 'warning',
    pg_catalog.string_agg(d.name || ' (' || coalesce('last done at '
      || pg_catalog.to_char(d.last_ok_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'never done') || ')', ', ' order by d.name),
    case when pg_catalog.to_regclass('cron.job') is null
      then 'without pg_cron somebody has to call select tock.tick() or POST /v1/tick'
      else 'see that pg_cron runs and has its jobs (tock migrate makes them): select * from cron.job' end
  from tock.duties d
  where d.failures = 0
    and greatest(d.last_ok_at, (select max(m.applied_at) from tock.migrations m))
      < pg_catalog.clock_timestamp() - (3 * d.every_seconds + 120) * interval '1 second'
  having count(*) > 0
$$;

comment on function tock.doctor_of_duties is 'What doctor() says of the duties: those that fail or are late.';

-- A transaction that ends lets its locks go a moment after it has ended: so what looks like a stranger's
-- is looked at three times.
create or replace function tock.strangers()
returns table (pid integer, locks integer)
language plpgsql
volatile
as $$
declare
  v_seen text[];
  v_now text[];
begin
  for v_look in 1 .. 3 loop
    v_now := array(
      select l.pid || ' ' || l.objid from pg_catalog.pg_locks l
      where l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace and l.virtualtransaction ~ '/0$'
        and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()));
    v_seen := case when v_look = 1 then v_now else array(select s from unnest(v_seen) s where s = any (v_now)) end;
    exit when pg_catalog.cardinality(v_seen) = 0;
    perform pg_catalog.pg_sleep(0.05);
  end loop;
  return query
    select pg_catalog.split_part(s, ' ', 1)::integer, count(*)::integer from unnest(v_seen) s group by 1;
end $$;

comment on function tock.strangers is 'Processes that hold advisory locks of Tock''s outside of any transaction, and how many.';

create or replace function tock.doctor_of_sessions()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'a stranger holds a lock', 'warning',
    pg_catalog.format('process %s (%s) holds %s of Tock''s advisory locks outside of any transaction', l.pid, a.usename, l.locks),
    pg_catalog.format('select pg_terminate_backend(%s); a pooler must not let session locks leak', l.pid)
  from tock.strangers() l
  left join pg_catalog.pg_stat_activity a on a.pid = l.pid
  union all
  select 'a transaction is open for long', 'warning',
    pg_catalog.format('process %s (%s), since %s', a.pid, a.usename,
      pg_catalog.to_char(a.xact_start at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    pg_catalog.format('end it, or select pg_terminate_backend(%s): until then vacuum cleans nothing newer', a.pid)
  from (
    select a.* from pg_catalog.pg_stat_activity a
    where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
      and a.xact_start < pg_catalog.clock_timestamp() - interval '10 minutes'
    order by a.xact_start limit 1) a
  union all
  select 'a prepared transaction is open for long', 'warning',
    pg_catalog.format('%s (%s), since %s', p.gid, p.owner,
      pg_catalog.to_char(p.prepared at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    'commit prepared or rollback prepared it: until then no epoch is settled'
  from (
    select p.* from pg_catalog.pg_prepared_xacts p
    where p.database = pg_catalog.current_database()
      and p.prepared < pg_catalog.clock_timestamp() - interval '10 minutes'
    order by p.prepared limit 1) p
$$;

comment on function tock.doctor_of_sessions is 'What doctor() says of sessions: locks that are not Tock''s, and the oldest open transactions.';

-- 'new' is the guard's first look at a server, no finding.
create or replace function tock.doctor_of_reports()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select case n.kind when 'audit' then 'the audit found runs that nobody was handed' else 'the guard had to act' end,
    case n.kind when 'audit' then 'critical' else 'warning' end,
    pg_catalog.format('%s reports within a day, the newest: %s', n.count, n.detail),
    'select * from tock.reports order by reported_at desc'
  from (
    select r.kind, count(*) over (partition by r.kind) as count, r.detail,
      row_number() over (partition by r.kind order by r.reported_at desc) as place
    from tock.reports r
    where r.reported_at > pg_catalog.clock_timestamp() - interval '1 day'
      and coalesce(r.detail ->> 'found', '') <> 'new') n
  where n.place = 1
$$;

comment on function tock.doctor_of_reports is 'What doctor() says of the last day''s reports.';

create or replace function tock.doctor_of_schedules()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'schedules fail', 'warning',
    pg_catalog.string_agg(f.schedule || ' (' || f.failures || ' times in a row: ' || pg_catalog.left(f.last_error, 200) || ')',
      ', ' order by f.schedule),
    'mend what it says, or drop_schedule(); last_fires() has what was not fired'
  from (select n.* from tock.fires n where n.failures > 0 order by n.schedule limit 5) f
  having count(*) > 0
$$;

comment on function tock.doctor_of_schedules is 'What doctor() says of schedules: the first five that fail.';

-- What is wrong now, and what was reported within a day. Of sessions it says what every role may see.
create or replace function tock.doctor()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
  select f.finding, f.severity, f.detail, f.hint
  from (
    select * from tock.doctor_of_positions()
    union all
    select * from tock.doctor_of_duties()
    union all
    select * from tock.doctor_of_schedules()
    union all
    select * from tock.doctor_of_sessions()
    union all
    select * from tock.doctor_of_reports()
    union all
    select * from tock.doctor_of_parents()
    union all
    select * from tock.doctor_of_pools()
    union all
    select * from tock.doctor_of_keys()
    union all
    select * from tock.doctor_of_push()) f
  order by f.severity = 'warning', f.finding, f.detail
$$;

comment on function tock.doctor is
  'What is not as it should be, critical first, and what to do about each; no row when all is well.';
