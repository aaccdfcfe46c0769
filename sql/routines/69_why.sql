-- Why tasks of one queue are late, as of now: without doctor()'s patience, as somebody looks at this very queue. Each
-- part asks as much as a page that is open may ask again and again. What ends a session or a task is advised only once that has
-- been there for a minute: a look meets much that is over in a moment.

create or replace function tock.how_to_end(p_since timestamptz, p_mild text, p_end text)
returns text
language sql
volatile
as $$
  select case when p_since < pg_catalog.clock_timestamp() - interval '60 seconds'
    then p_mild || '; or, as that has lasted for over 60 s, ' || p_end else p_mild end
$$;

comment on function tock.how_to_end is 'A hint, with what would end a session or a task only where that has lasted for over 60 seconds.';

-- Who has written or claims in a transaction that is still open: others see nothing of what it enqueued, and the streams
-- that it claims from are its own until it ends.
create or replace function tock.why_of_transactions(p_age interval default '5 seconds')
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  with held as materialized (
    select l.pid, l.virtualtransaction as number from pg_catalog.pg_locks l join pg_catalog.pg_class c on c.oid = l.relation
    where l.granted and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
      and c.relnamespace = 'tock'::regnamespace
  )
  (select 'an open transaction holds tasks back', 'warning',
    pg_catalog.format('%s has been in a transaction for %s, and has written to Tock in it', tock.described_session(a.pid), tock.ago(a.xact_start)),
    tock.how_to_end(a.xact_start, 'have it commit: what it has enqueued is seen by no other until then, and what it has claimed or completed is held',
      pg_catalog.format('end it: select pg_terminate_backend(%s)', a.pid))
  from pg_catalog.pg_stat_activity a
  where a.pid in (select h.pid from held h) and a.pid <> pg_catalog.pg_backend_pid() and a.backend_type = 'client backend'
    and a.xact_start < pg_catalog.clock_timestamp() - p_age
  order by a.xact_start limit 3)
  union all
  -- its locks have no process, but one is on its number
  (select 'a prepared transaction holds tasks back', 'warning',
    pg_catalog.format('%s has been prepared for %s, and has written to Tock', x.gid, tock.ago(x.prepared)),
    tock.how_to_end(x.prepared, pg_catalog.format('have who prepared it end it; in this database: commit prepared %L', x.gid), pg_catalog.format('rollback prepared %L', x.gid))
  from pg_catalog.pg_prepared_xacts x
  where x.database = pg_catalog.current_database() and x.prepared < pg_catalog.clock_timestamp() - p_age
    and exists (
      select from pg_catalog.pg_locks o
      where o.locktype = 'transactionid' and o.transactionid = x.transaction and o.granted and o.pid is null
        and o.virtualtransaction in (select h.number from held h where h.pid is null))
  order by x.prepared limit 3)
$$;

comment on function tock.why_of_transactions is 'Transactions that have written to Tock and have been open, or prepared, for so long.';

-- Of other roles' sessions the owner sees when their transaction began only as a member of pg_read_all_stats; their locks it
-- sees. A call of Tock's is over between two looks, on a busy machine between more: so what stays is looked at five times. For how
-- long is not known, so nothing is said of ending it.
create or replace function tock.why_of_hidden(p_seconds double precision default 0.3)
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
as $$
declare
  v_looks text := $q$
    select coalesce(pg_catalog.array_agg(distinct a.pid || ' ' || l.virtualtransaction), '{}')
    from pg_catalog.pg_stat_activity a
    join pg_catalog.pg_locks l on l.pid = a.pid
    join pg_catalog.pg_class c on c.oid = l.relation and c.relnamespace = 'tock'::regnamespace
    where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid() and a.backend_type is null
      and a.xact_start is null and l.granted and l.mode = 'RowExclusiveLock'$q$;
  v_seen text[];
  v_again text[];
