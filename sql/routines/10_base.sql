create or replace function tock.refuse(
  p_status integer, p_message text, p_field text default null, p_hint text default null)
returns void
language plpgsql
as $$
declare
  v_code text := 'TK' || p_status;
begin
  -- an option that is null is an error of its own, and an empty one is printed
  if p_field is null and p_hint is null then
    raise exception using errcode = v_code, message = p_message;
  elsif p_field is null then
    raise exception using errcode = v_code, message = p_message, hint = p_hint;
  elsif p_hint is null then
    raise exception using errcode = v_code, message = p_message, detail = p_field;
  end if;
  raise exception using errcode = v_code, message = p_message, detail = p_field, hint = p_hint;
end $$;

comment on function tock.refuse is
  'Raises a caller''s mistake: SQLSTATE TK and the HTTP status, DETAIL the field''s name, HINT what to do next.';

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

-- The lowest free slot keeps streams few; a transaction that has one starts at its own (tock.slot is
-- only where to begin: a session may have set it to anything, so the lock is always taken).
create or replace function tock.take_slot(p_from integer default null)
returns integer
language plpgsql
volatile
as $$
declare
  v_hint text := pg_catalog.current_setting('tock.slot', true);
  v_first integer := coalesce(p_from, case when v_hint ~ '^\d{1,3}$' then v_hint::integer end, 0);
begin
  if tock.hot_epoch() is null then
    perform tock.guard_now();
    perform tock.make_room();
  end if;
  for v_step in 0 .. 4095 loop
    if pg_catalog.pg_try_advisory_xact_lock(
      tock.lock_space(), 1073741824 + (v_first + v_step) % 4096)
    then
      if p_from is null then
        perform pg_catalog.set_config('tock.slot', ((v_first + v_step) % 4096)::text, true);
      end if;
      return (v_first + v_step) % 4096;
    end if;
  end loop;
  perform tock.refuse(503, 'more than 4,096 transactions are writing tasks at once',
    null, 'try again; tock doctor names who holds writers'' locks, and transactions left open');
end $$;

comment on function tock.take_slot is
  'The writer slot of this transaction, locked to its end: one writer a slot makes commit order and position order agree in each of its streams.';

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

create or replace function tock.utc(p_at timestamptz)
returns text
language sql
immutable
as $$
  select pg_catalog.to_char(p_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

comment on function tock.utc is 'An instant to be read by people.';

create or replace function tock.ago(p_at timestamptz)
returns text
language sql
volatile
strict
as $$
  select case
    when p_at is null then null
    when s.n < 120 then s.n || ' s'
    when s.n < 7200 then s.n / 60 || ' min'
    when s.n < 172800 then s.n / 3600 || ' h'
    else s.n / 86400 || ' days' end
  from (select greatest(0, extract(epoch from pg_catalog.clock_timestamp() - p_at))::bigint as n) s
$$;

comment on function tock.ago is 'How long ago, in words; null of null.';

create or replace function tock.some_tasks(p_count bigint, p_one text, p_more text)
returns text
language sql
immutable
as $$ select case when p_count = 1 then '1 task ' || p_one else p_count || ' tasks ' || p_more end $$;

comment on function tock.some_tasks is 'How many tasks, with the verb that goes with it.';

create or replace function tock.some(p_count bigint, p_one text, p_more text default null)
returns text
language sql
immutable
as $$ select p_count || ' ' || case when p_count = 1 then p_one else coalesce(p_more, p_one || 's') end $$;

comment on function tock.some is 'How many of something, in words: 1 task, 2 tasks.';
