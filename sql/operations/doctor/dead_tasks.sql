-- The index of dead results has the streams with dead tasks, in the two newest open segments.
create or replace function tock.queues_with_dead()
returns text[] language plpgsql volatile as $$
declare
  v_segment integer;
  v_part text[];
  v_queues text[] := '{}';
begin
  for v_segment in
    select u from unnest(tock.open_segments()) u order by u desc limit 2
  loop
    execute pg_catalog.format($q$
      with recursive dead (stream, n) as (
        (select e.stream, 1 from tock.results_%1$s e where e.next_id is null and e.state in ('failed', 'lost')
         order by e.stream limit 1)
        union all
        select (select e.stream from tock.results_%1$s e
          where e.next_id is null and e.state in ('failed', 'lost')
          and e.stream > d.stream order by e.stream limit 1), d.n + 1
        from dead d where d.stream is not null and d.n < 200)
      select array(select distinct s.queue::text from dead d join tock.streams s on s.number = d.stream)$q$,
        v_segment) into v_part;
    v_queues := v_queues || v_part;
  end loop;
  return array(select distinct q from unnest(v_queues) q order by q limit 20);
end $$;

comment on function tock.queues_with_dead is
  'Up to 20 queues with recently dead tasks, from 200 streams of the two newest segments.';

create or replace function tock.doctor_of_dead_tasks()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'tasks die of the same error', 'warning',
    pg_catalog.format('%s%s of queue %s, the newest %s: %s', case when not d.counted_all then 'at least ' end,
      d.tasks, d.queue, d.newest_id, coalesce(d.error, 'without an error')),
    pg_catalog.format('see tock task %s; once that is fixed: tock redrive %s', d.newest_id, d.queue)
  from (
    select q as queue, g.* from unnest(tock.queues_with_dead()) q
    cross join lateral tock.dead_groups(q, 3, 1000) g
    where g.tasks >= 10 and g.newest_at > pg_catalog.clock_timestamp() - interval '1 hour'
    order by g.tasks desc limit 5) d
$$;

comment on function tock.doctor_of_dead_tasks is
  'Findings about ten or more dead tasks with the same error, the newest within the hour.';