begin
  execute v_looks into v_seen;
  for v_look in 2 .. 5 loop
    if v_seen = '{}' then
      return;
    end if;
    perform pg_catalog.pg_sleep(p_seconds);
    perform pg_catalog.pg_stat_clear_snapshot();
    execute v_looks into v_again;
    v_seen := array(select n from unnest(v_seen) n where n = any (v_again));
  end loop;
  return query
    select 'an open transaction holds tasks back', 'note',
      pg_catalog.format('%s has written to Tock in a transaction that stays open', tock.described_session(pg_catalog.split_part(n, ' ', 1)::integer)),
      pg_catalog.format('have it commit. For how long it has been open is seen after: grant pg_read_all_stats to %I', current_user)
    from unnest(v_seen) n order by n limit 3;
end $$;

comment on function tock.why_of_hidden is 'why_of_transactions() for those whose beginning the owner may not see: by several looks.';

-- What has failed twice and more, among the next thousand that wait and the newest two hundred that are ready of each
-- stream: what is tried again at once comes to stand there.
create or replace function tock.tried_again(p_queue text)
returns table (id bigint, failed integer)
language sql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select coalesce(n.task_id, n.position << 20), n.attempt - 1 - n.lost
  from (select * from tock.waiting o where o.queue = p_queue order by o.queue, o.due_at, o.position limit 1000) n
  where n.attempt - 1 - n.lost >= 2
  union all
  select r.task_id, r.attempt - 1 - r.lost
  from (select s.number from tock.streams s where s.queue = p_queue and s.awake order by s.queue, s.priority limit 32) s
  cross join lateral (select tock.cursor_of(s.number) as cursor offset 0) c
  cross join lateral (
    select r.* from tock.runs r where r.stream = s.number and r.position > c.cursor
    order by r.stream desc, r.position desc limit 200) r
  where r.attempt - 1 - r.lost >= 2
$$;

comment on function tock.tried_again is 'Tasks of a queue that have failed twice and more, and are to run again.';

create or replace function tock.why_of_poison(p_queue text)
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  (select 'a task fails again and again', 'warning',
    pg_catalog.format('task %s has failed %s times, the last time: %s%s', t.id, w.failed,
      coalesce((
        select tock.error_text(r.run -> 'error')
        from pg_catalog.jsonb_array_elements(t.runs) with ordinality r(run, n) where r.run ->> 'state' = 'failed' order by r.n desc limit 1),
        'without an error'),
      case when w.others > 0 then pg_catalog.format('; %s, too', tock.some(w.others, 'other')) else '' end),
    tock.how_to_end((t.runs -> 0 ->> 'started_at')::timestamptz, 'mend what it says', pg_catalog.format('give it up: tock cancel %s', t.id))
  from (
    select a.*, count(*) over () - 1 as others from tock.tried_again(p_queue) a order by a.failed desc, a.id limit 1) w
  cross join lateral tock.task(w.id) t where t.state in ('ready', 'waiting', 'running'))
  union all
  (select 'a task ends its workers', 'warning',
    pg_catalog.format('%s runs of task %s were lost: its worker vanished, or its lease ran out', l.lost, l.lost_id),
    tock.how_to_end((select (t.runs -> 0 ->> 'started_at')::timestamptz from tock.task(l.lost_id) t),
      pg_catalog.format('see whether it takes more memory or time than its worker or lease has: tock task %s', l.lost_id),
      pg_catalog.format('give it up: tock cancel %s', l.lost_id))
  from (
    select s.number from tock.streams s where s.queue = p_queue and s.awake order by s.queue, s.priority limit 32) s
  cross join lateral tock.glance_at_stream(s.number) l
  where l.lost_id is not null order by l.lost desc limit 1)
  union all
  (select 'tasks die', 'warning',
    pg_catalog.format('%s%s died, the last %s ago, of: %s', case when not g.counted_all then 'at least ' end,
      tock.some_tasks(g.tasks, 'has', 'have'), tock.ago(g.newest_at), coalesce(g.error, 'no error')),
    pg_catalog.format('tock task %s says more; when it is mended run them again: tock redrive %s', g.newest_id, p_queue)
  from tock.dead_groups(p_queue, 1, 1000) g where g.tasks > 0 and g.newest_at > pg_catalog.clock_timestamp() - interval '1 hour')
$$;

comment on function tock.why_of_poison is 'Tasks of a queue that fail, end their workers or die, again and again.';

