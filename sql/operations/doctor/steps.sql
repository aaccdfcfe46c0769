-- Findings about tasks that have waited for an event for over a day, and about unfinished tasks with more
-- than 10,000 saved steps. Of the waits the 1,000 oldest are read; those with a timeout end by themselves.
-- The planner's statistics say which tasks have the most steps, so the steps of all others are not read.
create or replace function tock.doctor_of_steps()
returns table (finding text, severity text, detail text, hint text) language sql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
  with oldest as materialized (
    select x.* from tock.event_waits x where x.waiting_since < pg_catalog.now() - interval '1 day'
    order by x.waiting_since limit 1000
  ), waits as materialized (
    select o.task_id, s.event, s.saved_at, s.due_at
    from oldest o
    cross join lateral (
      -- with an equality any index would have this order
      select w.position, w.options from tock.waiting w
      where w.task_id = any (array[o.task_id]) and w.lost >= 0 order by w.task_id limit 1) w
    cross join lateral tock.last_step(o.task_id, o.step, tock.steps_from(o.task_id, w.options)) s
    where w.options ->> 'suspended' = w.position::text and s.state = 'waiting' and s.event = o.event
  ), events as materialized (
    select w.event, count(*) as tasks, min(w.saved_at) as since,
      (pg_catalog.array_agg(w.task_id order by w.saved_at, w.task_id))[1] as task_id
    from waits w group by w.event order by since, w.event limit 5
  ), large as materialized (
    select m.id from pg_catalog.pg_stats p
    join pg_catalog.pg_class c on c.relname = p.tablename and c.relnamespace = 'tock'::regnamespace
    cross join lateral unnest(p.most_common_vals::text::bigint[], p.most_common_freqs) m (id, part)
    where p.schemaname = 'tock' and p.tablename like 'steps\_%' and p.attname = 'task_id'
    -- an estimate, so with room below the limit
    group by m.id having sum(m.part * c.reltuples) > 5000 order by sum(m.part * c.reltuples) desc limit 5
  )
  select 'tasks have waited for an event for long', case when w.endless then 'warning' else 'note' end,
    pg_catalog.format('%s%s for over a day: %s', case w.read when 1000 then 'at least ' end,
      tock.some_tasks(w.tasks, 'waits', 'wait'), (
        select pg_catalog.string_agg(pg_catalog.format('%s (task %s since %s%s)', e.event, e.task_id,
          tock.utc(e.since), ', and ' || nullif(e.tasks - 1, 0) || ' more'), ', ' order by e.since, e.event)
        from events e)),
    pg_catalog.format(
      'find out who should send it; to send it: tock signal %s PAYLOAD; to give up the task: tock cancel %s',
      case when f.event ~ '^[A-Za-z0-9._:/-]+$' then f.event else pg_catalog.quote_literal(f.event) end,
      f.task_id)
  from (select * from events e order by e.since, e.event limit 1) f
  cross join (
    select count(*) as tasks, bool_or(w.due_at > pg_catalog.now() + interval '1 year') as endless,
      (select count(*) from oldest) as read
    from waits w) w
  union all
  select 'a task has too many steps', 'warning',
    pg_catalog.format('task %s of queue %s has saved more than 10,000', t.task_id, t.queue),
    pg_catalog.format(
      'its worker reads them at each run: let the handler go on in another task after some thousands; to '
      'give it up: tock cancel %s', t.task_id)
  from tock.resolve_tasks(array(select l.id from large l)) t
  where t.state in ('waiting', 'ready', 'running')
    and (select count(*) from (select from tock.steps s where s.task_id = t.task_id limit 10001) n) > 10000
$$;
