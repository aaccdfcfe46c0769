-- Finer buckets: 47 bounds instead of 16, all of the old ones among them, so that what is counted up to each of those stays.
-- What lay between two old bounds comes to lie below the higher one.
lock table tock.counting, tock.minutes, tock.totals in access exclusive mode;

update tock.totals t set wait = (
    select pg_catalog.array_agg(coalesce(o.n, 0) order by b.place)
    from unnest(f.new) with ordinality b (bound, place)
    left join lateral unnest(t.wait, f.old) o (n, bound) on o.bound = b.bound
    where t.wait is not null),
  run = (
    select pg_catalog.array_agg(coalesce(o.n, 0) order by b.place)
    from unnest(f.new) with ordinality b (bound, place)
    left join lateral unnest(t.run, f.old) o (n, bound) on o.bound = b.bound
    where t.run is not null)
from (
  select array[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 'Infinity']::float8[] as old,
    array[0.005, 0.007, 0.01, 0.016, 0.025, 0.035, 0.05, 0.07, 0.1, 0.16, 0.25, 0.35, 0.5, 0.7, 1, 1.6, 2.5, 3.5, 5, 7, 10, 15, 20, 30, 45,
      60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700,
      3600, 5400, 7200, 10800, 14400, 21600, 28800, 43200, 57600, 86400, 'Infinity']::float8[] as new) f
where t.wait is not null or t.run is not null;

update tock.minutes t set wait = (
    select pg_catalog.array_agg(coalesce(o.n, 0) order by b.place)
    from unnest(f.new) with ordinality b (bound, place)
    left join lateral unnest(t.wait, f.old) o (n, bound) on o.bound = b.bound
    where t.wait is not null),
  run = (
    select pg_catalog.array_agg(coalesce(o.n, 0) order by b.place)
    from unnest(f.new) with ordinality b (bound, place)
    left join lateral unnest(t.run, f.old) o (n, bound) on o.bound = b.bound
    where t.run is not null)
from (
  select array[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 'Infinity']::float8[] as old,
    array[0.005, 0.007, 0.01, 0.016, 0.025, 0.035, 0.05, 0.07, 0.1, 0.16, 0.25, 0.35, 0.5, 0.7, 1, 1.6, 2.5, 3.5, 5, 7, 10, 15, 20, 30, 45,
      60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700,
      3600, 5400, 7200, 10800, 14400, 21600, 28800, 43200, 57600, 86400, 'Infinity']::float8[] as new) f
where t.wait is not null or t.run is not null;
