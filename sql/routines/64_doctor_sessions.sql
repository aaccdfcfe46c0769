-- Tock's keys are of two numbers, and clash with none of 64 bits. A transaction that ends lets its locks go a moment after it
-- has ended: so what looks like a stranger's is looked at three times.
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
      where l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace and l.objsubid = 2
        and l.virtualtransaction ~ '/0$'
        and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()));
    v_seen := case when v_look = 1 then v_now else array(select s from unnest(v_seen) s where s = any (v_now)) end;
    exit when pg_catalog.cardinality(v_seen) = 0;
    perform pg_catalog.pg_sleep(0.05);
  end loop;
  return query
    select pg_catalog.split_part(s, ' ', 1)::integer, count(*)::integer from unnest(v_seen) s group by 1;
end $$;

comment on function tock.strangers is 'Processes that hold advisory locks of Tock''s outside of any transaction, and how many.';

-- Words only, no values: whoever asks need not be allowed to read what others write.
create or replace function tock.described_session(p_pid integer)
returns text
language sql
volatile
as $$
  select pg_catalog.concat_ws(', ',
    pg_catalog.format('process %s (%s)', a.pid, pg_catalog.concat_ws(' ', a.usename, 'as ' || nullif(a.application_name, ''),
      'from ' || pg_catalog.host(a.client_addr))),
    a.state || ' since ' || pg_catalog.to_char(a.state_change at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'last: ' || substring(a.query from '^\s*([A-Za-z]\w*(\s+[A-Za-z_][\w.]*){0,3})') || ' ...')
  from pg_catalog.pg_stat_activity a where a.pid = p_pid
$$;

comment on function tock.described_session is 'Who a session is, what it does, and the first words of its statement, as far as the owner may see.';

create or replace function tock.doctor_of_sessions(p_age interval default '10 minutes')
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
    pg_catalog.format('%s, since %s', tock.described_session(a.pid),
      pg_catalog.to_char(a.xact_start at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    pg_catalog.format('end it, or select pg_terminate_backend(%s): until then vacuum cleans nothing newer', a.pid)
  from (
    select a.* from pg_catalog.pg_stat_activity a
    where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
      and a.backend_type <> 'autovacuum worker'  -- it is what cleans
      and a.xact_start < pg_catalog.clock_timestamp() - p_age
    order by a.xact_start limit 1) a
  union all
  select 'a prepared transaction is open for long', 'warning',
    pg_catalog.format('%s (%s), since %s', p.gid, p.owner,
      pg_catalog.to_char(p.prepared at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    pg_catalog.format('commit prepared %1$L, or rollback prepared %1$L: until then no epoch is settled', p.gid)
  from (
    select p.* from pg_catalog.pg_prepared_xacts p
    where p.database = pg_catalog.current_database()
      and p.prepared < pg_catalog.clock_timestamp() - p_age
    order by p.prepared limit 1) p
$$;

comment on function tock.doctor_of_sessions is 'What doctor() says of sessions: locks that are not Tock''s, and the oldest open transactions, where they are of such an age.';
