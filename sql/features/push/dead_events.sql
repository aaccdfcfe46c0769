-- Records which of the ended runs were the final runs of tasks of queues with a dead_webhook. The events are
-- recorded in the transaction that ends the tasks, so both are committed or neither. If no queue has a
-- dead_webhook, the function reads only one index.
create or replace function tock.record_dead_tasks(p_segment integer, p_ended tock.ending[])
returns void language plpgsql volatile as $$
declare
  v_queues text[];
begin
  if (select q.name from tock.queues q where q.dead_webhook is not null limit 1) is null then
    return;
  end if;
  v_queues := array(
    select distinct s.queue::text
    from (select distinct e.stream from unnest(p_ended) e
      where e.again_at is null and e.state in ('failed', 'lost')) d
    join tock.streams s on s.number = d.stream
    where s.queue <> 'tock-webhooks' and (tock.policy(s.queue)).dead_webhook is not null);
  if v_queues = '{}' then
    return;
  end if;
  execute pg_catalog.format('select tock.add_dead_task_events_%s($1, $2)', p_segment) using p_ended, v_queues;
end $$;

-- The lowest number that may have an unsent dead task event.
create or replace function tock.dead_task_events_from()
returns bigint language sql volatile as $$
  -- 0 if the sequence was set back
  select case when d.reached_key[1]::bigint <= s.last_value then d.reached_key[1]::bigint else 0 end
  from tock.maintenance_jobs d cross join tock.dead_task_event_numbers s
  where d.name = 'send_dead_task_events'
$$;

-- When the maintenance job send_dead_task_events has events to send; null while it has none.
create or replace function tock.dead_task_events_due_at()
returns timestamptz language plpgsql volatile as $$
declare
  v_from bigint := coalesce(tock.dead_task_events_from(), 0);
begin
  return (
    select greatest(d.swept_at + interval '1 minute',
      d.last_started_at + d.every_seconds * interval '1 second',
      pg_catalog.clock_timestamp())
    from tock.maintenance_jobs d
    where d.name = 'send_dead_task_events'
      and (select x.number from tock.dead_task_events x where x.number >= v_from order by x.number
        limit 1) is not null);
end $$;

-- Sends new dead task events to the endpoints of queues with a dead_webhook, at most one message per queue
-- and minute, as tasks in tock-webhooks; returns the number of events. A writer draws a number while it holds
-- the lock of the table. If no other session has that lock after the sequence was read, all numbers up to
-- there are committed or never will be. The next call starts above them, where no dead entries lie.
create or replace function tock.send_dead_task_events(p_limit integer default 50000)
returns integer language plpgsql volatile as $$
declare
  v_upto bigint := (select s.last_value from tock.dead_task_event_numbers s);
  v_writing boolean := tock.writers_of('tock.dead_task_events') <> '{}';
  v_from bigint := coalesce(tock.dead_task_events_from(), 0);
  v_taken integer;
  v_tasks jsonb;
begin
  if (select d.swept_at between pg_catalog.clock_timestamp() - interval '1 minute'
      and pg_catalog.clock_timestamp()
    from tock.maintenance_jobs d where d.name = 'send_dead_task_events')
  then
    return 0;
  end if;
  with taken as (
    delete from tock.dead_task_events d where d.number = any (array(
      select o.number from tock.dead_task_events o where o.number >= v_from order by o.number limit p_limit))
    returning d.*
  ), totals as (
    select t.queue, sum(t.deaths) as deaths, min(t.died_at) as first_at, max(t.died_at) as last_at
    from taken t group by t.queue
  ), errors as (
    select e.queue, pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('error', e.error, 'deaths', e.deaths)
      order by e.n) as errors
    from (
      select t.queue, t.error, sum(t.deaths) as deaths,
        row_number() over (partition by t.queue order by sum(t.deaths) desc, t.error) as n
      from taken t group by t.queue, t.error) e
    where e.n <= 10 group by e.queue
  ), newest as (
    select i.queue, pg_catalog.jsonb_agg(i.id::text order by i.n) as ids
    from (
      select t.queue, i.id, row_number() over (partition by t.queue order by t.number desc, i.id) as n
      from (select t.*, row_number() over (partition by t.queue order by t.number desc) as k from taken t) t
      cross join unnest(t.ids) i (id)
      where t.k <= 10) i
    where i.n <= 10 group by i.queue
  )
  select (select count(*) from taken), pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
    'push_url', q.dead_webhook -> 'url',
    'payload', pg_catalog.jsonb_build_object('type', 'tasks.died',
      'timestamp', tock.utc(pg_catalog.clock_timestamp()),
      'data', pg_catalog.jsonb_build_object('queue', o.queue, 'deaths', o.deaths,
        'first_died_at', tock.utc(o.first_at), 'last_died_at', tock.utc(o.last_at), 'errors', e.errors, 'ids',
        n.ids))) order by o.queue)
    into v_taken, v_tasks
  from totals o join errors e using (queue) join newest n using (queue)
  cross join lateral tock.policy(o.queue) q
  where q.dead_webhook is not null;
  if v_tasks is not null then
    perform tock.append_any('tock-webhooks', v_tasks, tock.open_webhooks());
  end if;
  update tock.maintenance_jobs d set
    reached_key = case when v_writing or v_taken = p_limit then d.reached_key else array[v_upto::text] end,
    swept_at = case when v_tasks is null then d.swept_at else pg_catalog.clock_timestamp() end
  where d.name = 'send_dead_task_events'
    and (v_taken > 0 or d.reached_key is distinct from array[v_upto::text]);
  return v_taken;
end $$;
