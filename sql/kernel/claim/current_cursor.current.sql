-- The cursor of a stream in the current segment; null if resolve_cursor() has to find it.
create or replace function tock.current_cursor(p_stream integer)
returns tock.stream_cursor language plpgsql volatile as $$
begin
  return (
    select row({segment}, c.after_position)::tock.stream_cursor
    from (
      select greatest(s.start_after, coalesce((
        select l.last_position from tock.leases_{segment} l where l.stream = p_stream
        order by l.stream desc, l.after_position desc limit 1), 0)) as after_position
      from tock.streams s where s.number = p_stream and s.start_after >= {first_position} - 1) c
    where (select r.position from tock.runs_{segment} r
      where r.stream = p_stream and r.position > c.after_position
      order by r.stream, r.position limit 1) is not null);
end $$;
