-- The segment of the next run of a stream and the cursor to claim it from; null if none is left. The caller
-- holds the stream lock. If the next run lies in a later segment than the cursor, a skip lease covers the gap
-- up to just before that run. A claim that is its whole transaction also moves start_after up. Other claims
-- do not: they would keep the row lock until their transaction ends, and block writers with old snapshots.
create or replace function tock.resolve_cursor(p_stream integer, p_own_transaction boolean)
returns tock.stream_cursor language plpgsql volatile as $$
declare
  v_at tock.stream_cursor;
  v_first bigint;
begin
  v_at.after_position := tock.cursor_of(p_stream);
  v_first := tock.first_unread(p_stream, v_at.after_position);
  if v_first is null then
    return null;
  end if;
  v_at.segment := tock.segment_of(v_first);
  if tock.segment_of(v_at.after_position + 1) is distinct from v_at.segment then
    perform tock.skip_range(p_stream, v_at.after_position, v_first - 1, 0);
    v_at.after_position := v_first - 1;
  end if;
  if p_own_transaction then
    update tock.streams s set start_after = v_at.after_position
    where s.number = any (array(
      select t.number from tock.streams t
      where t.number = p_stream and t.awake and t.start_after < (
        select e.first_position - 1 from tock.segments e where e.number = v_at.segment)
      for update skip locked));
  end if;
  return v_at;
end $$;