-- A worker whose claim was empty may rest for up to 30 s (retry_after_seconds) and comes by itself then; a push or a consumer of the
-- Worker comes by its alarm, or by the minute.
create or replace function tock.why_of_takers(p_queue text)
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
as $$
declare
  v_is record;
  v_last timestamptz;
  v_limits record;
  v_pushed boolean := (select q.push is not null from tock.queues q where q.name = p_queue);
  v_ready text;
begin
  select s.* into v_is from tock.queue_stats(p_queue) s;
  if v_is.ready = 0 or v_is.ready is null then
    return;
  end if;
  v_ready := pg_catalog.format('%s ready, the oldest for %s', tock.some_tasks(v_is.ready, 'is', 'are'), tock.ago(v_is.oldest_ready_at));
  if v_is.paused then
    return query select 'the queue is paused', 'warning', v_ready || ', and none is handed out',
      pg_catalog.format('resume it: the button Resume, or tock queue resume %s', p_queue);
    return;
  end if;
  select l.* into v_limits from tock.limits(p_queue) l;
  if v_limits.running >= v_limits.max_running then
    return query select 'as many run as may', 'note',
      pg_catalog.format('%s, which is max_running; ready: %s', tock.some_tasks(v_limits.running, 'runs', 'run'), v_is.ready),
      'have the tasks end sooner, or raise max_running';
    return;
  elsif v_limits.level < 1 then
    return query select 'the rate holds tasks back', 'note',
      pg_catalog.format('%s may start in %s s%s, the next in %s s; ready: %s', v_limits.rate_limit, v_limits.rate_seconds,
        case when v_limits.rate_burst <> v_limits.rate_limit then pg_catalog.format(', and %s at once', v_limits.rate_burst) end,
        ceil((1 - v_limits.level) * v_limits.rate_seconds / v_limits.rate_limit), v_is.ready),
      'that is what the rate is for; raise rate_limit if it is too low';
    return;
  end if;
  if v_is.oldest_ready_at > pg_catalog.clock_timestamp() - interval '15 seconds' then
    return;
  end if;
  v_last := (
    select max(l.active_at) from (
      select s.number from tock.streams s where s.queue = p_queue and s.awake order by s.queue, s.priority limit 32) s
    cross join lateral tock.glance_at_stream(s.number) l);
  if v_is.running > 0 or v_last >= pg_catalog.clock_timestamp() - interval '15 seconds' then
    return query select case when v_pushed then 'pushes don''t keep up' else 'workers don''t keep up' end, 'note',
      pg_catalog.format('%s; %s', v_ready, tock.some(v_is.running, 'runs', 'run')),
      case when v_pushed then 'have the endpoint answer sooner, or take more at once: the Worker sends several at a time'
        else 'start more workers, have each claim more at once, or make the tasks shorter' end;
  elsif v_is.oldest_ready_at > pg_catalog.clock_timestamp() - interval '60 seconds' then
    return query select 'workers may be at rest', 'note', v_ready,
      case when v_pushed then 'a Worker that pushes comes when its alarm or its scheduled handler calls it, at the latest by the minute'
        else 'a worker whose claim was empty rests for its retry_after_seconds, up to 30, unless it claims with wait_seconds; a consumer of the '
          'Worker comes when its alarm or its scheduled handler calls it' end;
  elsif v_pushed then
    return query select 'nobody pushes', 'warning', v_ready || coalesce(', and none was sent for ' || tock.ago(v_last), ', and none has been sent yet'),
      'give the Worker its TOCK_PUSH_SECRET, and see that its scheduled handler or POST /v1/tick is called';
  else
    return query select 'no worker claims from this queue', 'warning',
      v_ready || coalesce(', and none was claimed for ' || tock.ago(v_last), ', and none has been claimed yet'),
      pg_catalog.format('start a worker for it, or see why the one there is doesn''t claim (POST /v1/queues/%s/claim); where the Worker consumes it, see that '
        'its alarm, its scheduled handler or POST /v1/tick is called', p_queue);
  end if;
end $$;

comment on function tock.why_of_takers is 'Why ready tasks of a queue are not handed out: paused, a limit, no worker, or too few; or why they are not pushed.';

