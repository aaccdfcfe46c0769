-- why() explains why tasks of one queue are late now. Its thresholds are lower than those of doctor(),
-- because a person is looking at this queue. Each part is cheap enough for an open page that repeats the
-- call. A hint advises to end a session or a task only after a minute: much of what a call finds is over in a
-- moment.

-- A hint that advises to end a session or a task only if the problem has lasted for over 60 seconds.
create or replace function tock.how_to_end(p_since timestamptz, p_mild text, p_end text)
returns text language sql volatile as $$
  select case when p_since < pg_catalog.clock_timestamp() - interval '60 seconds'
    then p_mild || '; or, as it has lasted for over 60 s, ' || p_end else p_mild end
$$;

-- Transactions that have written to Tock and have been open, or prepared, for longer than p_age. Open
-- transactions that have written or claimed: other sessions do not see the tasks that they enqueued, and no
-- other claim gets their streams until they end.
create or replace function tock.why_of_transactions(p_age interval default '5 seconds')
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with held as materialized (
    select l.pid, l.virtualtransaction as number from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    where l.granted and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
      'AccessExclusiveLock')
      and l.database = (select d.oid from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database())
      and c.relnamespace = 'tock'::regnamespace
  )
  (select 'an open transaction holds tasks back', 'warning',
    pg_catalog.format('%s has been in a transaction for %s, and has written to Tock in it',
      tock.described_session(a.pid), tock.ago(a.xact_start)),
    tock.how_to_end(a.xact_start,
      'have it commit: until then no other session sees what it has enqueued, and what it has claimed or '
      'completed stays locked',
      pg_catalog.format('end it: select pg_terminate_backend(%s)', a.pid))
  from pg_catalog.pg_stat_activity a
  where a.pid in (select h.pid from held h) and a.pid <> pg_catalog.pg_backend_pid()
    and a.backend_type = 'client backend'
    and a.xact_start < pg_catalog.clock_timestamp() - p_age
  order by a.xact_start limit 3)
  union all
  -- the locks of a prepared transaction have no process, but one of them is on its transaction id
  (select 'a prepared transaction holds tasks back', 'warning',
    pg_catalog.format('%s has been prepared for %s, and has written to Tock', x.gid, tock.ago(x.prepared)),
    tock.how_to_end(x.prepared,
      pg_catalog.format('end it where it was prepared; in this database: commit prepared %L', x.gid),
      pg_catalog.format('rollback prepared %L', x.gid))
  from pg_catalog.pg_prepared_xacts x
  where x.database = pg_catalog.current_database() and x.prepared < pg_catalog.clock_timestamp() - p_age
    and exists (
      select from pg_catalog.pg_locks o
      where o.locktype = 'transactionid' and o.transactionid = x.transaction and o.granted and o.pid is null
        and o.virtualtransaction in (select h.number from held h where h.pid is null))
  order by x.prepared limit 3)
$$;

-- why_of_transactions() for transactions whose start the owner may not see: their locks are checked five
-- times. The owner sees the start of transactions of other roles only as a member of pg_read_all_stats, but
-- it sees their locks. A call of Tock usually ends within p_seconds, so a lock counts if it is there in five
-- checks. How long it has been there is unknown, so the hint does not advise to end its session.
create or replace function tock.why_of_hidden(p_seconds double precision default 0.3)
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_seen text[];
begin
  for v_scan in 1 .. 5 loop
    if v_scan > 1 then
      perform pg_catalog.pg_sleep(p_seconds), pg_catalog.pg_stat_clear_snapshot();
    end if;
    v_seen := array(
      select distinct a.pid || ' ' || l.virtualtransaction
      from pg_catalog.pg_stat_activity a
      join pg_catalog.pg_locks l on l.pid = a.pid
      join pg_catalog.pg_class c on c.oid = l.relation and c.relnamespace = 'tock'::regnamespace
      where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
        and a.backend_type is null
        and a.xact_start is null and l.granted and l.mode = 'RowExclusiveLock'
        and coalesce(a.pid || ' ' || l.virtualtransaction = any (v_seen), true));
    exit when v_seen = '{}';
  end loop;
  return query
    select 'an open transaction holds tasks back', 'note',
      pg_catalog.format('%s has written to Tock in a transaction that stays open',
        tock.described_session(pg_catalog.split_part(n, ' ', 1)::integer)),
      pg_catalog.format(
        'have it commit. To see for how long it has been open: grant pg_read_all_stats to %I',
        current_user)
    from unnest(v_seen) n order by n limit 3;
end $$;
