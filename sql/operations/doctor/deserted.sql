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

-- True if a run waited before and has been ready only since p_since. The newest 10,000 promotions are those
-- of the last minutes, so they show whether promotion has just made the run ready.
create or replace function tock.just_promoted(p_run bigint, p_since timestamptz)
returns boolean language plpgsql volatile as $$
begin
  return exists (
    select from (select p.run_id, p.promoted_at from tock.promotions p order by p.due_at desc limit 10000) n
    where n.run_id = p_run and n.promoted_at > p_since);
end $$;
