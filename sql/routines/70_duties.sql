-- pg_cron's background workers know no statement_timeout, and one set inside a function would only
-- hold from the next statement on. So the jobs watch over each other.
create or replace function tock.cancel_overdue(p_seconds integer default 60)
returns integer
language sql
volatile
as $$
  select count(pg_catalog.pg_cancel_backend(o.pid))::integer
  from (
    select distinct a.pid
    from tock.duties d
    join pg_catalog.pg_locks l on l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace
      and l.objid::bigint = tock.named_key('duty', d.name)
      and l.database = (select b.oid from pg_catalog.pg_database b where b.datname = pg_catalog.current_database())
    join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where a.state = 'active' and a.pid <> pg_catalog.pg_backend_pid() and a.usename = current_user
      and a.query ~ 'tock\.(tick|run_duty)\('
      and a.query_start < pg_catalog.clock_timestamp() - p_seconds * interval '1 second') o
$$;

comment on function tock.cancel_overdue is
  'Cancels calls of tick() and run_duty() by this role that have taken longer than p_seconds; returns how many.';

-- Bounded by its limits, guarded by a try-lock, and on record. What the duty did is undone when it
-- fails or is canceled; the record of that stays.
create or replace function tock.run_duty(p_duty text, p_seconds integer default 5)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
  v_started timestamptz := pg_catalog.clock_timestamp();
  v_done integer;
  v_amount integer := 0;
  v_writers text[] := '{}';
begin
  if not exists (select from tock.duties d where d.name = p_duty) then
    perform tock.refuse(422, 'there is no duty ' || coalesce(p_duty, 'null'), 'duty',
      'duties: ' || (select pg_catalog.string_agg(d.name, ', ' order by d.name) from tock.duties d));
  end if;
  perform tock.cancel_overdue();
  -- The row of a duty may be held for long, by a transaction that has called reap() itself, or changes the interval: then
  -- nothing could be recorded, and a claim may be waiting.
  if not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), tock.named_key('duty', p_duty))
    or (select d.name from tock.duties d where d.name = p_duty for update skip locked) is null
  then
    return null;
  end if;
  if p_duty = 'promote' then
    v_writers := tock.waiting_writers(interval '9 s');
  end if;
  loop
    v_done := case p_duty
      when 'audit' then tock.audit()
      when 'balance' then tock.balance()
      when 'deaths' then tock.tell_deaths()
      when 'guard' then tock.guard()
      when 'keys' then tock.note_key_uses()
      when 'minutes' then tock.minutes()
      when 'pools' then tock.reap_pools()
      when 'promote' then tock.promote(case p_seconds when 0 then 1000 else 10000 end, true)
      when 'reap' then tock.reap()
      when 'rest' then tock.rest()
      when 'retain' then tock.retain()
      when 'rotate' then tock.rotate()
      when 'schedules' then tock.fire_duty()
      when 'tidy' then tock.tidy()
    end;
    v_amount := v_amount + v_done;
    -- by the minute (pg_cron 1.4) a single batch would be all that comes back in a minute; but nobody
    -- sees what comes back before the end, and a claim on its way must not wait for more than one
    exit when v_done = 0 or p_duty not in ('audit', 'pools', 'promote', 'reap', 'schedules', 'tidy')
      or pg_catalog.clock_timestamp() >= v_started + p_seconds * interval '1 second';
  end loop;
  update tock.duties d set
    reached_at = case p_duty when 'promote' then v_started else d.reached_at end,
    -- cut short, it has not passed all: as if somebody had been there who has ended
    writers = case when p_duty = 'schedules' then d.writers
      else v_writers || case when p_duty = 'promote' and v_done > 0 then array['cut short'] end end,
    last_started_at = v_started, last_ok_at = pg_catalog.clock_timestamp(), last_amount = v_amount,
    last_seconds = extract(epoch from pg_catalog.clock_timestamp() - v_started), last_error = null, failures = 0
  where d.name = p_duty;
  return v_amount;
