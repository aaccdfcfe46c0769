-- Called with the slot's lock held, so nobody else can register or wake a stream of this slot. Under
-- a snapshot kept from before, the stream may have gone to sleep unseen: for share then raises 40001.
-- No position may be taken that isn't above the stream's newest run: it would lie below a cursor or
-- within a leased range, and never be handed out.
create or replace function tock.open_stream(p_queue text, p_priority integer, p_lane integer, p_slot integer)
returns integer
language plpgsql
volatile
as $$
declare
  v_number integer;
  v_awake boolean;
  v_newest bigint;
begin
  select s.number, s.awake, s.start_after into v_number, v_awake, v_newest from tock.streams s
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
    return v_number;
  end if;
  if tock.above_hot(v_number, v_newest) is not true then
    perform tock.check_sequence(greatest(v_newest, tock.newest_run(v_number)));
  end if;
  if not v_awake then
    update tock.streams s set awake = true, start_after = pg_catalog.nextval('tock.positions')
    where s.number = v_number;
  elsif pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform from tock.streams s where s.number = v_number for share;
  end if;
  return v_number;
end $$;

comment on function tock.open_stream is 'The stream of a queue, priority, lane and slot: registered when new, woken when asleep. TK503 when the sequence is behind it.';

create or replace function tock.check_sequence(p_taken bigint)
returns void
language plpgsql
volatile
as $$
begin
  if p_taken > (select s.last_value from tock.positions s)
    or (pg_catalog.pg_sequence_parameters('tock.positions'::regclass)).cache_size <> 1
  then
    perform tock.refuse(503, pg_catalog.format('the sequence tock.positions is behind what is stored (%s), or cached', p_taken),
      null, 'the duty guard mends it within a minute, or now: select tock.run_duty(''guard'')');
  end if;
end $$;

comment on function tock.check_sequence is
  'TK503 when the next position may not be above p_taken: the sequence was set back, or sessions keep some of it.';

-- Ids of what waits are positions without a stream. Those promoted stay known, append-only.
create or replace function tock.check_waiting_ids()
returns void
language plpgsql
volatile
as $$
begin
  perform tock.check_sequence(coalesce((select p.position from tock.promotions p order by p.position desc limit 1), 0));
end $$;

comment on function tock.check_waiting_ids is 'TK503 when an id for a waiting entry might be given out twice.';

-- Asked once they are stored: the sequence may have been set back and have come up again since it was looked
-- at. What still waits refuses the id by its key, and what was promoted had been committed by then. Nearly
-- always the newest that was promoted is below, and nothing more is read. The next attempts of tasks aren't asked
-- about: there such a position is no task's id, but what is told of the task whose id it was would be another's.
create or replace function tock.check_new_ids(p_ids bigint[])
returns void
language plpgsql
volatile
as $$
declare
  v_least bigint := (select min(i >> 20) from unnest(p_ids) i where i & 1048575 = 0);
  v_taken bigint;
begin
  if v_least <= (select p.position from tock.promotions p order by p.position desc limit 1) then
    v_taken := (
      select min(i >> 20) from unnest(p_ids) i
      where i & 1048575 = 0 and (select p.position from tock.promotions p where p.position = i >> 20) is not null);
    if v_taken is not null then
      perform tock.refuse(503, pg_catalog.format('the sequence tock.positions gave out %s once more', v_taken), null,
        'the duty guard mends it within a minute, or now: select tock.run_duty(''guard'')');
    end if;
  end if;
end $$;

comment on function tock.check_new_ids is 'TK503 when an id that was just given to a waiting entry is another task''s.';

create or replace function tock.newest_run(p_stream integer)
returns bigint
language plpgsql
volatile
as $$
declare
  v_epoch integer;
  v_newest bigint;
begin
  for v_epoch in select e.number from tock.epochs e order by e.number desc loop
    execute pg_catalog.format('select r.position from tock.runs_%s r where r.stream = $1
      order by r.stream desc, r.position desc limit 1', v_epoch) into v_newest using p_stream;
    exit when v_newest is not null or v_epoch <= tock.newest_epoch();
  end loop;
  return v_newest;
end $$;

comment on function tock.newest_run is
  'A stream''s newest run, as far as it can lie above the next position: in the epoch in use or a later one. Null when there is none.';

-- A slot's lock is held while its streams are judged: no writer is at work, so what looks empty is
-- empty, and stays so. What is claimed meanwhile only looks the less empty. Up to 16 slots a call, in any
-- order, so that one kept by an open transaction starves no other; a slot that is always busy is waited
-- for a moment, as writers who find a waiter take another. start_after is left at the stream's end, for
-- the guard to see.
create or replace function tock.rest(p_limit integer default 20000)
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
  v_hot tock.epochs;
  v_slot integer;
  v_stream integer;
  v_count integer;
  v_rested integer := 0;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409, 'rest() has to run in read committed: an older snapshot doesn''t show what was just written');
  end if;
  -- with the sequence set back, what lies above it would not be looked at
  perform tock.guard_now();
  for v_slot in
    select s.slot from (select distinct a.slot from tock.streams a where a.awake) s
    order by pg_catalog.random() limit 16
  loop
    exit when v_rested >= p_limit;
    continue when not tock.wait_for_lock(1073741824 + v_slot);
    -- only now: its writers may have gone on to another epoch until then
    select e.* into v_hot from tock.epochs e where e.number = tock.newest_epoch();
    execute pg_catalog.format($q$
      update tock.streams s set awake = false, start_after = greatest(s.start_after, coalesce((
          select l.last_position from tock.leases_%1$s l where l.stream = s.number
          order by l.stream desc, l.after_position desc limit 1), 0))
      where s.number = any (array(
        select t.number from tock.streams t
        where t.awake and t.slot = $1 and t.start_after >= $2 - 1 and (
          select r.position from tock.runs_%1$s r
          where r.stream = t.number and r.position > greatest(t.start_after, coalesce((
            select l.last_position from tock.leases_%1$s l where l.stream = t.number
            order by l.stream desc, l.after_position desc limit 1), 0))
          order by r.stream, r.position limit 1) is null
        limit $3))$q$, v_hot.number) using v_slot, v_hot.first_position, p_limit - v_rested;
    get diagnostics v_count = row_count;
    v_rested := v_rested + v_count;
    for v_stream in
      select s.number from tock.streams s
      where s.awake and s.slot = v_slot and s.start_after < v_hot.first_position - 1
      order by pg_catalog.random() limit least(1000, p_limit - v_rested)
    loop
      if tock.first_unread(v_stream, tock.cursor_of(v_stream)) is null then
        update tock.streams s set awake = false, start_after = tock.cursor_of(v_stream) where s.number = v_stream;
        v_rested := v_rested + 1;
      end if;
    end loop;
  end loop;
  return v_rested;
end $$;

comment on function tock.rest is
  'Puts streams with nothing above their cursor to sleep, so that claims don''t look at them; returns how many.';
