create or replace function tock.keys_of_lease_{suffix}(p_lease uuid, p_segment integer)
returns text[] language plpgsql volatile as $$
begin
  if p_segment <> {segment} then
    return null;
  end if;
  return (
    with leased as materialized (select l.* from tock.leases_{segment} l
      where l.token = p_lease and l.alone is null)
    select coalesce(pg_catalog.array_agg(n.name order by g.queue, g.concurrency_key, n.n), '{}')
    from (
      select distinct s.queue, r.options ->> 'concurrency_key' as concurrency_key
      from leased l
      join tock.streams s on s.number = l.stream
      cross join lateral (
        select r.options from tock.runs_{segment} r
        where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
          and r.options ? 'concurrency_key'
        offset 0) r) g
    cross join lateral (select 1 as n, g.queue as name union all select 2, g.concurrency_key) n);
end $$;

comment on function tock.keys_of_lease_{suffix} is
  'The queues and concurrency keys of the runs of a lease, alternating; null for another segment.';
