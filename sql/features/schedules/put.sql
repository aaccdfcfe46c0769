-- Lock order: (1) the row of the schedule; (2) the row of its next fire. A firing locks only the latter, skip
-- locked. So a schedule that an open transaction is changing is not fired until that transaction ends, and
-- blocks no other schedule.
create or replace function tock.put_schedule(p_schedule text, p_settings jsonb)
returns tock.shown_schedule language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_row tock.schedules := tock.check_schedule(p_schedule, p_settings);
  v_old tock.schedules;
  v_timed boolean;
begin
  loop
    select s.* into v_old from tock.schedules s where s.name = p_schedule for update;
    v_timed := v_old.name is null
      or (v_old.cron, v_old.every_seconds, v_old.run_at, v_old.time_zone, v_old.jitter_seconds,
        v_old.starts_at, v_old.ends_at)
        is distinct from (v_row.cron, v_row.every_seconds, v_row.run_at, v_row.time_zone,
          v_row.jitter_seconds, v_row.starts_at, v_row.ends_at);
    v_row.created_at := coalesce(v_old.created_at, pg_catalog.now());
    v_row.updated_at := v_old.updated_at;
    v_row.paused_at := v_old.paused_at;
    if not v_timed then
      v_row.anchor_at := v_old.anchor_at;
    elsif tock.next_fire(v_row, pg_catalog.clock_timestamp()) is null then
      perform tock.refuse(422, 'this schedule never fires', case when v_row.run_at is not null then 'run_at'
        when v_row.ends_at is not null then 'ends_at' else 'cron' end,
        case when v_row.cron is not null then 'it names no day of the next 50 years, or none before ends_at'
          else 'its time is in the past' end);
    end if;
    if v_row is not distinct from v_old then
      perform tock.write_audit_log('put_schedule', p_schedule,
        pg_catalog.jsonb_build_object('changed', false));
      return tock.shown_schedule(v_old);
    end if;
    v_row.updated_at := pg_catalog.now();
    if v_old.name is null then
      insert into tock.schedules select v_row.* on conflict do nothing;
    else
      update tock.schedules s set
        (queue, payload, options, cron, every_seconds, run_at, time_zone, jitter_seconds, starts_at, ends_at,
          overlap, missed, missed_limit, missed_after_seconds, fire_as, updated_at, anchor_at, plan) = (
          v_row.queue, v_row.payload, v_row.options, v_row.cron, v_row.every_seconds, v_row.run_at,
          v_row.time_zone, v_row.jitter_seconds, v_row.starts_at, v_row.ends_at, v_row.overlap, v_row.missed,
          v_row.missed_limit, v_row.missed_after_seconds, v_row.fire_as, v_row.updated_at,
          v_row.anchor_at, v_row.plan)
      where s.name = p_schedule;
    end if;
    exit when found;  -- otherwise another call has made it meanwhile
  end loop;
  if v_timed then
    perform tock.plan_next(v_row);
  end if;
  -- options may contain headers and URLs
  perform tock.write_audit_log('put_schedule', p_schedule, p_settings - 'payload' - 'options');
  return tock.shown_schedule(v_row);
exception
  when lock_not_available then
    perform tock.schedule_is_held();
end $$;

comment on function tock.put_schedule is
  'Makes a schedule or replaces its settings; settings that are left out get their defaults. Its next fire '
  'stays if its timing is unchanged and is computed from now otherwise; its history stays. TK422 names an '
  'invalid setting.';

-- Raises TK503 after waiting in vain for a locked schedule.
create or replace function tock.schedule_is_held()
returns void language plpgsql immutable as $$
begin
  perform tock.refuse(503, 'an open transaction is firing or changing this schedule',
    'schedule', 'try again');
end $$;

-- Deletes the row of the next fire of a schedule and returns it; the caller writes the next row. The function
-- reads the newest row. If a firing replaces that row meanwhile, it takes the new one.
create or replace function tock.remove_next_fire(p_schedule text)
returns tock.schedule_next_fires language plpgsql volatile as $$
declare
  v_fire tock.schedule_next_fires;
begin
  loop
    select f.* into v_fire from tock.schedule_next_fires f where f.schedule = p_schedule
    order by f.schedule desc, f.turn desc limit 1;
    exit when not found;
    delete from tock.schedule_next_fires f where f.schedule = p_schedule and f.turn = v_fire.turn;
    exit when found;
  end loop;
  return v_fire;
end $$;

-- Writes the row of the next fire of a schedule, with the turn after that of the deleted row.
create or replace function tock.store_next_fire(p_schedule text, p_fire tock.schedule_next_fires)
returns void language sql volatile as $$
  insert into tock.schedule_next_fires (schedule, turn, due_at, fire_at, last_fire_at,
    last_fired_at, last_outcome, last_task_id, last_error, failures)
  values (p_schedule, coalesce(p_fire.turn, 0) + 1, p_fire.due_at, p_fire.fire_at, p_fire.last_fire_at,
    p_fire.last_fired_at, p_fire.last_outcome, p_fire.last_task_id, p_fire.last_error,
    coalesce(p_fire.failures, 0))
$$;

-- Computes the next fire of a schedule from now; none while it is paused.
create or replace function tock.plan_next(p_schedule tock.schedules)
returns void language plpgsql volatile as $$
declare
  v_fire tock.schedule_next_fires := tock.remove_next_fire(p_schedule.name);
begin
  v_fire.fire_at := case when p_schedule.paused_at is null
    then tock.next_fire(p_schedule, pg_catalog.clock_timestamp()) end;
  v_fire.due_at := coalesce(tock.due_of(p_schedule, v_fire.fire_at), 'infinity');
  perform tock.store_next_fire(p_schedule.name, v_fire);
end $$;

-- A schedule with its next fire and its last one.
create or replace function tock.shown_schedule(p_schedule tock.schedules)
returns tock.shown_schedule language plpgsql volatile as $$
declare
  s tock.schedules := p_schedule;
  f tock.schedule_next_fires;
begin
  select n.* into f from tock.schedule_next_fires n where n.schedule = s.name
  order by n.schedule desc, n.turn desc limit 1;
  return row(s.name, case when s.paused_at is not null then 'paused' when f.fire_at is null then 'over'
    else 'active' end,
    s.queue, s.payload, s.options, s.cron, s.every_seconds, s.run_at, s.time_zone, s.jitter_seconds,
    s.starts_at, s.ends_at, s.overlap, s.missed, s.missed_limit, s.missed_after_seconds, s.fire_as,
    s.paused_at, s.created_at, s.updated_at, f.fire_at, nullif(f.due_at, 'infinity'), f.last_fire_at,
    f.last_fired_at, f.last_outcome, f.last_task_id, f.last_error,
    f.failures)::tock.shown_schedule;
end $$;
