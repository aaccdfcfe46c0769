-- Moves the deadline of a lease of one segment, never back. Returns the new deadline (null if the lease is
-- closed), the number of its runs, and the cancelled tasks among them. All rows of the lease get one
-- deadline, so that it expires as a whole.
create or replace function tock.extend_lease_{segment}(
  p_lease uuid, p_until timestamptz, out leased_until timestamptz, out runs integer, out cancel bigint[])
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_rows tock.lease_span[];
begin
  if tock.is_of_one(p_lease) then
    with extended as (
      update tock.leases_{segment} l set leased_until = greatest(l.leased_until, least(p_until, l.timeout_at))
      where l.stream = tock.token_stream(p_lease)
        and l.after_position = tock.token_cursor(p_lease, {first_position})
        and l.token = p_lease and coalesce(l.closed_at, 'infinity') = 'infinity'
      returning l.*)
    select min(e.leased_until), sum(e.runs)::integer,
        pg_catalog.array_agg(row(e.stream, e.after_position, e.last_position, e.skips)::tock.lease_span)
      into leased_until, runs, v_rows from extended e;
  else
    with extended as (
      update tock.leases_{segment} l set leased_until = greatest(l.leased_until, least(p_until, l.timeout_at))
      where l.token = p_lease and l.alone is null and coalesce(l.closed_at, 'infinity') = 'infinity'
      returning l.*)
    select min(e.leased_until), sum(e.runs)::integer,
        pg_catalog.array_agg(row(e.stream, e.after_position, e.last_position, e.skips)::tock.lease_span)
      into leased_until, runs, v_rows from extended e;
  end if;
  cancel := array(
    select coalesce(r.task_id, tock.id_at(r.position, r.stream))
    from unnest(v_rows) x
    cross join lateral (
      select m.* from tock.run_overrides_{segment} m
      where m.stream = x.stream and m.position > x.after_position and m.position <= x.last_position
        and m.kind = 'cancelled' offset 0) m
    join tock.runs_{segment} r on r.stream = m.stream and r.position = m.position
    where (select c.position from tock.results_{segment} c
      where c.stream = m.stream and c.position = m.position) is null
      and m.position <> all (coalesce(x.skips, '{}'))
    order by 1);
end $$;
