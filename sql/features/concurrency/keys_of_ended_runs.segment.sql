create or replace function tock.keys_of_ended_runs_{suffix}(p_segment integer, p_ended tock.ending[])
returns text[] language plpgsql volatile as $$
begin
  if p_segment <> {segment} then
    return null;
  end if;
  return (
    select coalesce(pg_catalog.array_agg(n.name order by g.queue, g.concurrency_key, n.n), '{}')
    from (
      select distinct s.queue, r.options ->> 'concurrency_key' as concurrency_key
      from unnest(p_ended) e
      join tock.streams s on s.number = e.stream
      cross join lateral (
        select r.options from tock.runs_{segment} r
        where r.stream = e.stream and r.position = e.position and r.options ? 'concurrency_key'
        offset 0) r) g
    cross join lateral (select 1 as n, g.queue as name union all select 2, g.concurrency_key) n);
end $$;

comment on function tock.keys_of_ended_runs_{suffix} is
  'The queues and concurrency keys of ended runs, alternating; null for another segment.';