exception
  when sqlstate 'TK422' then raise;
  when others or query_canceled then
    -- it is the claim that was cancelled
    if sqlstate = '57014' and p_seconds = 0 and not tock.is_out_of_time() then
      raise;
    end if;
    update tock.duties d set
      last_started_at = v_started, last_seconds = extract(epoch from pg_catalog.clock_timestamp() - v_started),
      last_error = pg_catalog.concat(sqlstate, ' ', sqlerrm), failures = d.failures + 1
    where d.name = p_duty;
    return null;
end $$;

comment on function tock.run_duty is
  'Does one duty now, in batches for up to p_seconds (0: one batch), and records how it went in tock.duties; returns how much it did, null when it failed or is being done elsewhere.';

-- Who had locked a row may leave it as it is; who writes another may have made it due when its transaction began. (Those
-- of other roles have no age for an owner without pg_read_all_stats, and prepared ones none for anybody: they are old.)
create or replace function tock.waiting_writers(p_age interval default '0 s')
returns text[]
language sql
volatile
as $$
  select array(
    select distinct l.virtualtransaction from pg_catalog.pg_locks l
    left join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'relation' and l.relation = 'tock.waiting'::regclass and l.granted
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
      and (l.mode = 'RowShareLock' or (l.mode = 'RowExclusiveLock'
        and coalesce(a.xact_start <= pg_catalog.clock_timestamp() - p_age, true)))
      and l.pid is distinct from pg_catalog.pg_backend_pid())
$$;

comment on function tock.waiting_writers is 'The virtual ids of other transactions that have rows of waiting locked, or have written there and are so old.';

create or replace function tock.may_be_late(p_writers text[])
returns boolean
language plpgsql
volatile
as $$
begin
  return p_writers <> '{}' and not p_writers <@ tock.waiting_writers();
end $$;

comment on function tock.may_be_late is 'Whether some of those who were writing to waiting at its last sweep have ended since.';

create or replace function tock.tick()
returns timestamptz
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_duty text;
begin
  for v_duty in
    select d.name from tock.duties d
    -- A duty that looks long and finds nothing does so less often: a twentieth of the time is enough. It rests for a minute at
    -- most, or last_ok_at would stand still for twelve minutes after one look of 36 s. Schedules see to that
    -- themselves, as whoever comes when next_wake_at() said is to find them fired
    where d.last_started_at > pg_catalog.clock_timestamp()  -- the clock was set back
      or coalesce(d.last_started_at, '-infinity') <= pg_catalog.clock_timestamp()
      - greatest(case when tock.may_be_late(d.writers) then 0 else d.every_seconds - 1 end,
          case when d.last_amount = 0 and d.name <> 'schedules' then least(60, 20 * d.last_seconds) end) * interval '1 second'
      or (d.name = 'minutes' and (select g.started_at is not null from tock.counting g))  -- cut short: it goes on
    order by d.name <> 'guard', d.name = 'retain', d.name = 'pools', d.name = 'rest', d.name  -- these three hold locks until the end
  loop
    perform tock.run_duty(v_duty);
  end loop;
  return tock.next_wake_at();
end $$;

comment on function tock.tick is 'Does every duty that is due and returns next_wake_at(): what pg_cron calls, and an external wake can.';

-- What the last sweep has passed is read no more: dead entries may lie there. It was all that had been committed then;
-- what comes after is due later, or ten seconds before if its call took so long. Whoever had begun earlier and was still
-- at it then may leave something below: as soon as one of them has ended, it is time for another sweep.
-- Pools wake nobody: who asks for a task, or for a worker, lets go itself of those that have vanished.
create or replace function tock.next_wake_at()
returns timestamptz
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_swept tock.duties := (select d from tock.duties d where d.name = 'promote');
  v_from timestamptz := coalesce(v_swept.reached_at - interval '10 s', '-infinity');
  v_reaped timestamptz := coalesce((select d.reached_at from tock.duties d where d.name = 'reap'), '-infinity');
  v_wake timestamptz := case when tock.may_be_late(v_swept.writers) then pg_catalog.clock_timestamp() else (
    select w.due_at from tock.waiting w
    where w.due_at >= v_from and w.due_at < 'infinity' order by w.due_at limit 1) end;
  v_epoch integer;
  v_until timestamptz;
