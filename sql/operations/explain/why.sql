-- A finding if due tasks of a queue still wait, or a note if that is because pg_cron runs jobs once a minute.
-- The maintenance job promote makes due tasks ready, or a claim does.
create or replace function tock.why_of_time(p_queue text)
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with due as (
    select count(*) as tasks, min(w.due_at) as since from (
      select w.due_at from tock.waiting w
      where w.lost >= 0 and w.queue = p_queue and w.due_at < pg_catalog.clock_timestamp() - interval '3 s'
        and w.due_at > '-infinity' and w.ticket is null
      order by w.queue, w.due_at, w.position limit 1000) w
  ), said as (
    select d.since < pg_catalog.clock_timestamp() - interval '70 seconds' as late,
      pg_catalog.format('%s%s although due, the first for %s', case d.tasks when 1000 then 'at least ' end,
        tock.some_tasks(d.tasks, 'waits', 'wait'), tock.ago(d.since)) as detail
    from due d where d.tasks > 0
  )
  select 'due tasks are not made ready', 'critical',
    s.detail || ': no call runs the maintenance jobs',
    'check that pg_cron runs, or that something calls POST /v1/tick; now: tock tick, or select tock.tick()'
  from said s where s.late
  union all
  select 'pg_cron has no intervals in seconds', 'note',
    pg_catalog.format('%s: pg_cron %s runs jobs once a minute', s.detail, tock.cron_version()),
    'a claim makes them ready earlier, as do the alarm of the Worker and POST /v1/tick; or install pg_cron '
    '1.5 or newer, alter extension pg_cron update, tock migrate'
  from said s where not s.late and tock.cron_version() is not null and tock.cron_interval(5) = '* * * * *'
$$;

-- The order is by how well a finding explains late tasks: first why ready ones are not claimed, then why
-- others do not become ready, then tasks that fail or lose workers, and last general problems.
create or replace function tock.why(p_queue text, p_sessions boolean default true)
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '1s' as $$
begin
  perform tock.check_queue_name(p_queue);
  return query
    select r.* from (
      select 'there is no queue of this name' as finding, 'warning' as severity,
        'it was never made, and no task was enqueued into it' as detail,
        'check the spelling: tock queue list' as hint, 1 as n
      where not exists (select from tock.queues q where q.name = p_queue)
      union all select t.*, 1 from tock.why_of_takers(p_queue) t
      union all select d.*, 2 from tock.why_of_time(p_queue) d
      union all select distinct o.finding, o.severity, case when p_sessions then o.detail
          else 'a session has written to Tock in a transaction that stays open' end,
        case when p_sessions then o.hint
          else 'have it commit: a key for all queues sees which session it is' end, 3
      from (select * from tock.why_of_transactions() union all select * from tock.why_of_hidden()) o
      union all select p.*, 4 from tock.why_of_parents(p_queue) p
      union all select s.*, 5 from tock.why_of_steps(p_queue) s
      union all select g.*, 5 from tock.why_of_concurrency_keys(p_queue) g
      union all select p.*, 6 from tock.why_of_poison(p_queue) p
      union all select c.*, 7 from tock.doctor_of_cron() c where c.severity <> 'note'
      union all select j.*, 7 from tock.doctor_of_cron_jobs() j where j.finding = 'a job of pg_cron is wrong'
      union all select m.*, 7 from tock.doctor_of_maintenance() m where m.severity <> 'note') w
    cross join lateral (select w.finding, w.severity, w.detail, w.hint) r
    order by w.n, pg_catalog.array_position(array['critical', 'warning', 'note'], w.severity), w.detail;
end $$;

comment on function tock.why is
  'Why tasks of a queue are late now, the best explanation first, and what to do. The queue is paused, or '
  'there is no worker, a limit, due tasks that are not made ready, an open transaction, parents, steps that '
  'wait, concurrency keys, failing tasks, or maintenance that does not run. No row if nothing holds them up. '
  'Without p_sessions, sessions are not identified.';
