-- Each schedule has one row that says when it is next due. Who fires locks that row, enqueues, and puts the
-- next row in its place, in one transaction: of several who come at once each takes rows that no other has,
-- and what isn't committed is due still. Rows are read upwards from a little below the newest due time fired:
-- under a held-open transaction the low end is full of dead entries. What lies lower (put in a transaction
-- that was open for long, or locked by one that was rolled back) is found by the sweep: once a minute, and
-- when one who was at it then or at a maintenance job since has ended; never more than a twentieth of the
-- time.
create or replace function tock.fire_schedules(p_limit integer default 1000, p_sweep boolean default false)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_from timestamptz := '-infinity';
  v_from_schedule text := '';
  v_batch tock.schedule_next_fires[];
  v_count integer := 0;
begin
  if p_limit < 0 then
    perform tock.refuse(422, 'p_limit is not negative', 'p_limit');
  end if;
  if p_sweep is not true then
    select m.due_at, m.schedule into v_from, v_from_schedule from tock.fires_from() m;
  end if;
  loop
    v_batch := array(
      select f from (
        select n.* from tock.schedule_next_fires n
        where n.due_at <= v_now and (n.due_at, n.schedule) >= (v_from, v_from_schedule)
        order by n.due_at, n.schedule limit least(50, p_limit - v_count) for update skip locked) f
      order by f.due_at, f.schedule);
    exit when v_batch = '{}';
    perform tock.fire_batch(v_batch, v_now);
    v_count := v_count + pg_catalog.cardinality(v_batch);
    v_from := v_batch[pg_catalog.cardinality(v_batch)].due_at;
    v_from_schedule := v_batch[pg_catalog.cardinality(v_batch)].schedule;
    exit when v_count >= p_limit or pg_catalog.clock_timestamp() > v_now + interval '4 seconds';
  end loop;
  if v_count > 0 then
    perform pg_catalog.set_config('tock.schedule_history', 'on', true);
  end if;
  return v_count;
end $$;

comment on function tock.fire_schedules is
  'Fires up to p_limit schedules that are due, the earliest first, for up to about 4 s; returns how many. '
  'p_sweep reads from the bottom.';

create or replace function tock.run_fire_schedules()
returns integer
language plpgsql
volatile
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_writers text[] := tock.writers_of_fires();
  v_sweep boolean := coalesce(tock.late_fires_swept_at() <= v_now, false) or coalesce((
    select d.swept_at < v_now - interval '1 minute' or d.last_started_at > v_now  -- the clock was set back
    from tock.maintenance_jobs d where d.name = 'fire_schedules'), true);
  v_count integer := tock.fire_schedules(1000, v_sweep);
begin
  if v_sweep and v_count < 1000 then
    update tock.maintenance_jobs d set swept_at = v_now + 20 * (pg_catalog.clock_timestamp() - v_now),
      writers = v_writers
    where d.name = 'fire_schedules';
  else
    update tock.maintenance_jobs d
    set writers = array(select unnest(d.writers) union select unnest(v_writers))
    where d.name = 'fire_schedules' and not v_writers <@ d.writers;
  end if;
  return v_count;
end $$;

comment on function tock.run_fire_schedules is
  'fire_schedules(), from the bottom once a minute and where somebody may have left something there; '
  'notes who is writing.';

create or replace function tock.writers_of_fires()
returns text[]
language sql
volatile
as $$
  select array(
    select distinct l.virtualtransaction from pg_catalog.pg_locks l
    where l.locktype = 'relation' and l.relation = 'tock.schedule_next_fires'::regclass and l.granted
      and l.database = (select d.oid from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database())
      and l.mode in ('RowShareLock', 'RowExclusiveLock')
      and l.pid is distinct from pg_catalog.pg_backend_pid())
$$;

comment on function tock.writers_of_fires is
  'The virtual ids of other transactions that have written to fires or have rows of it locked.';

-- While they are at it, in a minute: one who is killed tells nobody. A twentieth
-- of the time may have passed already.
create or replace function tock.late_fires_swept_at()
returns timestamptz
language plpgsql
volatile
as $$
begin
  return (
    select case when d.writers <@ tock.writers_of_fires()
      then pg_catalog.clock_timestamp() + interval '1 minute'
      else coalesce(d.swept_at, d.last_started_at) end
    from tock.maintenance_jobs d where d.name = 'fire_schedules' and d.writers <> '{}');
end $$;

