-- Findings about ten or more dead tasks with the same error, the newest within the hour. The index of dead
-- results has the streams with dead tasks. Up to 200 of them are read, from the second newest open segment
-- on, and up to 20 queues.
create or replace function tock.doctor_of_dead_tasks()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with recursive recent as materialized (
    select min(e.first_position) as first_position from (
      select e.first_position from tock.segments e
      where e.number = any (tock.open_segments()) order by e.number desc limit 2) e
  ), dead (stream, n) as (
    (select e.stream, 1 from tock.results e
     where e.next_id is null and e.state in ('failed', 'lost')
       and e.position >= (select r.first_position from recent r)
     order by e.stream limit 1)
    union all
    select (select e.stream from tock.results e
      where e.next_id is null and e.state in ('failed', 'lost') and e.stream > d.stream
        and e.position >= (select r.first_position from recent r)
      order by e.stream limit 1), d.n + 1
    from dead d where d.stream is not null and d.n < 200
  ), queues as materialized (
    select distinct s.queue from dead d join tock.streams s on s.number = d.stream order by s.queue limit 20)
  select 'tasks die of the same error', 'warning',
    pg_catalog.format('%s%s of queue %s, the newest %s: %s', case when not d.counted_all then 'at least ' end,
      d.tasks, d.queue, d.newest_id, coalesce(d.error, 'without an error')),
    pg_catalog.format('see tock task %s; once that is fixed: tock redrive %s%s', d.newest_id, d.queue,
      ' --error ''' || pg_catalog.replace(d.error, '''', '''\''''') || '''')
  from (
    select q.queue, g.* from queues q cross join lateral tock.dead_groups(q.queue, 3, 1000) g
    where g.tasks >= 10 and g.newest_at > pg_catalog.clock_timestamp() - interval '1 hour'
    order by g.tasks desc limit 5) d
$$;
