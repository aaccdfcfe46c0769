create or replace function tock.ended_gates_{suffix}(p_epoch integer, p_ended tock.ending[])
returns text[]
language plpgsql
volatile
as $$
begin
  if p_epoch <> {segment} then
    return null;
  end if;
  return (
    select coalesce(pg_catalog.array_agg(n.name order by g.queue, g.gate, n.n), '{}')
    from (
      select distinct s.queue, r.options ->> 'gate' as gate
      from unnest(p_ended) e
      join tock.streams s on s.number = e.stream
      cross join lateral (
        select r.options from tock.runs_{segment} r
        where r.stream = e.stream and r.position = e.position and r.options ? 'gate'
        offset 0) r) g
    cross join lateral (select 1 as n, g.queue as name union all select 2, g.gate) n);
end $$;

comment on function tock.ended_gates_{suffix} is
  'The queues and gates of runs that ended, in turn; null when another segment is meant.';
