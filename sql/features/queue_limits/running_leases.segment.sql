-- The number of unfinished runs of these leases of one segment, and the leases that have any. A lease whose
-- runs have all ended cannot have running runs again, so it is left out.
create or replace function tock.running_leases_{segment}(p_tokens uuid[], out runs integer, out tokens uuid[])
language sql volatile as $$
  with leased as materialized (
    select l.* from unnest(p_tokens) t (token) cross join lateral (
      select r.* from tock.lease_rows_{segment}(t.token) r offset 0) l
    where coalesce(l.closed_at, 'infinity') = 'infinity')
  select coalesce(sum(o.runs), 0)::integer, coalesce(pg_catalog.array_agg(distinct o.token), '{}')
  from (
    select l.token, l.runs - x.ended as runs from leased l
    cross join lateral (
      select count(*) as ended from tock.results_{segment} e
      where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position
        and e.position <> all (coalesce(l.skips, '{}')) offset 0) x) o
  where o.runs > 0
$$;
