-- Processes that hold advisory locks of Tock outside a transaction, or in one that has read no table of Tock,
-- and how many. The advisory locks checked here have two keys, so they clash with none that has one 64-bit
-- key. A call of Tock with one of these locks is in a transaction that has read a table of Tock, and holds
-- the lock of that table too. A role that may only connect can take the advisory lock but not the table lock.
-- A transaction that ends releases its locks one by one, so a suspicious lock is checked three times.
create or replace function tock.foreign_lock_holders()
returns table (pid integer, locks integer) language plpgsql volatile as $$
declare
  v_seen text[];
  v_now text[];
begin
  for v_scan in 1 .. 3 loop
    v_now := array(
      with l as materialized (
        select k.* from pg_catalog.pg_locks k
        where k.granted and k.pid is not null
          and k.database = (select d.oid from pg_catalog.pg_database d
            where d.datname = pg_catalog.current_database())
      ), users as materialized (
        select l.pid from l join pg_catalog.pg_class c on c.oid = l.relation
          and c.relnamespace = 'tock'::regnamespace
        where l.locktype = 'relation')
      select l.pid || ' ' || l.objid from l
      where l.locktype = 'advisory' and l.classid = 'tock'::regnamespace and l.objsubid = 2
        and (l.virtualtransaction ~ '/0$' or l.pid not in (select u.pid from users u)));
    v_seen := case when v_scan = 1 then v_now
      else array(select s from unnest(v_seen) s where s in (select unnest(v_now))) end;
    exit when pg_catalog.cardinality(v_seen) = 0;
    perform pg_catalog.pg_sleep(0.05);
  end loop;
  return query
    select pg_catalog.split_part(s, ' ', 1)::integer, count(*)::integer from unnest(v_seen) s group by 1;
end $$;

-- A session: its role, its state and the first words of its statement, as far as the owner may see. The text
-- has words of the statement but no values: the caller may not be allowed to read the data of other roles.
create or replace function tock.described_session(p_pid integer)
returns text language sql volatile as $$
  select pg_catalog.concat_ws(', ',
    pg_catalog.format('process %s (%s)', a.pid,
      pg_catalog.concat_ws(' ', a.usename, 'as ' || nullif(a.application_name, ''),
      'from ' || pg_catalog.host(a.client_addr))),
    a.state || ' since ' || tock.utc(a.state_change),
    'last: ' || substring(a.query from '^\s*([A-Za-z]\w*(\s+[A-Za-z_][\w.]*){0,3})') || ' ...')
  from pg_catalog.pg_stat_activity a where a.pid = p_pid
$$;

-- Findings about foreign sessions with locks of Tock, about the oldest transactions open for longer than
-- p_age, and about the role with the most connections if nearly all are in use.
create or replace function tock.doctor_of_sessions(p_age interval default '10 minutes')
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  -- writers have 4,096 slots in all
  select 'a foreign session holds a lock', case when l.locks >= 4096 then 'critical' else 'warning' end,
    pg_catalog.format('%s of Tock''s advisory locks%s, without a call of Tock: %s', l.locks,
      case when a.xact_start is not null then ', in a transaction for ' || tock.ago(a.xact_start)
        when a.state is not null then ' outside of any transaction' end, tock.described_session(l.pid)),
    pg_catalog.format(
      'if it still has them in a minute: select pg_terminate_backend(%s). A pooler must not leak session '
      'locks. Only roles that use this database should connect: '
      'revoke connect, temporary on database %I from public, then grant connect on it to '
      'those roles',
      l.pid, pg_catalog.current_database())
  from tock.foreign_lock_holders() l
  left join pg_catalog.pg_stat_activity a on a.pid = l.pid
  union all
  select 'a transaction has been open for long', 'warning',
    pg_catalog.format('%s, since %s', tock.described_session(a.pid), tock.utc(a.xact_start)),
    pg_catalog.format('end it, or select pg_terminate_backend(%s): until then vacuum removes no newer rows',
      a.pid)
  from (
    select a.* from pg_catalog.pg_stat_activity a
    where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
      and a.backend_type <> 'autovacuum worker'  -- it does the cleaning
      and a.xact_start < pg_catalog.clock_timestamp() - p_age
    order by a.xact_start limit 1) a
  union all
  select 'a prepared transaction has been open for long', 'warning',
    pg_catalog.format('%s (%s), since %s', p.gid, p.owner, tock.utc(p.prepared)),
    pg_catalog.format('commit prepared %1$L, or rollback prepared %1$L: until then no segment is closed',
      p.gid)
  from (
    select p.* from pg_catalog.pg_prepared_xacts p
    where p.database = pg_catalog.current_database()
      and p.prepared < pg_catalog.clock_timestamp() - p_age
    order by p.prepared limit 1) p
  union all
  -- nine in ten, since one pool may open the rest in a moment; those reserved for superusers do not count
  select 'connections run out', 'warning',
    pg_catalog.format('%s of %s are in use, %s of them by %s', c.taken, c.most, c.mine, c.usename),
    'use a transaction pooler with pools smaller than that (PgBouncer: pool_mode = transaction), '
    'or raise max_connections'
  from (
    select sum(count(*)) over () as taken, count(*) as mine, a.usename,
      pg_catalog.current_setting('max_connections')::integer - pg_catalog.current_setting(
        'superuser_reserved_connections')::integer as most
    from pg_catalog.pg_stat_activity a
    where a.usesysid is not null and a.datid is not null and a.application_name !~ '^pg_cron'
    group by a.usename
    order by count(*) desc, a.usename limit 1) c
  where c.taken >= 0.9 * c.most
$$;
