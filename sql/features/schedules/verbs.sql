create or replace function tock.queue_of_schedule(p_schedule text)
returns text language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  select s.queue from tock.schedules s where s.name = p_schedule
$$;

comment on function tock.queue_of_schedule is
  'The queue into which a schedule fires; null if there is no such schedule.';

create or replace function tock.pause_schedule(p_schedule text)
returns setof tock.shown_schedule language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
begin
  return query select v.* from tock.set_paused(p_schedule, pg_catalog.now()) v where v.name is not null;
end $$;

comment on function tock.pause_schedule is
  'Stops a schedule from firing until it is resumed; no row if there is none.';

create or replace function tock.resume_schedule(p_schedule text)
returns setof tock.shown_schedule language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
begin
  return query select v.* from tock.set_paused(p_schedule, null) v where v.name is not null;
end $$;

comment on function tock.resume_schedule is
  'Resumes a paused schedule with its next fire from now; fires during the pause do not count as missed. No '
  'row if there is none.';

-- Pauses or resumes a schedule; null if there is none.
create or replace function tock.set_paused(p_schedule text, p_paused_at timestamptz)
returns tock.shown_schedule language plpgsql volatile as $$
declare
  v_row tock.schedules;
begin
  select s.* into v_row from tock.schedules s where s.name = p_schedule for update;
  if not found then
    return null;
  elsif (v_row.paused_at is null) <> (p_paused_at is null) then
    update tock.schedules s set paused_at = p_paused_at where s.name = p_schedule;
    v_row.paused_at := p_paused_at;
    perform tock.plan_next(v_row);
  end if;
  perform tock.write_audit_log(case when p_paused_at is null then 'resume_schedule'
    else 'pause_schedule' end, p_schedule);
  return tock.shown_schedule(v_row);
exception
  when lock_not_available then
    perform tock.schedule_is_held();
end $$;

create or replace function tock.drop_schedule(p_schedule text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
begin
  delete from tock.schedules s where s.name = p_schedule;
  if not found then
    return false;
  end if;
  perform tock.remove_next_fire(p_schedule);
  perform tock.write_audit_log('drop_schedule', p_schedule);
  return true;
exception
  when lock_not_available then
    perform tock.schedule_is_held();
end $$;

comment on function tock.drop_schedule is
  'Deletes a schedule; the tasks that it has fired stay. False if there is none.';

-- The plan stays: the next fire gets a new row with the same time.
create or replace function tock.run_schedule(p_schedule text, p_request_id text default null)
returns setof bigint language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_row tock.schedules;
  v_seen tock.requests;
  v_digest bigint := pg_catalog.hashtextextended(p_schedule, 0);
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_fire tock.schedule_next_fires;
begin
  select s.* into v_row from tock.schedules s where s.name = p_schedule for share;
  if not found then
    return;
  end if;
  if p_request_id is not null then
    v_seen := tock.request_seen('run_schedule', v_row.queue, p_request_id, v_digest);
    if v_seen.ids is not null then
      return next v_seen.ids[1];
      return;
    end if;
  end if;
  v_fire := tock.remove_next_fire(p_schedule);
  v_fire.last_task_id := (tock.enqueue(v_row.queue,
    pg_catalog.jsonb_build_array(tock.task_of(v_row, v_now))))[1];
  v_fire.last_fire_at := v_now;
  v_fire.last_fired_at := v_now;
  v_fire.last_outcome := 'run';
  perform tock.store_next_fire(p_schedule, v_fire);
  insert into tock.schedule_history (schedule, fire_at, outcome, task_id)
  values (p_schedule, v_now, 'run', v_fire.last_task_id);
  if p_request_id is not null then
    insert into tock.requests (verb, queue, request_id, digest, ids)
      values ('run_schedule', v_row.queue, p_request_id, v_digest, array[v_fire.last_task_id])
      on conflict do nothing;  -- a conflict is possible only under an old snapshot, and raises 40001 there
  end if;
  perform tock.write_audit_log('run_schedule', p_schedule,
    pg_catalog.jsonb_build_object('task_id', v_fire.last_task_id::text));
  return next v_fire.last_task_id;
exception
  when lock_not_available then
    perform tock.schedule_is_held();
end $$;

comment on function tock.run_schedule is
  'Fires a schedule now, even a paused one and whatever the state of its last task; its next fire stays. '
  'Returns the id of the task, no row if there is no such schedule. A repeated call with the same '
  'request_id returns the same id for 24 hours.';
