-- Called with the slot's lock held, so nobody else can register or wake a stream of this slot. Under
-- a snapshot kept from before, the stream may have gone to sleep unseen: for share then raises 40001.
create or replace function tock.open_stream(p_queue text, p_priority integer, p_lane integer, p_slot integer)
returns integer
language plpgsql
volatile
as $$
declare
  v_number integer;
  v_awake boolean;
begin
  select s.number, s.awake into v_number, v_awake from tock.streams s
  where s.queue = p_queue and s.priority = p_priority and s.lane = p_lane and s.slot = p_slot;
  if v_number is null then
    -- a conflict is a number still in use, or a stream that an old snapshot doesn't show: 40001
    for v_try in 1 .. 1000 loop
      insert into tock.streams (number, queue, priority, lane, slot, start_after)
        values (pg_catalog.nextval('tock.stream_numbers'), p_queue, p_priority, p_lane, p_slot,
          pg_catalog.nextval('tock.positions'))
        on conflict do nothing
        returning number into v_number;
      exit when v_number is not null;
    end loop;
    if v_number is null then
      perform tock.refuse(503, 'no number is free for another stream', null,
        'there are over a million: use fewer queues, priorities and lanes');
    end if;
  elsif not v_awake then
    update tock.streams s set awake = true, start_after = pg_catalog.nextval('tock.positions')
    where s.number = v_number;
  elsif pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform from tock.streams s where s.number = v_number for share;
  end if;
  return v_number;
end $$;

comment on function tock.open_stream is 'The stream of a queue, priority, lane and slot: registered when new, woken when asleep.';

create or replace function tock.cursor_of(p_stream integer)
returns bigint
language sql
stable
as $$
  select greatest(s.start_after, coalesce((
    select l.last_position from tock.leases l where l.stream = p_stream
    order by l.after_position desc limit 1), 0))
  from tock.streams s where s.number = p_stream
$$;

comment on function tock.cursor_of is 'Where a stream''s next claim starts, read through the whole tree: for duties and people, not for the hot path.';

-- Both locks of a stream are held while it is judged: no writer of its slot is at work and no claim
-- is, so what is seen empty is empty. Only streams that look empty are locked at all. Up to 16 slots a
-- call, in any order, so that one kept by an open transaction starves no other; a slot that is always
-- busy is waited for a moment, as writers who find a waiter take another.
create or replace function tock.rest(p_limit integer default 500)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_slot integer;
  v_stream integer;
  v_rested integer := 0;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409, 'rest() has to run in read committed: an older snapshot doesn''t show what was just written');
  end if;
  for v_slot in
    select s.slot from (select distinct a.slot from tock.streams a where a.awake) s
    order by pg_catalog.random() limit 16
  loop
    exit when v_rested >= p_limit;
    continue when not tock.wait_for_lock(1073741824 + v_slot);
    for v_stream in
      select s.number from tock.streams s
      where s.awake and s.slot = v_slot and (
        select r.position from tock.runs r
        where r.stream = s.number and r.position > tock.cursor_of(s.number)
        order by r.stream, r.position limit 1) is null
      limit p_limit - v_rested
    loop
      continue when not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_stream);
      update tock.streams s set awake = false
      where s.number = v_stream and s.awake
        and (select r.position from tock.runs r
             where r.stream = v_stream and r.position > tock.cursor_of(v_stream)
             order by r.stream, r.position limit 1) is null;
      v_rested := v_rested + case when found then 1 else 0 end;
    end loop;
  end loop;
  perform tock.settle_epochs();
  return v_rested;
end $$;

comment on function tock.rest is
  'Puts streams with nothing above their cursor to sleep, so that claims don''t look at them, and settles epochs; returns how many fell asleep.';

-- A transaction that was writing when the epoch ended may still commit a stream that starts in it:
-- its virtual transaction holds a slot until then (a prepared one is shown as -1/xid).
create or replace function tock.settle_epochs()
returns void
language plpgsql
volatile
as $$
declare
  v_reached bigint := (select s.last_value from tock.positions s);
  v_writers text[];
begin
  v_writers := array(
    select distinct l.virtualtransaction from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.classid = 'tock'::regnamespace
      and l.objid::bigint between 1073741824 and 1073745919
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
      and l.pid is distinct from pg_catalog.pg_backend_pid());
  update tock.epochs e set writers_at_end = v_writers
  where e.writers_at_end is null and e.end_position <= v_reached;
  update tock.epochs e set settled_at = pg_catalog.now()
  where e.settled_at is null and e.writers_at_end is not null
    and not e.writers_at_end && v_writers
    and not exists (select from unnest(v_writers) w where w like '-1/%')
    and e.end_position <= (
      select coalesce(min(greatest(s.start_after, coalesce((
        select l.after_position from tock.leases l where l.stream = s.number
        order by l.after_position desc limit 1), 0))), v_reached)
      from tock.streams s where s.awake);
  if found then
    perform tock.write_hot();
  end if;
end $$;

comment on function tock.settle_epochs is
  'Marks epochs that no claim needs to read any more: ended, their writers gone, every awake stream''s newest lease beyond them.';
