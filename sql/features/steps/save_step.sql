-- Saves one step of a run and returns the row that decides its state.
create or replace function tock.save_step(
  p_task_id bigint, p_position bigint, p_after bigint, p_item jsonb, p_field text)
returns tock.steps language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_name text := p_item ->> 'name';
  v_event text := p_item ->> 'event';
  v_old tock.steps := tock.last_step(p_task_id, v_name, p_after);
  v_step tock.steps := v_old;
  v_seconds numeric := pg_catalog.round((p_item ->> case when v_event is not null then 'timeout_seconds'
    when p_item ? 'error' then 'retry_in_seconds' else 'sleep_seconds' end)::numeric, 6);
begin
  v_step.position := p_position;
  v_step.saved_at := v_now;
  if p_item ? 'unused' then
    v_step.unused := true;
    v_step.result := null;
    insert into tock.steps select v_step.* where v_old.name is not null on conflict do nothing;
    return v_old;
  elsif v_old.state in ('done', 'failed', 'timed_out') then
    return v_old;
  end if;
  v_step.task_id := p_task_id;
  v_step.name := v_name;
  v_step.version := (p_item ->> 'version')::integer;
  v_step.unused := false;
  v_step.event := v_event;
  v_step.kind := case when v_event is not null then 'event' when p_item ? 'invoke' then 'child'
    when p_item ? 'link' then 'link'
    when p_item ?| '{sleep_seconds,sleep_until}' then 'sleep' else 'step' end;
  v_step.child_id := case when v_step.kind = 'child'
    then coalesce(v_old.child_id, tock.invoke(p_task_id, p_item -> 'invoke', p_field)) end;
  v_step.result := nullif(coalesce(p_item -> 'result', p_item -> 'link'), 'null');
  v_step.error := nullif(p_item -> 'error', 'null');
  -- a wait that goes on keeps the time that it had first
  v_step.due_at := case when v_old.state = 'waiting' and v_old.kind = v_step.kind then v_old.due_at
    else coalesce((p_item ->> 'sleep_until')::timestamptz,
      v_now + v_seconds::float8 * interval '1 second') end;
  if v_step.kind in ('step', 'link') then
    v_step.state := case when p_item ?| '{result,link}' then 'done' when v_seconds is null then 'failed'
      else 'retrying' end;
  elsif v_step.kind = 'sleep' then
    v_step.state := case when v_step.due_at <= v_now then 'done' else 'waiting' end;
  elsif v_step.kind = 'child' then
    v_step.due_at := coalesce(v_step.due_at, v_now + interval '3650 days');
    select o.state, o.result, o.error into v_step.state, v_step.result, v_step.error
    from tock.child_outcomes(array[v_step.child_id]) o;
    v_step.state := coalesce(v_step.state, 'waiting');
  else
    v_step.due_at := coalesce(v_step.due_at, v_now + interval '3650 days');
    select 'done', e.payload into v_step.state, v_step.result from tock.events e where e.event = v_event;
    v_step.state := coalesce(v_step.state,
      case when v_step.due_at <= v_now then 'timed_out' else 'waiting' end);
    if v_step.state = 'waiting' then
      insert into tock.event_waits (task_id, step, event) values (p_task_id, v_name, v_event)
        -- a new row version, so that prune_events() leaves it
        on conflict (task_id, step) do update
          set event = excluded.event, waiting_since = excluded.waiting_since;
    else
      delete from tock.event_waits x where x.task_id = p_task_id and x.step = v_name;
    end if;
  end if;
  if v_step.state not in ('waiting', 'retrying') then
    v_step.due_at := null;
  elsif v_step.state = 'waiting' and v_old.state = 'waiting' and v_old.kind = v_step.kind
    and v_old.event is not distinct from v_event
  then
    return v_old;
  end if;
  insert into tock.steps select v_step.* on conflict do nothing;
  return case when found then v_step else tock.last_step(p_task_id, v_name, p_after) end;
end $$;
