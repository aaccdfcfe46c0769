create or replace function tock.lock_space()
returns integer
language sql
stable
as $$
  select 'tock'::regnamespace::oid::integer
$$;

comment on function tock.lock_space is
  'First key of every advisory lock: the schema''s oid. Second keys: a stream''s number (its claim; -1 - number beside a stranger''s lock), 2^30 + slot, named_key().';

create or replace function tock.named_key(p_kind text, p_name text)
returns integer
language sql
immutable
as $$
  select 1342177280 + (pg_catalog.hashtext(p_name) & 134217727)
    + case p_kind when 'queue' then 134217728 when 'gate' then 268435456 when 'limit' then 402653184 when 'rate' then 536870912 else 0 end
$$;

comment on function tock.named_key is
  'Second key of the lock of a duty, of making a queue or a gate, of a queue''s limit, or of a window of a key''s rate (p_kind): apart from each other, so that no queue''s name can stop a duty.';

-- A session that isn't in a transaction can't be claiming: its lock on a stream's key is a stranger's,
-- or one that a pooler leaked. Beside that one, claims keep to a second key. Should the first come free
-- meanwhile and two claims meet, the key of leases refuses one.
create or replace function tock.take_stream(p_stream integer)
returns boolean
language plpgsql
volatile
as $$
begin
  -- several times, as the locks of a transaction that is just ending look like a stranger's for a moment, on a busy machine a longer one
  for v_look in 0 .. 4 loop
    perform pg_catalog.pg_sleep(0.001 * v_look * v_look) where v_look > 0;
    if pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), p_stream) then
      return true;
    elsif exists (
      select from pg_catalog.pg_locks l
      where l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace and l.objid::bigint = p_stream
        and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
        and l.virtualtransaction !~ '/0$')
    then
      return false;
    end if;
  end loop;
  return pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), -1 - p_stream);
end $$;

comment on function tock.take_stream is
  'Takes the lock of a stream''s claim by trying, or its second key where the first is held by a session outside of any transaction.';

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

comment on function tock.wait_for_lock is 'Takes the lock of a stream''s claim, a slot or a duty, waiting up to 50 ms; false when that was not enough.';
