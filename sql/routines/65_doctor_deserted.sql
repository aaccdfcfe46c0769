create or replace function tock.somebody_leases(p_queue text)
returns boolean
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_epoch integer;
  v_found boolean;
begin
  foreach v_epoch in array tock.unsettled_epochs() loop
    execute pg_catalog.format('select exists (
      select from (
        select l.stream from tock.leases_%s l where l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp()
        order by l.leased_until limit 1000) l
      cross join lateral (select s.queue from tock.streams s where s.number = l.stream offset 0) s
      where s.queue = $1)', v_epoch) into v_found using p_queue;
    if v_found then
      return true;
    end if;
  end loop;
  return false;
end $$;

comment on function tock.somebody_leases is 'Whether a queue has an open lease, among the next 1,000 of each epoch to end.';

-- A later attempt was made ready by promotion, whose newest 10,000 are those of the last minutes.
create or replace function tock.just_promoted(p_run bigint, p_since timestamptz)
returns boolean
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return exists (
    select from (select p.run_id, p.promoted_at from tock.promotions p order by p.due_at desc limit 10000) n
    where n.run_id = p_run and n.promoted_at > p_since);
end $$;

comment on function tock.just_promoted is 'Whether a run waited before and has been ready only since then.';

-- Who pushes comes within seconds, who claims perhaps by the minute; and with a rate both may have to wait for it.
create or replace function tock.deserted_queues()
returns table (queue text, pushed boolean, ready bigint, ready_at timestamptz, active_at timestamptz)
language plpgsql
volatile
as $$
declare
  v_queue record;
begin
  for v_queue in
    select q.* from (
      select q.name as queue, q.push is not null as pushed, sum(l.ready) as ready, min(l.ready_at) as ready_at, max(l.active_at) as active_at,
        (pg_catalog.array_agg(l.ready_run order by l.ready_at))[1] as ready_run,
        pg_catalog.clock_timestamp() - case when q.push is null then interval '10 minutes' else interval '5 minutes' end
          - coalesce(case when q.rate_limit is not null then q.rate_seconds end, 0) * interval '1 second' as since
      from tock.glance_at_queues() l join tock.queues q on q.name = l.queue
      where not tock.is_paused(q)
      group by q.name having not bool_or(l.at_work)) q
    where q.ready_at < q.since and coalesce(q.active_at < q.since, true)
    order by q.ready_at limit 20
  loop
    if not tock.somebody_leases(v_queue.queue) and not tock.just_promoted(v_queue.ready_run, v_queue.since) then
      return query select v_queue.queue, v_queue.pushed, v_queue.ready::bigint, v_queue.ready_at, v_queue.active_at;
    end if;
  end loop;
end $$;

comment on function tock.deserted_queues is 'Up to 20 queues in which a task has been ready for over ten minutes, five with push, that long nothing was claimed or ended, and nobody is at work.';

create or replace function tock.doctor_of_deserted()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  with deserted as materialized (
    select * from tock.deserted_queues())
  (select 'nobody claims from a queue', 'warning',
    pg_catalog.format('a task of queue %s is ready since %s, and none was claimed since %s', d.queue, tock.utc(d.ready_at),
      coalesce(tock.utc(d.active_at), 'it is there')),
    pg_catalog.format('start a worker for it; if it is no longer wanted: tock drop %s --force', d.queue)
  from deserted d where not d.pushed order by d.ready_at limit 5)
  union all
  select 'nobody pushes', 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s (%s%s ready, the oldest since %s)', d.queue,
      case when d.ready >= 200 then 'at least ' end, d.ready, tock.utc(d.ready_at)), ', ' order by d.ready_at),
    'give the Worker its TOCK_PUSH_SECRET, and see that its scheduled handler or POST /v1/tick is called'
  from (select * from deserted d where d.pushed order by d.ready_at limit 5) d
  having count(*) > 0
$$;

comment on function tock.doctor_of_deserted is 'What doctor() says of queues whose tasks nobody takes, be it to claim or to push them.';
