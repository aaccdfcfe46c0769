-- The queues and concurrency keys of ended runs; null for another segment.
create or replace function tock.keys_of_ended_runs_{suffix}(
  p_segment integer, p_ended tock.ending[], out queues text[], out concurrency_keys text[])
language plpgsql volatile as $$
begin
  if p_segment <> {segment} then
    return;
  end if;
  select coalesce(pg_catalog.array_agg(g.queue), '{}'),
      coalesce(pg_catalog.array_agg(g.concurrency_key), '{}')
    into queues, concurrency_keys
  from (
    select distinct s.queue, r.options ->> 'concurrency_key' as concurrency_key
    from unnest(p_ended) e
    join tock.streams s on s.number = e.stream
    cross join lateral (
      select r.options from tock.runs_{segment} r
      where r.stream = e.stream and r.position = e.position and r.options ? 'concurrency_key'
      offset 0) r) g;
end $$;
