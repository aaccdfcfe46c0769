-- True if a queue has an open lease, among the next 1,000 of each segment to expire.
create or replace function tock.has_open_lease(p_queue text)
returns boolean language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_segment integer;
  v_exists boolean;
begin
  foreach v_segment in array tock.open_segments() loop
    execute pg_catalog.format('select exists (
      select from (
        select l.stream from tock.leases_%s l
        where l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp()
        order by l.leased_until limit 1000) l
      cross join lateral (select s.queue from tock.streams s where s.number = l.stream offset 0) s
      where s.queue = $1)', v_segment) into v_exists using p_queue;
    if v_exists then
      return true;
    end if;
  end loop;
  return false;
end $$;
