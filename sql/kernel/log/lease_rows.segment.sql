-- The rows of a lease of either kind: one run, or ranges of runs. PostgreSQL inlines this function into the
-- statement that selects from it.
create or replace function tock.lease_rows_{segment}(p_lease uuid)
returns setof tock.leases language sql stable as $$
  select l.* from tock.leases_{segment} l
  where l.token = p_lease and l.alone is null and not tock.is_of_one(p_lease)
  union all
  select l.* from tock.leases_{segment} l
  where l.stream = tock.token_stream(p_lease)
    and l.after_position = tock.token_cursor(p_lease, {first_position})
    and l.token = p_lease and tock.is_of_one(p_lease)
$$;
