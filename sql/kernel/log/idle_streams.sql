-- The call holds the lock of a slot while it checks the streams of that slot. No writer is active meanwhile,
-- so a stream without unclaimed runs keeps none. A concurrent claim can only make a stream seem to have more
-- of them than it has. One call takes up to 16 slots in random order, so that a slot locked by an open
-- transaction does not starve the others. It waits up to 50 ms for a busy slot. Writers cannot take a slot
-- that a session waits for, and use the next. start_after keeps the end of the stream for the guard.
create or replace function tock.deactivate_streams(p_limit integer default 20000)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_newest tock.segments;
  v_slot integer;
  v_stream integer;
  v_count integer;
  v_rested integer := 0;
begin
  perform tock.check_read_committed('deactivate_streams');
  -- if the sequence was set back, the checks below would miss runs above it
  perform tock.guard_before_use();
  for v_slot in
    select s.slot from (select distinct a.slot from tock.streams a where a.awake) s
    order by pg_catalog.random() limit 16
  loop
    exit when v_rested >= p_limit;
    continue when not tock.wait_for_lock(1073741824 + v_slot);
    -- read with the slot locked: before that, its writers may have gone on to another segment
    select e.* into v_newest from tock.segments e where e.number = tock.newest_segment();
    execute pg_catalog.format('select tock.deactivate_idle_streams_%s($1, $2)', v_newest.number)
      into v_count using v_slot, p_limit - v_rested;
    v_rested := v_rested + v_count;
    for v_stream in
      select s.number from tock.streams s
      where s.awake and s.slot = v_slot and s.start_after < v_newest.first_position - 1
      order by pg_catalog.random() limit least(1000, p_limit - v_rested)
    loop
      if tock.first_unread(v_stream, tock.cursor_of(v_stream)) is null then
        update tock.streams s set awake = false, start_after = tock.cursor_of(v_stream)
        where s.number = v_stream;
        v_rested := v_rested + 1;
      end if;
    end loop;
  end loop;
  return v_rested;
end $$;

comment on function tock.deactivate_streams is
  'Puts streams to rest that have no runs above their cursor, so that claims skip them; returns the number.';
