-- One row of each schedule says when it is due next. A firing locks that row, enqueues, and replaces the row,
-- in one transaction. Concurrent calls take different rows, and a rolled-back firing stays due. Rows are read
-- upwards from a little below the newest due time that was fired: while an old transaction is open, the lower
-- end of the index is full of dead entries. A row may lie below if its transaction was long, or if a firing
-- that locked it was rolled back. A sweep finds it. Sweeps run once a minute, and when a transaction has
-- ended that was writing at the last sweep or at a later run of the job. They take at most a twentieth of the
-- time.
create or replace function tock.fire_schedules(p_limit integer default 1000, p_sweep boolean default false)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_from timestamptz := '-infinity';
  v_from_schedule text := '';
  v_batch tock.schedule_next_fires[];
  v_count integer := 0;
begin
  if p_limit < 0 then
    perform tock.refuse(422, 'p_limit must not be negative', 'p_limit');
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
  'Fires up to p_limit due schedules, the earliest first, for about 4 s at most; returns the number. '
  'p_sweep reads all due schedules.';

-- fire_schedules(), with a sweep once a minute and after a writer has ended; records the present writers.
create or replace function tock.run_fire_schedules()
returns integer language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_writers text[] := tock.writers_of('tock.schedule_next_fires');
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

-- When to sweep because of transactions that were writing at the last sweep or at a later job: their rows may
-- lie below the point from which firing reads. Null if there were none. While these writers are active, the
-- answer is a minute from now, because a killed one ends without notice. Afterwards it is swept_at, which
-- already limits sweeps to a twentieth of the time.
create or replace function tock.late_fires_swept_at()
returns timestamptz language plpgsql volatile as $$
begin
  return (
    select case when d.writers <@ tock.writers_of('tock.schedule_next_fires')
      then pg_catalog.clock_timestamp() + interval '1 minute'
      else coalesce(d.swept_at, d.last_started_at) end
    from tock.maintenance_jobs d where d.name = 'fire_schedules' and d.writers <> '{}');
end $$;

-- The point from which firing reads: the fiftieth newest firing. Each firing stands for one dead entry in the
-- index of schedule_next_fires. Firing reads those of the fifty newest firings again, and no more, even while
-- an old transaction is open. Firings in the future, from before the clock was set back, do not count.
create or replace function tock.fires_from()
returns table (due_at timestamptz, schedule text) language plpgsql volatile as $$
begin
  return query
    select coalesce(m.due_at, '-infinity'), coalesce(m.schedule, '')
    from (select) one left join (
      select d.due_at, d.schedule from tock.schedule_history d where d.due_at <= pg_catalog.now()
      order by d.due_at desc, d.schedule desc offset 49 limit 1) m on true;
end $$;

-- Fires due schedules together, or one by one if that fails. The caller holds their row locks. An error of
-- one schedule must not affect the others: after an error each one is fired separately. A firing waits only
-- 200 ms for a lock of an open transaction, like that of a unique key. A claim may be doing the firing, and
-- it holds the other schedules of its batch.
create or replace function tock.fire_batch(p_fires tock.schedule_next_fires[], p_now timestamptz)
returns void language plpgsql volatile
set lock_timeout = '200ms' as $$
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
      -- the remaining schedules stay due for the next call
      exit when pg_catalog.clock_timestamp() > p_now + interval '4 seconds';
      begin
        perform tock.fire_all(array[v_fire], p_now);
      exception
        when others then
          perform tock.fire_failed(v_fire, p_now, sqlstate, sqlerrm);
      end;
    end loop;
end $$;

-- Records that a schedule could not be fired, and when it is due again. A caller's mistake, like a payload
-- that the queue no longer accepts, would fail again: the schedule moves to its next fire. After any other
-- error, like a locked unique key or a full disk, it tries again in ten seconds.
create or replace function tock.fire_failed(
  p_fire tock.schedule_next_fires, p_now timestamptz, p_sqlstate text, p_message text)
returns void language plpgsql volatile as $$
declare
  v_schedule tock.schedules;
  v_fire tock.schedule_next_fires := p_fire;
  v_firing tock.firing_plan;
begin
  v_fire.last_error := pg_catalog.left(pg_catalog.concat(p_sqlstate, ' ', p_message), 1000);
  v_fire.failures := v_fire.failures + 1;
  v_fire.due_at := pg_catalog.clock_timestamp() + interval '10 seconds';
  if p_sqlstate ~ '^(TK422|22)' then
    begin
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
    exception
      when others then
        -- the next fire cannot be computed either, for instance if the server no longer knows the time zone
        v_fire.due_at := p_now + interval '1 hour';
    end;
  end if;
  delete from tock.schedule_next_fires f where f.schedule = p_fire.schedule and f.turn = p_fire.turn;
  perform tock.store_next_fire(p_fire.schedule, v_fire);
end $$;
