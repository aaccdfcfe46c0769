-- What the Worker refuses to send to it tells by the task's error: no setting of its is known here.
create or replace function tock.doctor_of_push()
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
as $$
begin
  return query
  select case when g.gone then 'endpoints are gone' else 'pushes are refused' end, 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s (%s, the newest %s%s)', g.queue, tock.some(g.tasks::bigint, 'task'), g.newest_id,
      case when not g.gone then pg_catalog.substr(g.error, 13) end), ', ' order by g.queue),
    case when g.gone then 'they answered 410: mend push in the queue''s policy, then redrive what is dead'
      else 'give push in the queue''s policy, or dead_webhook, a public https URL, then redrive what is dead; a task keeps its own push_url: enqueue it anew' end
  from (
    select q.name as queue, d.gone, sum(d.tasks) as tasks, max(d.newest_id) as newest_id,
      (pg_catalog.array_agg(d.error order by d.newest_id desc))[1] as error,
      row_number() over (partition by d.gone order by q.name) as n
    from (select q.name from tock.queues q where q.push is not null order by q.name limit 100) q
    cross join lateral (
      select d.*, d.error like '410 %' as gone from tock.dead_groups(q.name, 100, 1000) d
      where (d.error like '410 %' or d.error like 'push refused: %') and d.newest_at > pg_catalog.now() - interval '1 day') d
    group by q.name, d.gone) g
  where g.n <= 5
  group by g.gone;
end $$;

comment on function tock.doctor_of_push is 'What doctor() says of queues with push whose endpoints are gone, or which the Worker refuses to push to.';
