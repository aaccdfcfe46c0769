-- Notes about tasks of a queue that sleep, wait for an event, or wait for the next try of a step: how many,
-- and of each kind the first to wake, or the one that has waited for its event for longest. Of the next 1,000
-- waiting tasks the first 50 of these are read, with their steps.
create or replace function tock.why_of_steps(p_queue text)
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with suspended as materialized (
    select n.task_id, n.suspended, s.*, count(*) over (partition by s.kind) as tasks,
      row_number() over (partition by s.kind
        order by case s.kind when 'event' then s.saved_at else s.due_at end, n.task_id) as place
    from (
      select o.*, count(*) over () as suspended from (
        select * from tock.waiting w where w.lost >= 0 and w.queue = p_queue
        order by w.queue, w.due_at, w.position limit 1000) o
      where o.options ->> 'suspended' = o.position::text order by o.due_at, o.position limit 50) n
    cross join lateral (
      select t.* from tock.steps_of(n.task_id, tock.steps_from(n.task_id, n.options)) t
      where t.state in ('retrying', 'waiting') order by t.due_at, t.name limit 1) s
    where s.saved_at < pg_catalog.clock_timestamp() - interval '5 seconds'
  )
  select k.finding, 'note', pg_catalog.format('%s%s; task %s %s', case when s.suspended > 50
      then 'at least ' end,
      tock.some_tasks(s.tasks, k.verb, k.verbs), s.task_id, k.said),
    pg_catalog.format('%s; tock steps %s lists what it has done', k.hint, s.task_id)
  from suspended s cross join lateral (values
    ('sleep', 'tasks sleep', 'sleeps', 'sleep',
      pg_catalog.format('until %s (step %s)', tock.utc(s.due_at), s.name), 'its handler asked for it'),
    ('event', 'tasks wait for events', 'waits', 'wait',
      pg_catalog.format('has waited for %s since %s (step %s)', s.event, tock.utc(s.saved_at), s.name),
      'it continues when the event is signalled'),
    ('child', 'tasks wait for children of steps', 'waits', 'wait',
      pg_catalog.format('has waited for task %s since %s (step %s)', s.child_id, tock.utc(s.saved_at),
        s.name), 'it continues when that task has ended'),
    ('step', 'tasks wait for the next try of a step', 'waits', 'wait',
      pg_catalog.format('tries step %s again at %s, after %s: %s', s.name, tock.utc(s.due_at),
        tock.some(s.failures, 'failure'), coalesce(tock.error_text(s.error), 'no error')),
      'fix the reported error'))
    k (kind, finding, verb, verbs, said, hint)
  where s.place = 1 and k.kind = s.kind
$$;
