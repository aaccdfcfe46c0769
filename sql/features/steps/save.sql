-- Saves what the handlers of runs of a lease have done. A step that ended before keeps its first outcome. A
-- step with an error and retry_in_seconds, a sleep, and a wait for an event or a child end the run: the task
-- continues as its next run when the first of them is over, and no attempt is counted. The call locks the
-- lease, so a lease that has expired and was reaped saves nothing.
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
  v_events text[];
  v_runs tock.leased_run[];
  v_run tock.leased_run;
  v_options jsonb;
  v_item jsonb;
  v_after bigint;
  v_step tock.steps;
  v_ended tock.ending[] := '{}';
  v_keeps boolean[] := '{}';
  v_for_events boolean[] := '{}';
  v_children jsonb := '{}';
  v_at integer;
begin
  perform tock.check_read_committed('save_steps');
  perform tock.check_steps(p_steps);
  select pg_catalog.array_agg(distinct (s.step ->> 'id')::bigint),
    pg_catalog.array_agg(s.step ->> 'event') filter (where s.step ? 'event')
  into v_ids, v_events from pg_catalog.jsonb_array_elements(p_steps) s (step);
  -- one call at a time, so that none of these runs ends meanwhile
  v_runs := tock.lock_lease_runs(p_lease, v_segment, v_ids, true);
  if tock.lease_has_options(p_lease) then
    v_options := tock.options_of(v_segment, v_runs);
  end if;
  if v_events is not null then
    perform tock.lock_events(v_events);
  end if;
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_steps) - 1 loop
    v_item := p_steps -> v_n;
    id := (v_item ->> 'id')::bigint;
    name := v_item ->> 'name';
    v_step := null;
    v_run := null;
    select r.* into v_run from unnest(v_runs) r
    where r.n = pg_catalog.array_position(v_ids, (v_item ->> 'id')::bigint);
    if v_run.stream is not null then
      v_after := tock.steps_from(v_run.id, v_options -> v_run.position::text);
      v_step := case when v_run.state is null
        then tock.save_step(v_run.id, v_run.position, v_after, v_item,
          pg_catalog.format('steps[%s]', v_n))
        -- this call repeats the one that ended the run
        when v_run.state = 'superseded' then tock.last_step(v_run.id, name, v_after) end;
      -- a late call must not commit the effect of a step that this run did not save
      if v_run.state is not null and v_item ?| '{result,link}'
        and v_step.state in ('waiting', 'retrying')
      then
        v_step := null;
      end if;
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
    if state in ('waiting', 'retrying') and v_run.state is null and not v_item ? 'unused' then
      v_at := (select e.n from unnest(v_ended) with ordinality
        e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
        where e.stream = v_run.stream and e.position = v_run.position);
      if v_at is null then
        v_ended := v_ended || row(v_run.stream, v_run.position, 'superseded', null, null, due_at,
          v_run.attempt, v_run.lost, null, null)::tock.ending;
        v_keeps := v_keeps || false;
        v_for_events := v_for_events || false;
        v_at := pg_catalog.cardinality(v_ended);
      end if;
      -- through tock.waiting while its concurrency key is paused
      v_ended[v_at].again_at := greatest(least(v_ended[v_at].again_at, due_at),
        tock.ready_again_at(v_run.queue, v_options -> v_run.position::text));
      -- a failure keeps the key as the setting of the queue says
      v_keeps[v_at] := v_keeps[v_at] or coalesce((v_item ->> 'keep_concurrency_key')::boolean,
        state = 'retrying' and (tock.policy(v_run.queue)).concurrency_retry = 'keep');
      v_for_events[v_at] := v_for_events[v_at] or v_step.kind = 'event';
      if v_step.child_id is not null then
        v_children := pg_catalog.jsonb_set(v_children, array[v_at::text],
          coalesce(v_children -> v_at::text, '[]') || pg_catalog.to_jsonb(v_step.child_id::text));
      end if;
    end if;
  end loop;
  if v_ended <> '{}' then
    perform tock.end_runs(v_segment, v_ended);
    perform tock.mark_suspended(v_ended, v_keeps, v_for_events, v_children);
    perform tock.close_lease(p_lease, v_segment);
    if v_options is not null then
      perform tock.after_runs_ended(v_segment, v_ended);
    end if;
  end if;
end $$;

comment on function tock.save_steps is
  'Saves steps of runs of a lease: [{id, name}, each with result, link, error, sleep_seconds, sleep_until, '
  'event, invoke or unused]. Returns for each its state: done, failed or timed_out, with the first outcome '
  'that was saved; '
  'waiting or retrying, if the run has ended and its task continues at due_at; lost, if the lease no longer '
  'has the run and nothing was saved.';
