-- Findings about settings that lose accepted tasks if the server crashes, and about the role tock_edge
-- without time limits. Only settings that break a guarantee are checked, so not data checksums. reset_val is
-- the value with which a session of this role starts; a claim sets synchronous_commit for its own
-- transaction. Values set for a role or a database are checked separately. Neon and Aurora keep the log
-- outside the disk of the server, and owners there cannot set fsync or full_page_writes.
create or replace function tock.doctor_of_settings()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'a setting loses tasks in a crash', 'critical',
    pg_catalog.string_agg(s.name || ' is off', ', ' order by s.name),
    pg_catalog.string_agg(pg_catalog.format('alter system set %s = on', s.name), '; ' order by s.name)
      || '; select pg_reload_conf()'
  from pg_catalog.pg_settings s
  where s.name in ('fsync', 'full_page_writes', 'synchronous_commit') and s.reset_val = 'off'
    and (s.name = 'synchronous_commit' or not tock.stores_elsewhere())
    and s.source not in ('database', 'user', 'database user', 'global')
  having count(*) > 0
  union all
  select 'a role loses tasks in a crash', 'critical',
    pg_catalog.string_agg(r.who || ' has synchronous_commit = off', ', ' order by r.who),
    pg_catalog.string_agg(r.mend, '; ' order by r.who)
  from (
    select coalesce('role ' || o.rolname, 'every role') || coalesce(' in ' || d.datname, '') as who,
      pg_catalog.format('alter %s%s reset synchronous_commit',
        case when o.oid is null and d.oid is null then 'role all'
        when o.oid is null then 'database ' || pg_catalog.quote_ident(d.datname)
        else 'role ' || pg_catalog.quote_ident(o.rolname) end,
          case when o.oid is not null then ' in database ' || pg_catalog.quote_ident(d.datname) end) as mend
    from pg_catalog.pg_db_role_setting s
    left join pg_catalog.pg_roles o on o.oid = s.setrole
    left join pg_catalog.pg_database d on d.oid = s.setdatabase
    where exists (select from unnest(s.setconfig) c where c ~* '^synchronous_commit=(off|of|false|f|no|n|0)$')
      and (d.oid is null or d.datname = pg_catalog.current_database())
      and (o.oid is null or pg_catalog.has_schema_privilege(o.oid, 'tock', 'usage'))) r
  having count(*) > 0
  union all
  select 'the role tock_edge has no time limit', 'warning',
    pg_catalog.string_agg(l.setting, ', ' order by l.setting),
    pg_catalog.string_agg(pg_catalog.format('alter role tock_edge set %s = %L', l.setting, l.value), '; '
      order by l.setting)
  from (values ('lock_timeout', '2s'), ('statement_timeout', '30s')) l (setting, value)
  join pg_catalog.pg_roles e on e.rolname = 'tock_edge'
  where not exists (
    select from pg_catalog.pg_db_role_setting s cross join lateral unnest(s.setconfig) c
    where s.setrole = e.oid and c ~ ('^' || l.setting || '=') and c !~ '=0+\.?0*\s*[a-z]*$'
      and s.setdatabase in (0, (select d.oid from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database())))
  having count(*) > 0
$$;

-- Findings about vacuum: where it is off, and tables frozen more than p_age transactions ago.
create or replace function tock.doctor_of_vacuum(p_age integer default 1000000000)
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'autovacuum is off', 'warning', pg_catalog.string_agg(o.what, ', ' order by o.what),
    pg_catalog.string_agg(o.mend, '; ' order by o.what)
  from (
    select s.name || ' is off' as what,
      pg_catalog.format('alter system set %s = on; select pg_reload_conf()', s.name) as mend
    from pg_catalog.pg_settings s where s.name in ('autovacuum', 'track_counts') and s.reset_val = 'off'
    union all
    (select 'for tock.' || c.relname,
      pg_catalog.format('alter table tock.%I reset (autovacuum_enabled)', c.relname)
    from pg_catalog.pg_class c
    where c.relnamespace = 'tock'::regnamespace and c.relkind = 'r'
      and exists (select from unnest(c.reloptions) r where r ~* '^autovacuum_enabled=(off|false|no|0)$')
    order by c.relname limit 5)) o
  having count(*) > 0
  union all
  (select 'transaction ids run out', 'critical',
    pg_catalog.format(
      'tock.%s was frozen %s transactions ago; at 2,147 million nothing can be written any more',
      t.relname, t.age),
    pg_catalog.format('end what holds back vacuum, then vacuum (freeze) tock.%I', t.relname)
  from (
    select c.relname, greatest(age(c.relfrozenxid), pg_catalog.mxid_age(c.relminmxid)) as age
    from pg_catalog.pg_class c where c.relnamespace = 'tock'::regnamespace and c.relkind = 'r') t
  where t.age > p_age order by t.age desc limit 1)
$$;
