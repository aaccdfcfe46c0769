-- Findings about queues with push whose endpoints are gone, or to which the Worker refuses to push. The error
-- of a dead task shows what the Worker refuses to push: SQL does not know the settings of the Worker.
create or replace function tock.doctor_of_push()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with dead as materialized (
    select q.name as queue, d.error like '410 %' as gone, sum(d.tasks) as tasks,
      max(d.newest_id) as newest_id,
      (pg_catalog.array_agg(d.error order by d.newest_id desc))[1] as error
    from (select q.name from tock.queues q where q.push is not null order by q.name limit 100) q
    cross join lateral tock.dead_groups(q.name, 100, 1000) d
    where (d.error like '410 %' or d.error like 'push refused: %')
      and d.newest_at > pg_catalog.clock_timestamp() - interval '1 day'
    group by 1, 2
  )
  select 'endpoints are gone', 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s (%s, the newest %s)', g.queue,
      tock.some(g.tasks::bigint, 'task'), g.newest_id), ', ' order by g.queue),
    'they answered 410: correct push in the policy of the queue, then redrive the dead tasks'
  from (select * from dead d where d.gone order by d.queue limit 5) g
  having count(*) > 0
  union all
  select 'pushes are refused', 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s (%s, the newest %s%s)', r.queue,
      tock.some(r.tasks::bigint, 'task'), r.newest_id,
      pg_catalog.substr(r.error, pg_catalog.length('push refused') + 1)), ', ' order by r.queue),
    'set push or dead_webhook of the queue to a public https URL, then redrive the dead tasks; a '
    'task keeps its own push_url: enqueue it again'
  from (select * from dead d where not d.gone order by d.queue limit 5) r
  having count(*) > 0
$$;
