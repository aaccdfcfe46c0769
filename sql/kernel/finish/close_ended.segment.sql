-- Closes the rows of a lease of one segment whose runs have all ended; null for another segment.
create or replace function tock.close_ended_{suffix}(p_lease uuid, p_segment integer)
returns boolean language plpgsql volatile as $$
begin
  if p_segment <> {segment} then
    return null;
  elsif tock.is_of_one(p_lease) then
    update tock.leases_{segment} l set closed_at = now(), outcome = 'done'
    from (
      select l.stream, l.after_position from tock.leases_{segment} l
      where l.stream = tock.token_stream(p_lease)
        and l.after_position = tock.token_cursor(p_lease, {first_position})
        and l.token = p_lease and coalesce(l.closed_at, 'infinity') = 'infinity'
        and l.runs = (
          select count(*) from tock.results_{segment} e
          where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)
      for update skip locked) c
    where l.stream = c.stream and l.after_position = c.after_position;
  else
    update tock.leases_{segment} l set closed_at = now(), outcome = 'done'
    from (
      select l.stream, l.after_position from tock.leases_{segment} l
      where l.token = p_lease and l.alone is null and coalesce(l.closed_at, 'infinity') = 'infinity'
        and l.runs = (
          select count(*) from tock.results_{segment} e
          where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)
      for update skip locked) c
    where l.stream = c.stream and l.after_position = c.after_position;
  end if;
  return true;
end $$;
