-- The stream of a queue, priority, lane and slot; it is registered or woken if necessary. TK503 if the
-- sequence is behind its newest run. The caller holds the lock of the slot, so no other session registers or
-- wakes a stream of that slot. An older snapshot may not show that the stream was put to rest; for share then
-- raises 40001. A new position must be above the newest run of its stream. Otherwise it could lie below the
-- cursor or in a leased range, and no claim would return the run.
create or replace function tock.open_stream(p_queue text, p_priority integer, p_lane integer, p_slot integer)
returns integer language plpgsql volatile as $$
declare
  v_number integer;
  v_awake boolean;
  v_newest bigint;
begin
  select s.number, s.awake, s.start_after into v_number, v_awake, v_newest from tock.streams s
  where s.queue = p_queue and s.priority = p_priority and s.lane = p_lane and s.slot = p_slot;
  if v_number is null then
    -- a conflict means that the number is in use; if an old snapshot hides the stream, the insert raises
    -- 40001
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
        'there are over a million streams: use fewer queues, priorities and lanes');
    end if;
    return v_number;
  end if;
  if tock.is_above_runs(v_number, v_newest) is not true then
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

-- The newest run of a stream, if it can lie above the next position: in the current segment or a later one.
-- Null if there is none.
create or replace function tock.newest_run(p_stream integer)
returns bigint language plpgsql volatile as $$
declare
  v_segment integer;
  v_newest bigint;
begin
  for v_segment in select e.number from tock.segments e order by e.number desc loop
    execute pg_catalog.format('select r.position from tock.runs_%s r where r.stream = $1
      order by r.stream desc, r.position desc limit 1', v_segment) into v_newest using p_stream;
    exit when v_newest is not null or v_segment <= tock.newest_segment();
  end loop;
  return v_newest;
end $$;
