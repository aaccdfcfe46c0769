-- Tasks of a queue that fail, lose their workers or die, again and again.
create or replace function tock.why_of_poison(p_queue text)
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  (select 'a task fails again and again', 'warning',
    pg_catalog.format('task %s has failed %s times, the last time: %s%s', t.id, w.failed,
      coalesce((
        select tock.error_text(r.run -> 'error')
        from pg_catalog.jsonb_array_elements(t.runs) with ordinality r(run, n)
        where r.run ->> 'state' = 'failed' order by r.n desc limit 1),
        'without an error'),
      case when w.others > 0 then pg_catalog.format('; %s too', tock.some(w.others, 'other')) else '' end),
    tock.how_to_end((t.runs -> 0 ->> 'started_at')::timestamptz, 'fix the reported error',
      pg_catalog.format('give it up: tock cancel %s', t.id))
  from (
    -- of the next 1,000 waiting tasks, and of the newest 200 ready runs of each stream, where immediate
    -- retries are
    select a.*, count(*) over () - 1 as others from (
      select coalesce(n.task_id, tock.id_at(n.position, 0)) as id, n.attempt - 1 - n.lost as failed
      from (select * from tock.waiting o where o.lost >= 0 and o.queue = p_queue
        order by o.queue, o.due_at, o.position limit 1000) n
      where n.attempt - 1 - n.lost >= 2
      union all
      select r.task_id, r.attempt - 1 - r.lost
      from (select s.number from tock.streams s where s.queue = p_queue and s.awake
        order by s.queue, s.priority limit 32) s
      cross join lateral (select tock.cursor_of(s.number) as cursor offset 0) c
      cross join lateral (
        select r.* from tock.runs r where r.stream = s.number and r.position > c.cursor
        order by r.stream desc, r.position desc limit 200) r
      where r.attempt - 1 - r.lost >= 2) a
    order by a.failed desc, a.id limit 1) w
  cross join lateral tock.task(w.id) t where t.state in ('ready', 'waiting', 'running'))
  union all
  (select 'a task kills its workers', 'warning',
    pg_catalog.format('%s runs of task %s were lost: its worker vanished, or its lease expired',
      l.lost, l.lost_id),
    tock.how_to_end((select (t.runs -> 0 ->> 'started_at')::timestamptz from tock.task(l.lost_id) t),
      pg_catalog.format(
        'check whether it needs more memory or time than its worker or lease has: tock task %s',
        l.lost_id),
      pg_catalog.format('give it up: tock cancel %s', l.lost_id))
  from (
    select s.number from tock.streams s where s.queue = p_queue and s.awake
    order by s.queue, s.priority limit 32) s
  cross join lateral tock.glance_at_stream(s.number) l
  where l.lost_id is not null order by l.lost desc limit 1)
  union all
  (select 'tasks die', 'warning',
    pg_catalog.format('%s%s died, the last %s ago, of: %s', case when not g.counted_all then 'at least ' end,
      tock.some_tasks(g.tasks, 'has', 'have'), tock.ago(g.newest_at), coalesce(g.error, 'no error')),
    pg_catalog.format('see tock task %s; once that is fixed, run them again: tock redrive %s%s',
      g.newest_id, p_queue, ' --error ''' || pg_catalog.replace(g.error, '''', '''\''''') || '''')
  from tock.dead_groups(p_queue, 1, 1000) g where g.tasks > 0
    and g.newest_at > pg_catalog.clock_timestamp() - interval '1 hour')
$$;