comment on function tock.late_fires_swept_at is
  'When fires are to be swept because of those who were writing at its last sweep, or at a maintenance job '
  'since: what '
  'they put may lie below where firing reads on. Null when nobody was.';

-- A firing stands for one entry that is dead now: so many are read again, and no more, whatever is held open.
-- What was fired in a future that the clock was set back from doesn't count.
create or replace function tock.fires_from()
returns table (due_at timestamptz, schedule text)
language plpgsql
volatile
as $$
begin
  return query
    select coalesce(m.due_at, '-infinity'), coalesce(m.schedule, '')
    from (select) one left join (
      select d.due_at, d.schedule from tock.schedule_history d where d.due_at <= pg_catalog.now()
      order by d.due_at desc, d.schedule desc offset 49 limit 1) m on true;
end $$;

comment on function tock.fires_from is 'Where firing reads on: at the fiftieth newest that was fired.';

-- One schedule's error is no other's: then each is fired apart from the rest. What somebody holds in an open
-- transaction (a unique key, say) is not waited for: who fires may be a claim, and holds the other schedules
-- of its batch.
create or replace function tock.fire_batch(p_fires tock.schedule_next_fires[], p_now timestamptz)
returns void
language plpgsql
volatile
set lock_timeout = '200ms'
as $$
declare
  v_fire tock.schedule_next_fires;
begin
  perform tock.fire_all(p_fires, p_now);
exception
  when others then
    if pg_catalog.cardinality(p_fires) = 1 then
      perform tock.fire_failed(p_fires[1], p_now, sqlstate, sqlerrm);
      return;
    end if;
    foreach v_fire in array p_fires loop
      -- the others are due still, and next in turn
      exit when pg_catalog.clock_timestamp() > p_now + interval '4 seconds';
      begin
        perform tock.fire_all(array[v_fire], p_now);
      exception
        when others then
          perform tock.fire_failed(v_fire, p_now, sqlstate, sqlerrm);
      end;
    end loop;
end $$;

comment on function tock.fire_batch is
  'Fires schedules that are due, together, or one by one where that fails. '
  'Their rows are locked by the caller.';

-- What is the caller's mistake (a payload that the queue takes no more) would be so again: it goes on to its
-- next fire. Anything else (a unique key that is held, a lock, a full disk) is tried again in ten seconds.
create or replace function tock.fire_failed(
  p_fire tock.schedule_next_fires, p_now timestamptz, p_sqlstate text, p_message text)
returns void
language plpgsql
volatile
as $$
declare
  v_schedule tock.schedules;
  v_fire tock.schedule_next_fires := p_fire;
  v_firing tock.firing_plan;
begin
  v_fire.last_error := pg_catalog.left(pg_catalog.concat(p_sqlstate, ' ', p_message), 1000);
  v_fire.failures := v_fire.failures + 1;
  v_fire.due_at := pg_catalog.clock_timestamp() + interval '10 seconds';
  if p_sqlstate ~ '^(TK422|22)' then
    select s.* into v_schedule from tock.schedules s where s.name = p_fire.schedule;
    v_firing := tock.plan_firing(v_schedule, p_fire.fire_at, p_now);
    insert into tock.schedule_history (schedule, fire_at, until_at, due_at, outcome, error)
      values (p_fire.schedule, p_fire.fire_at, coalesce(v_firing.next_fire_at, p_now), p_fire.due_at,
        'failed', v_fire.last_error);
    v_fire.last_fire_at := p_fire.fire_at;
    v_fire.last_fired_at := p_now;
    v_fire.last_outcome := 'failed';
    v_fire.fire_at := v_firing.next_fire_at;
    v_fire.due_at := v_firing.next_due_at;
  end if;
  delete from tock.schedule_next_fires f where f.schedule = p_fire.schedule and f.turn = p_fire.turn;
  perform tock.store_next_fire(p_fire.schedule, v_fire);
exception
  when others then
    -- nor can its next fire be told, as in a time zone that this server doesn't know any more:
    -- in an hour it may
    v_fire := p_fire;
    v_fire.due_at := p_now + interval '1 hour';
    v_fire.last_error := pg_catalog.left(pg_catalog.concat(p_sqlstate, ' ', p_message), 1000);
    v_fire.failures := v_fire.failures + 1;
    delete from tock.schedule_next_fires f where f.schedule = p_fire.schedule and f.turn = p_fire.turn;
    perform tock.store_next_fire(p_fire.schedule, v_fire);
end $$;

comment on function tock.fire_failed is 'Notes that a schedule could not be fired, and when it is due again.';