-- What is due and still waits is made ready by the duty promote, or by a claim on its way.
create or replace function tock.why_of_time(p_queue text)
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  with due as (
    select count(*) as tasks, min(w.due_at) as since from (
      select w.due_at from tock.waiting w
      where w.queue = p_queue and w.due_at < pg_catalog.clock_timestamp() - interval '3 seconds' and w.due_at > '-infinity' and w.ticket is null
      order by w.queue, w.due_at, w.position limit 1000) w
  ), said as (
    select d.since < pg_catalog.clock_timestamp() - interval '70 seconds' as late,
      pg_catalog.format('%s%s though due, the first for %s', case d.tasks when 1000 then 'at least ' end,
        tock.some_tasks(d.tasks, 'waits', 'wait'), tock.ago(d.since)) as detail
    from due d where d.tasks > 0
  )
  select 'what is due is not made ready', 'critical', s.detail || ': no call does the duties of time',
    'see that pg_cron runs, or that something calls POST /v1/tick; at once: tock tick, or select tock.tick()'
  from said s where s.late
  union all
  select 'pg_cron knows no seconds', 'note',
    pg_catalog.format('%s: pg_cron %s comes by the minute', s.detail, tock.cron_version()),
    'a claim makes them ready before, as do the Worker''s alarm and POST /v1/tick; or install pg_cron 1.5 or newer, alter extension pg_cron update, tock migrate'
  from said s where not s.late and tock.cron_version() is not null and tock.cron_interval(5) = '* * * * *'
$$;

comment on function tock.why_of_time is 'Whether tasks of a queue are due and still wait, and where pg_cron comes by the minute, that it does.';

create or replace function tock.why_of_duties()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select d.finding, d.severity, d.detail, d.hint from tock.doctor_of_cron() d where d.severity <> 'note'
  union all
  select d.finding, d.severity, d.detail, d.hint from tock.doctor_of_cron_jobs() d where d.finding = 'a job of pg_cron is not as it should be'
  union all
  select d.finding, d.severity, d.detail, d.hint from tock.doctor_of_duties() d where d.severity <> 'note'
$$;

comment on function tock.why_of_duties is 'Whether time does what it must: pg_cron, and late duties.';

-- In the order of how well each explains that tasks are late: first why ready ones are not taken, then why others do not come to be
-- ready, then what takes workers away, and last what is not as it should be but need not be the reason.
create or replace function tock.why(p_queue text, p_sessions boolean default true)
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
set jit = off
as $$
begin
  perform tock.check_queue_name(p_queue);
  return query
    select r.* from (
      select 'there is no queue of this name' as finding, 'warning' as severity,
        'nobody has made it, or enqueued to it' as detail, 'look how it is spelt: tock queue list' as hint, 1 as n
      where not exists (select from tock.queues q where q.name = p_queue)
      union all select t.*, 1 from tock.why_of_takers(p_queue) t
      union all select d.*, 2 from tock.why_of_time(p_queue) d
      union all select s.* from (
        select x.*, 3 from tock.why_of_transactions() x
        union all select h.*, 3 from tock.why_of_hidden() h) s where p_sessions
      union all select distinct o.finding, o.severity, 'a session has written to Tock in a transaction that stays open',
        'have it commit: a key for all queues is told whose it is', 3
      from (select * from tock.why_of_transactions() union all select * from tock.why_of_hidden()) o where p_sessions is not true
      union all select p.*, 4 from tock.why_of_parents(p_queue) p
      union all select g.*, 5 from tock.why_of_gates(p_queue) g
      union all select p.*, 6 from tock.why_of_poison(p_queue) p
      union all select m.*, 7 from tock.why_of_duties() m) w
    cross join lateral (select w.finding, w.severity, w.detail, w.hint) r
    order by w.n, pg_catalog.array_position(array['critical', 'warning', 'note'], w.severity), w.detail;
end $$;

comment on function tock.why is
  'Why tasks of a queue are late at this moment, what explains it best first, and what to do about each: paused, no worker, a limit, what is due and not made ready, an open transaction, parents, gates, tasks that fail, or time that stands still. No row when nothing holds it up. Without p_sessions whose sessions those are is left out.';
