-- The changes that a task brings to the holder of its key.
create or replace function tock.key_changes(p_key tock.unique_keys, p_task jsonb)
returns jsonb language plpgsql volatile as $$
declare
  v_changes jsonb := pg_catalog.jsonb_build_object('payload', p_task -> 'payload')
    || case when p_task ->> 'priority' is not null
      then pg_catalog.jsonb_build_object('priority', p_task -> 'priority') else '{}' end;
  v_before jsonb;
  v_due timestamptz := coalesce((p_task ->> 'run_at')::timestamptz,
    pg_catalog.clock_timestamp() + interval '1 second'
      * pg_catalog.round((p_task ->> 'delay_seconds')::numeric, 6)::float8);
begin
  if p_task ->> 'on_conflict' = 'merge' then
    v_before := tock.payload_of(p_key.task_id);
    if pg_catalog.jsonb_typeof(v_before) = 'array' and pg_catalog.jsonb_typeof(p_task -> 'payload') = 'array'
    then
      v_changes := pg_catalog.jsonb_set(v_changes, '{payload}', v_before || (p_task -> 'payload'));
    end if;
  elsif p_task ->> 'on_conflict' = 'debounce' then
    v_changes := v_changes
      || pg_catalog.jsonb_build_object('run_at', least(coalesce(v_due, pg_catalog.clock_timestamp()),
      p_key.created_at + interval '1 second'
        * pg_catalog.round((p_task ->> 'debounce_max_seconds')::numeric, 6)::float8));
  elsif p_task ->> 'on_conflict' = 'replace' and v_due is not null then
    v_changes := v_changes || pg_catalog.jsonb_build_object('run_at', v_due);
  end if;
  return v_changes;
end $$;

-- Applies the changes of a new task to the holder of its unique key; returns whether the holder stands for
-- it. With policy pending, only a waiting holder is changed, with its row locked, so that it cannot start
-- before this call commits. Changing a ready holder needs the lock of its stream, which an open claim may
-- hold for long. So a ready holder is cancelled instead, and another task appended.
create or replace function tock.change_held(p_key tock.unique_keys, p_at tock.resolved_task, p_task jsonb)
returns boolean language plpgsql volatile
set lock_timeout = '2s' as $$
declare
  v_policy text := tock.key_policy(p_task);
  v_changed record;
begin
  -- a holder in a later stage has the payload of that stage, so it is not changed
  if p_at.queue is null then
    return tock.counts(p_task, p_at.state, p_key.created_at, pg_catalog.clock_timestamp());
  elsif v_policy = 'pending' then
    perform from tock.waiting w where w.position = tock.position_of(p_at.current_id)
      and p_at.state = 'waiting' for update;
    if not found then
      return false;
    end if;
  end if;
  select c.state, c.changed into v_changed
  from tock.change(array[p_key.task_id], tock.key_changes(p_key, p_task)) c;
  return case
    when v_changed.state in ('waiting', 'ready') then v_changed.changed
    when v_changed.state = 'running' then v_policy <> 'pending'
    else v_policy = 'period' end;
end $$;

-- The task to append in place of the cancelled holder of its key.
create or replace function tock.in_its_place(p_key tock.unique_keys, p_at tock.resolved_task, p_task jsonb)
returns jsonb language plpgsql volatile as $$
declare
  v_waits tock.waiting;
begin
  if p_at.state = 'waiting' then
    select w.* into v_waits from tock.waiting w where w.position = tock.position_of(p_at.current_id);
    if not found then
      p_at := (select w from tock.resolve_tasks(array[p_key.task_id]) w);
    end if;
  end if;
  return p_task - 'delay_seconds' - 'run_at'
    || pg_catalog.jsonb_build_object('priority', coalesce(v_waits.priority,
      (select s.priority from tock.streams s where s.number = tock.stream_of(p_at.current_id))))
    || case when v_waits.due_at > pg_catalog.clock_timestamp() and v_waits.due_at < 'infinity'
      then pg_catalog.jsonb_build_object('run_at', v_waits.due_at) else '{}' end
    || tock.key_changes(p_key, p_task);
end $$;

-- The present payload of a task; of a running one, the payload of its next attempt.
create or replace function tock.payload_of(p_id bigint)
returns jsonb language plpgsql volatile as $$
declare
  v_at tock.resolved_task;
  v_payload jsonb;
begin
  loop
    v_at := (select w from tock.resolve_tasks(array[p_id]) w);
    exit when v_at.state is distinct from 'waiting';
    select tock.own_payload(w.payload, w.options)::jsonb into v_payload from tock.waiting w
    where w.position = tock.position_of(v_at.current_id);
    if found then
      return v_payload;
    end if;
    -- promoted meanwhile: read again
  end loop;
  if v_at.state = 'running' then
    select tock.changed_payload(w.id) into v_payload
    from unnest(tock.pending_changes(array[v_at.task_id, v_at.current_id])) w
    where w.changes ? 'bytes' order by w.id = v_at.task_id desc limit 1;
    if found then
      return v_payload;
    end if;
  end if;
  return (select tock.own_payload(r.payload, r.options)::jsonb from tock.run_at(v_at.current_id) r);
end $$;
