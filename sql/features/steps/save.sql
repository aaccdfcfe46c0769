-- Saves what the handlers of runs of a lease have done. A step that ended before keeps its first outcome. A
-- step with an error and retry_in_seconds, a sleep, and a wait for an event end the run: the task continues
-- as its next run when the first of them is due, and no attempt is counted. The call locks the lease, so a
-- lease that has expired and was reaped saves nothing.
create or replace function tock.save_steps(p_lease uuid, p_steps jsonb)
returns table (
  id bigint, name text, state text, result jsonb, error jsonb, due_at timestamptz,
  cancel_requested boolean) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_segment integer := tock.token_segment(p_lease);
  v_ids bigint[];
  v_runs tock.leased_run[];
  v_run tock.leased_run;
  v_options jsonb;
  v_item jsonb;
  v_task_id bigint;
  v_after bigint;
  v_step tock.steps;
  v_ended tock.ending[] := '{}';
  v_keeps boolean[] := '{}';
  v_at integer;
begin
  perform tock.check_read_committed('save_steps');
  perform tock.check_steps(p_steps);
  v_ids := array(
    select distinct (s.step ->> 'id')::bigint from pg_catalog.jsonb_array_elements(p_steps) s (step));
  -- one call at a time, so that none of these runs ends meanwhile
  v_runs := tock.lock_lease_runs(p_lease, v_segment, v_ids, true);
  if tock.lease_has_options(p_lease) then
    v_options := tock.options_of(v_segment, v_runs);
  end if;
  perform tock.lock_events(array(
    select s.step ->> 'event' from pg_catalog.jsonb_array_elements(p_steps) s (step)
    where s.step ? 'event'));
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_steps) - 1 loop
    v_item := p_steps -> v_n;
    id := (v_item ->> 'id')::bigint;
    name := v_item ->> 'name';
    v_step := null;
    v_run := null;
    select r.* into v_run from unnest(v_runs) r
    where r.n = pg_catalog.array_position(v_ids, (v_item ->> 'id')::bigint);
    if v_run.stream is not null then
      v_task_id := tock.first_id(tock.id_at(v_run.position, v_run.stream));
      v_after := tock.steps_from(v_task_id, v_options -> v_run.position::text);
      v_step := case when v_run.state is null
        then tock.save_step(v_task_id, v_run.position, v_after, v_item)
        -- this call repeats the one that ended the run
        when v_run.state = 'superseded' then tock.last_step(v_task_id, name, v_after) end;
    end if;
    state := case when v_step.state is null then 'lost' when v_run.state is not null then 'waiting'
      else v_step.state end;
    result := v_step.result;
    error := v_step.error;
    due_at := v_step.due_at;
    cancel_requested := v_run.state is null and exists (
      select from tock.run_overrides m
      where m.stream = v_run.stream and m.position = v_run.position and m.kind = 'cancelled');
    return next;
    if state in ('waiting', 'retrying') and v_run.state is null then
      v_at := (select e.n from unnest(v_ended) with ordinality
        e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
        where e.stream = v_run.stream and e.position = v_run.position);
      if v_at is null then
        v_ended := v_ended || row(v_run.stream, v_run.position, 'superseded', null, null, due_at,
          v_run.attempt, v_run.lost, null, null)::tock.ending;
        v_keeps := v_keeps || false;
        v_at := pg_catalog.cardinality(v_ended);
      end if;
      -- through tock.waiting while its concurrency key is paused
      v_ended[v_at].again_at := greatest(least(v_ended[v_at].again_at, due_at),
        tock.ready_again_at(v_run.queue, v_options -> v_run.position::text));
      -- a failure keeps the key as the setting of the queue says
      v_keeps[v_at] := v_keeps[v_at] or coalesce((v_item ->> 'keep_concurrency_key')::boolean,
        state = 'retrying' and (tock.policy(v_run.queue)).concurrency_retry = 'keep');
    end if;
  end loop;
  if v_ended <> '{}' then
    perform tock.end_runs(v_segment, v_ended);
    perform tock.mark_suspended(v_ended, v_keeps);
    perform tock.close_lease(p_lease, v_segment);
    if v_options is not null then
      perform tock.after_runs_ended(v_segment, v_ended);
    end if;
  end if;
end $$;

comment on function tock.save_steps is
  'Saves steps of runs of a lease: [{id, name}, each with result, error, sleep_seconds, sleep_until or '
  'event]. Returns for each its state: done, failed or timed_out, with the first outcome that was saved; '
  'waiting or retrying, if the run has ended and its task continues at due_at; lost, if the lease no longer '
  'has the run and nothing was saved.';

-- Saves one step of a run and returns the row that decides its state.
create or replace function tock.save_step(p_task_id bigint, p_position bigint, p_after bigint, p_item jsonb)
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
  if v_old.state in ('done', 'failed', 'timed_out') then
    return v_old;
  end if;
  v_step.position := p_position;
  v_step.task_id := p_task_id;
  v_step.saved_at := v_now;
  v_step.name := v_name;
  v_step.event := v_event;
  v_step.kind := case when v_event is not null then 'event'
    when p_item ?| '{sleep_seconds,sleep_until}' then 'sleep' else 'step' end;
  v_step.result := nullif(p_item -> 'result', 'null');
  v_step.error := nullif(p_item -> 'error', 'null');
  -- a wait that goes on keeps the time that it had first
  v_step.due_at := case when v_old.state = 'waiting' and v_old.kind = v_step.kind then v_old.due_at
    else coalesce((p_item ->> 'sleep_until')::timestamptz,
      v_now + v_seconds::float8 * interval '1 second') end;
  if v_step.kind = 'step' then
    v_step.state := case when p_item ? 'result' then 'done' when v_seconds is null then 'failed'
      else 'retrying' end;
  elsif v_step.kind = 'sleep' then
    v_step.state := case when v_step.due_at <= v_now then 'done' else 'waiting' end;
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

-- Marks the waiting rows of tasks that sleep or wait for an event. suspended is the position of the row,
-- which tells it from the rows of later attempts. Such a task counts as started, so it no longer expires. Its
-- claim returns its steps. It keeps its concurrency key if p_keeps says so, and always the key of its unique
-- key.
create or replace function tock.mark_suspended(p_ended tock.ending[], p_keeps boolean[])
returns void language sql volatile as $$
  update tock.waiting w set
    lane = case when w.lane < 1024 then w.lane + 1024 else w.lane end,
    options = coalesce(w.options, '{}') - '{keeps_key,expires_at}'::text[]
      || pg_catalog.jsonb_build_object('suspended', w.position::text)
      || case when n.keeps or w.concurrency_key like 'key:%' then '{"keeps_key": true}' else '{}' end::jsonb
  from (
    select tock.position_of(r.next_id) as position, e.keeps
    from unnest(p_ended, p_keeps)
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, keeps)
    cross join lateral (
      select r.next_id from tock.results r
      where r.stream = e.stream and r.position = e.position and r.next_id & 1048575 = 0 offset 0) r
    offset 0) n
  where w.position = any (array[n.position])
$$;
