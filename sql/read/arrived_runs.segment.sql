-- The runs added to a stream in the segment since the last count (up to a million), how many of them were
-- leased, and up to which position.
create or replace function tock.arrived_runs_{segment}(p_stream integer, p_runs_to bigint, p_leases_to bigint)
returns table (runs bigint, leased bigint, last_position bigint) language sql stable as $$
  select (
      select count(*) from (
        select from tock.runs_{segment} r where r.stream = p_stream and r.position > p_runs_to
        order by r.stream, r.position limit 1000000) x), l.leased, l.last_position
  from (
    select coalesce(sum(l.runs + l.skipped), 0) as leased, max(l.last_position) as last_position
    from tock.leases_{segment} l where l.stream = p_stream and l.after_position >= p_leases_to) l
  offset 0
$$;
