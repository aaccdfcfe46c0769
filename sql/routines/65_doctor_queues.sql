-- One tenant alone in its lane harms nobody, and needs no other lane.
create or replace function tock.doctor_of_queues()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  with looked as materialized (
    select * from tock.glance_at_queues()
  ), queues as materialized (
    select l.queue, tock.is_paused(q) as paused, min(l.ready_at) as ready_at
    from looked l join tock.queues q on q.name = l.queue group by l.queue, q)
  (select 'a paused queue keeps tasks', 'warning',
    pg_catalog.format('queue %s is paused, and a task in it is ready since %s', q.queue, tock.utc(q.ready_at)),
    pg_catalog.format('select tock.put_queue(%L, ''{"paused": false}''), or tock purge %s', q.queue, q.queue)
  from queues q
  where q.ready_at < pg_catalog.clock_timestamp() - interval '1 day' and q.paused
  order by q.ready_at limit 5)
  union all
  (select 'tasks lose their workers again and again', 'warning',
    pg_catalog.format('task %s of queue %s: %s runs whose worker vanished', l.lost_id, l.queue, l.lost),
    pg_catalog.format('see whether it ends its worker (memory, a crash) or takes longer than its lease: tock task %1$s; to give it up: tock cancel %1$s', l.lost_id)
  from looked l where l.lost_id is not null order by l.lost desc, l.lost_id limit 5)
  union all
  (select 'a lane has nearly all of a queue', 'warning',
    pg_catalog.format('lane %s of queue %s has at least %s tasks ready of several tenants, all the others together %s', l.lane, l.queue,
      l.ready, l.others),
    pg_catalog.format('tenants that share a lane wait for each other: select tock.put_queue(%L, ''{"lanes": %s}'')', l.queue,
      least(64, 4 * (l.policy).lanes))
  from (
    select l.queue, l.lane, sum(l.ready) as ready, max(l.tenants) as tenants, sum(sum(l.ready)) over (partition by l.queue) - sum(l.ready) as others,
      q as policy
    from looked l join tock.queues q on q.name = l.queue group by l.queue, l.lane, q) l
  where l.tenants > 1 and l.ready >= 200 and 20 * l.others < l.ready and (l.policy).lanes < 64
  order by l.ready desc, l.queue limit 5)
$$;

comment on function tock.doctor_of_queues is 'What doctor() says of paused queues with tasks, of tasks that end their workers, and of lanes.';
