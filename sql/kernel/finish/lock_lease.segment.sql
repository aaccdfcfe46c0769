create or replace function tock.lock_lease_{suffix}(p_lease uuid)
returns void language plpgsql volatile as $$
begin
  if tock.is_of_one(p_lease) then
    perform from tock.leases_{segment} l
    where l.stream = tock.token_stream(p_lease)
      and l.after_position = tock.token_cursor(p_lease, {first_position})
      and l.token = p_lease
    for no key update;
  else
    perform from tock.leases_{segment} l where l.token = p_lease and l.alone is null for no key update;
  end if;
end $$;

comment on function tock.lock_lease_{suffix} is
  'Locks the rows of a lease against every other call that ends part of it.';
