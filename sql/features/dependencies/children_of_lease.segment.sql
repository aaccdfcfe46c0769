create or replace function tock.children_of_lease_{suffix}(p_lease uuid)
returns bigint[] language sql volatile as $$
  select array(
    select distinct x.child from tock.lease_rows_{segment}(p_lease) l
    cross join lateral (
      select x.child from tock.dependency_waits x
      where x.stream = l.stream and x.position > l.after_position
        and x.position <= l.last_position offset 0) x)
$$;

comment on function tock.children_of_lease_{suffix} is 'The children that wait for runs of a lease.';
