-- First key of the advisory locks that have two keys: the oid of the schema. Second keys: the number of a
-- stream (its claim lock), -1 - number (used beside a foreign lock), 2^30 + slot, named_key(). A request id
-- and a name in a pool have one key of 64 bits.
create or replace function tock.lock_space()
returns integer language sql stable as $$
  select 'tock'::regnamespace::oid::integer
$$;

-- The second key of a named lock. p_kind is maintenance_job, queue or concurrency_key (their creation), limit
-- (of a queue), rate (of an API key) or event. Each kind has its own range, so no queue name blocks a
-- maintenance job.
create or replace function tock.named_key(p_kind text, p_name text)
returns integer language sql immutable as $$
  select 1342177280 + (pg_catalog.hashtext(p_name) & 134217727)
    + case p_kind when 'queue' then 134217728 when 'concurrency_key' then 268435456
      when 'limit' then 402653184
      when 'rate' then 536870912
      when 'event' then 671088640 else 0 end
$$;

-- Tries the claim lock of a stream, or its second key where a session outside of any transaction holds the
-- first. A session outside a transaction cannot be claiming. If it holds the lock of a stream, another
-- program took that lock, or a pooler leaked it. Claims then take a second key instead. When the first key
-- becomes free, two claims can hold one key each; the primary key of leases then rejects one of them.
create or replace function tock.take_stream(p_stream integer)
returns boolean language plpgsql volatile as $$
begin
  -- The locks of a transaction that is ending look foreign for a moment, longer on a busy machine. So the
  -- function tries five times, over 30 ms.
  for v_scan in 0 .. 4 loop
    perform pg_catalog.pg_sleep(0.001 * v_scan * v_scan) where v_scan > 0;
    if pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), p_stream) then
      return true;
    elsif exists (
      select from pg_catalog.pg_locks l
      where l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace
        and l.objid::bigint = p_stream
        and l.database = (select d.oid from pg_catalog.pg_database d
          where d.datname = pg_catalog.current_database())
        and l.virtualtransaction !~ '/0$')
    then
      return false;
    end if;
  end loop;
  return pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), -1 - p_stream);
end $$;

-- Takes the claim lock of a stream, a slot or a maintenance job; waits up to 50 ms, then returns false.
create or replace function tock.wait_for_lock(p_key integer)
returns boolean language plpgsql volatile as $$
declare
  v_timeout text := pg_catalog.current_setting('lock_timeout');
begin
  perform pg_catalog.set_config('lock_timeout', '50ms', true);
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), p_key);
  perform pg_catalog.set_config('lock_timeout', v_timeout, true);
  return true;
exception
  when lock_not_available then return false;
end $$;

-- Takes the claim locks of up to 1,000 streams until the transaction ends; waits up to 2 s in all, then
-- raises TK503. Changes lock streams in ascending order, and a claim that has leased a run never waits. So
-- they cannot deadlock. While a change holds the first key of a stream, no claim takes the second. A claim
-- may hold the second already; the while loop below waits for it.
create or replace function tock.hold_streams(p_streams integer[])
returns void language plpgsql volatile as $$
declare
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '2 seconds';
  v_streams integer[] := array(select distinct s from unnest(p_streams) s order by s);
  v_stream integer;
  v_held boolean;
begin
  if pg_catalog.cardinality(v_streams) > 1000 then
      perform tock.refuse(422,
        'these tasks are ready in more than 1,000 streams; a call changes tasks in at most 1,000 streams',
        'ids', 'change fewer tasks per call');
  end if;
  foreach v_stream in array v_streams loop
    loop
      v_held := pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_stream)
        or tock.wait_for_lock(v_stream);
      exit when v_held or pg_catalog.clock_timestamp() > v_until;
    end loop;
    exit when not v_held;
  end loop;
  while v_held and exists (
    select from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace
      and 4294967295 - l.objid::bigint = any (v_streams) and l.pid <> pg_catalog.pg_backend_pid()
      and l.database = (select d.oid from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database()))
  loop
    v_held := pg_catalog.clock_timestamp() < v_until;
    perform pg_catalog.pg_sleep(0.01);
  end loop;
  if not v_held then
    perform tock.refuse(503,
      'an open transaction has claimed from or changed the stream of one of these tasks', null,
      'try again; nothing was changed');
  end if;
end $$;

-- The virtual transaction ids of other transactions that have locked rows of a table, or have written to it
-- and are older than p_age. A transaction may leave a row unchanged that it has locked, and the sweep has
-- skipped that row. A transaction that writes a row may make it due as early as its own start. (The age of
-- other roles' transactions is hidden from an owner without pg_read_all_stats, and that of prepared ones
-- always: they count as old.)
create or replace function tock.writers_of(p_table regclass, p_age interval default '0 s')
returns text[] language sql volatile as $$
  select array(
    select distinct l.virtualtransaction from pg_catalog.pg_locks l
    left join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'relation' and l.relation = p_table and l.granted
      and l.database = (select d.oid from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database())
      and (l.mode = 'RowShareLock' or (l.mode = 'RowExclusiveLock'
        and coalesce(a.xact_start <= pg_catalog.clock_timestamp() - p_age, true)))
      and l.pid is distinct from pg_catalog.pg_backend_pid())
$$;
