create or replace function tock.lock_space()
returns integer
language sql
stable
as $$
  select 'tock'::regnamespace::oid::integer
$$;

comment on function tock.lock_space is
  'First key of every advisory lock: the schema''s oid. Second keys: a stream''s number (its claim; -1 - '
  'number beside a stranger''s lock), 2^30 + slot, named_key().';

create or replace function tock.named_key(p_kind text, p_name text)
returns integer
language sql
immutable
as $$
  select 1342177280 + (pg_catalog.hashtext(p_name) & 134217727)
    + case p_kind when 'queue' then 134217728 when 'concurrency_key' then 268435456
      when 'limit' then 402653184
      when 'rate' then 536870912 else 0 end
$$;

comment on function tock.named_key is
  'Second key of the lock of a maintenance job, of making a queue or a concurrency key, of a queue''s '
  'limit, or of a window of a '
  'key''s rate (p_kind): apart from each other, so that no queue''s name can stop a maintenance job.';

-- A session that isn't in a transaction can't be claiming: its lock on a stream's key is a stranger's,
-- or one that a pooler leaked. Beside that one, claims keep to a second key. Should the first come free
-- meanwhile and two claims meet, the key of leases refuses one.
create or replace function tock.take_stream(p_stream integer)
returns boolean
language plpgsql
volatile
as $$
begin
  -- several times, as the locks of a transaction that is just ending look like a stranger's for a moment, on
  -- a busy machine a longer one
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

comment on function tock.take_stream is
  'Takes the lock of a stream''s claim by trying, or its second key where the first is held by a session '
  'outside of any transaction.';

create or replace function tock.wait_for_lock(p_key integer)
returns boolean
language plpgsql
volatile
as $$
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

comment on function tock.wait_for_lock is
  'Takes the lock of a stream''s claim, a slot or a maintenance job, waiting up to 50 ms; false when '
  'that was not enough.';

-- Streams in one order, so that no two changes wait for each other, and a claim never waits once it has
-- leased something. With a stream's first key held no claim takes the second; one that has that from before
-- goes on beside a stranger's lock.
create or replace function tock.hold_streams(p_streams integer[])
returns void
language plpgsql
volatile
as $$
declare
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '2 seconds';
  v_streams integer[] := array(select distinct s from unnest(p_streams) s order by s);
  v_stream integer;
  v_held boolean;
begin
  if pg_catalog.cardinality(v_streams) > 1000 then
    perform tock.refuse(422,
      'these tasks are ready in more than 1,000 streams, and a call changes those of 1,000', 'ids',
      'change fewer tasks a call');
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
      'a transaction that is still open has claimed from, or changed, the stream of one of these tasks', null,
      'try again; nothing was changed');
  end if;
end $$;

comment on function tock.hold_streams is
  'Takes the locks of up to 1,000 streams'' claims to the end of the transaction, waiting up to 2 s in all; '
  'TK503 when that was not enough.';
