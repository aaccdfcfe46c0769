-- Findings about queues whose tasks are not claimed or pushed, tasks that lose their workers, and lanes. The
-- limits are 5 minutes with push, else 10: a push takes seconds, a worker may claim once a minute, and with a
-- rate both may have to wait for it. A single tenant in a lane delays no other tenant and needs no more
-- lanes.
create or replace function tock.doctor_of_queues()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with looked as materialized (
    select * from tock.glance_at_queues()
  ), queues as materialized (
    select q.name as queue, q.push is not null as pushed, tock.is_paused(q) as paused, sum(l.ready) as ready,
      min(l.ready_at) as ready_at,
      (pg_catalog.array_agg(l.ready_run order by l.ready_at))[1] as ready_run, max(l.active_at) as active_at,
      bool_or(l.at_work) as at_work, pg_catalog.clock_timestamp() - case when q.push is null
        then interval '10 minutes' else interval '5 minutes' end
        - case when q.rate_limit is null then interval '0 s'
          else q.rate_seconds * interval '1 second' end as since
    from looked l join tock.queues q on q.name = l.queue group by q.name
  ), deserted as materialized (
    select q.* from (
      select * from queues q
      where not q.paused and not q.at_work and q.ready_at < q.since and coalesce(q.active_at < q.since, true)
      order by q.ready_at limit 20) q
    where not tock.has_open_lease(q.queue)
      -- the newest 10,000 promotions, of the last minutes, show whether one has just made the run ready
      and not exists (
        select from (
          select p.run_id, p.promoted_at from tock.promotions p order by p.due_at desc limit 10000) n
        where n.run_id = q.ready_run and n.promoted_at > q.since))
  (select 'no worker claims from a queue', 'warning',
    pg_catalog.format('a task of queue %s has been ready since %s, and none was claimed since %s', d.queue,
      tock.utc(d.ready_at),
      coalesce(tock.utc(d.active_at), 'then')),
    pg_catalog.format(
      'start a worker for it, or, if the Worker consumes it, check that its alarm, its scheduled handler '
      'or POST /v1/tick is called; '
      'if the queue is no longer needed: tock drop %s --force', d.queue)
  from deserted d where not d.pushed order by d.ready_at limit 5)
  union all
  select 'tasks are not pushed', 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s (%s%s ready, the oldest since %s)', d.queue,
      case when d.ready >= 200 then 'at least ' end, d.ready, tock.utc(d.ready_at)), ', '
    order by d.ready_at),
    'set TOCK_PUSH_SECRET of the Worker, and check that its scheduled handler or POST /v1/tick is called'
  from (select * from deserted d where d.pushed order by d.ready_at limit 5) d
  having count(*) > 0
  union all
  (select 'a paused queue has ready tasks', 'warning',
    pg_catalog.format('queue %s is paused, and one of its tasks has been ready since %s', q.queue,
      tock.utc(q.ready_at)),
    pg_catalog.format('select tock.put_queue(%L, ''{"paused": false}''), or tock purge %s', q.queue, q.queue)
  from queues q
  where q.ready_at < pg_catalog.clock_timestamp() - interval '1 day' and q.paused
  order by q.ready_at limit 5)
  union all
  (select 'tasks lose their workers again and again', 'warning',
    pg_catalog.format('task %s of queue %s: %s runs whose worker vanished', l.lost_id, l.queue, l.lost),
    pg_catalog.format(
      'check whether it kills its worker (memory, a crash) or takes longer than its lease: tock task %1$s; '
      'to give it up: tock cancel %1$s', l.lost_id)
  from looked l where l.lost_id is not null order by l.lost desc, l.lost_id limit 5)
  union all
  (select 'a lane has nearly all tasks of a queue', 'warning',
    pg_catalog.format(
      'lane %s of queue %s has at least %s ready tasks of several tenants, all other lanes together %s',
      l.lane, l.queue, l.ready, l.others),
    pg_catalog.format(
      'tenants in one lane wait for each other: select tock.put_queue(%L, ''{"lanes": %s}'')', l.queue,
      least(64, 4 * (l.policy).lanes))
  from (
    select l.queue, l.lane, sum(l.ready) as ready, max(l.tenants) as tenants,
      sum(sum(l.ready)) over (partition by l.queue) - sum(l.ready) as others,
      q as policy
    from looked l join tock.queues q on q.name = l.queue group by l.queue, l.lane, q) l
  where l.tenants > 1 and l.ready >= 200 and 20 * l.others < l.ready and (l.policy).lanes < 64
  order by l.ready desc, l.queue limit 5)
$$;
