create or replace function tock.doctor_of_push()
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
as $$
begin
  return query
  select 'endpoints are gone', 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s (%s, the newest %s)', g.queue, tock.some(g.tasks::bigint, 'task'), g.newest_id), ', ' order by g.queue),
    'they answered 410: mend push in the queue''s policy, then redrive what is dead'
  from (
    select q.name as queue, sum(d.tasks) as tasks, max(d.newest_id) as newest_id
    from (select q.name from tock.queues q where q.push is not null order by q.name limit 100) q
    cross join lateral tock.dead_groups(q.name, 100, 1000) d
    where d.error like '410 %' and d.newest_at > pg_catalog.clock_timestamp() - interval '1 day'
    group by q.name order by q.name limit 5) g
  having count(*) > 0;
end $$;

comment on function tock.doctor_of_push is 'What doctor() says of queues with push whose endpoints are gone.';
