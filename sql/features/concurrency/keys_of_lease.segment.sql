-- The queues and concurrency keys of the runs of a lease; null for another segment.
create or replace function tock.keys_of_lease_{suffix}(
  p_lease uuid, p_segment integer, out queues text[], out concurrency_keys text[])
language plpgsql volatile as $$
begin
  if p_segment <> {segment} then
    return;
  end if;
  with leased as materialized (
    select l.* from tock.leases_{segment} l where l.token = p_lease and l.alone is null)
  select coalesce(pg_catalog.array_agg(g.queue), '{}'),
      coalesce(pg_catalog.array_agg(g.concurrency_key), '{}')
    into queues, concurrency_keys
  from (
    select distinct s.queue, r.options ->> 'concurrency_key' as concurrency_key
    from leased l
    join tock.streams s on s.number = l.stream
    cross join lateral (
      select r.options from tock.runs_{segment} r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
        and r.options ? 'concurrency_key'
      offset 0) r) g;
end $$;