begin
  foreach v_epoch in array tock.unsettled_epochs() loop
    execute pg_catalog.format('select l.leased_until from tock.leases_%s l
      where l.closed_at is null and l.leased_until >= $1 order by l.leased_until limit 1', v_epoch)
      into v_until using v_reaped;
    v_wake := least(v_wake, v_until);
  end loop;
  v_wake := least(v_wake, (
    select min(n.not_before) from tock.nudges n where n.number > (select tock.nudged_from(1000))));
  return least(v_wake, tock.fires_late_at(), tock.deaths_due_at(), (
    select f.due_at from tock.fires f
    where f.due_at < 'infinity' and (f.due_at, f.schedule) >= (select m.due_at, m.schedule from tock.fires_from() m)
    order by f.due_at, f.schedule limit 1));
end $$;

comment on function tock.next_wake_at is 'When time must next do something: the earliest waiting task, lease deadline or schedule that no sweep has passed yet, at once where a sweep may have passed one that was committed late; null when nothing is pending.';

-- What SQL enqueues with a gate or a due time tells no alarm, and pg_cron 1.4 comes by the minute only. Its jobs keep the
-- database awake anyway.
create or replace function tock.tick_by()
returns timestamptz
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.clock_timestamp() + interval '5 seconds'
  where tock.cron_version() is not null and tock.cron_interval(5) = '* * * * *'
$$;

comment on function tock.tick_by is 'By when an alarm ticks even if nothing that it knows of is due: five seconds from now where pg_cron knows no seconds, else null.';

create or replace function tock.tidy(p_limit integer default 10000)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_requests integer;
  v_details integer := 0;
  v_fired integer;
  v_oldest bigint := (select e.first_position from tock.epochs e order by e.number limit 1);
begin
  if p_limit < 0 then
    perform tock.refuse(422, 'p_limit is not negative', 'p_limit');
  end if;
  -- what is named by them lies in epochs that are gone, or in the archive
  delete from tock.reruns r where r.id = any (array(
    select o.id from tock.reruns o
    where o.id < v_oldest << 20 and not tock.is_archiving() and not exists (select from tock.archives)
    order by o.id limit p_limit));
  delete from tock.moves m where m.id = any (array(
    select o.id from tock.moves o where o.id < v_oldest << 20 order by o.id limit p_limit));
  delete from tock.requests r where (r.queue, r.verb, r.request_id) in (
    select o.queue, o.verb, o.request_id from tock.requests o
    where o.created_at < pg_catalog.now() - interval '24 hours' order by o.created_at limit p_limit);
  get diagnostics v_requests = row_count;
  if pg_catalog.to_regclass('cron.job_run_details') is not null then
    execute $q$
      delete from cron.job_run_details where runid in (
        select d.runid from cron.job_run_details d
        where d.command like '%tock.%' and d.username = current_user and d.end_time < now() - interval '1 day'
        order by d.runid limit $1)$q$ using p_limit;
    get diagnostics v_details = row_count;
  end if;
  perform tock.tidy_own(least(p_limit, 1000));
  delete from tock.hours h where (h.queue, h.hour) in (
    select o.queue, o.hour from tock.hours o where o.hour < pg_catalog.now() - interval '400 days' order by o.hour limit p_limit);
  delete from tock.fired d where d.number = any (array(
    select o.number from (select f.number, f.fired_at from tock.fired f order by f.number limit p_limit) o
    where o.fired_at < pg_catalog.now() - interval '7 days'));
  get diagnostics v_fired = row_count;
  delete from tock.reports r where r.reported_at < pg_catalog.now() - interval '90 days' and not r.detail ? 'identity';
  return v_requests + v_details + v_fired + tock.tidy_acts(p_limit) + tock.tidy_keys(p_limit) + tock.tidy_gates(p_limit);
end $$;

comment on function tock.tidy is 'Deletes request ids older than a day, what pg_cron noted about Tock''s jobs a day ago, unique keys and gates that nobody has used for long, workers that have claimed nothing of their own for two days (1,000 at most), what became of fires seven days ago, acts older than a year, and hours older than 400 days, up to p_limit of each.';
