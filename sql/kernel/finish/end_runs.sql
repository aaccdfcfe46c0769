-- Writes the results of runs and, for tasks that continue, the next run or waiting task. Returns how many
-- runs had not ended before. p_fields, in the order of the runs, names those that continue with the unchanged
-- payload of the task, which is then checked. The caller has locked the rows of the lease, so the reaper
-- skips it. Two calls may end the same run at once. The primary key of results then decides, and only the
-- call that wrote the result continues the task. again_at is the time of the next run, after a failure or for
-- the next stage. If it has come, the next run is appended at once; otherwise a waiting task is added. All
-- runs are in one segment. Payloads are copied from table to table, since an array cannot exceed 1 GB.
-- Cancels and pending changes count if they are committed by now: a cancelled task gets no next run.
create or replace function tock.end_runs(
  p_segment integer, p_ended tock.ending[], p_fields text[] default null)
returns integer language plpgsql volatile
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_again tock.next_attempt[];
  v_streams integer[];
  v_one tock.ending;
  v_next tock.next_attempt;
  v_some boolean;
  v_ready boolean;
  v_later boolean;
  v_slot integer;
  v_count integer;
begin
  foreach v_one in array p_ended loop
    v_some := v_one.again_at is not null;
    exit when v_some;
  end loop;
  if v_some is null then
    return 0;
  elsif v_some then
    v_again := tock.next_attempts_current(p_segment, p_ended);
    if v_again is null then
      execute pg_catalog.format('select tock.next_attempts_%s($1, $2)', p_segment) into v_again
        using p_segment, p_ended;
    end if;
    foreach v_next in array v_again loop
      if v_next.cancelled is null and v_next.position is not null then
        v_again := tock.apply_pending_changes(v_again);
        exit;
      end if;
    end loop;
    foreach v_next in array v_again loop
      continue when v_next.cancelled is not false or v_next.position is null;
      if v_next.due_at <= v_now then
        v_ready := true;
      else
        v_later := true;
      end if;
    end loop;
    if p_fields is not null then
      perform tock.before_next_attempts(v_again, p_fields);
    end if;
    if v_ready then
      v_slot := tock.take_slot();
      if pg_catalog.cardinality(v_again) = 1 then
        v_streams := array[tock.open_stream((v_again[1]).queue, (v_again[1]).priority,
          (v_again[1]).lane, v_slot)];
      else
        perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
        from (
          select distinct a.queue, a.priority, a.lane from unnest(v_again) a
          where not a.cancelled and a.due_at <= v_now) d;
        v_streams := array(
          select case when not a.cancelled and a.due_at <= v_now then (
            select t.number from tock.streams t
            where t.queue = a.queue and t.priority = a.priority and t.lane = a.lane and t.slot = v_slot) end
          from unnest(v_again) a order by a.n);
      end if;
    end if;
    if v_later then
      perform tock.check_waiting_ids();
    end if;
  end if;
  v_count := tock.write_results_current(p_segment, p_ended, v_again, v_streams);
  if v_count is null then
    execute pg_catalog.format('select tock.write_results_%s($1, $2, $3, $4)', p_segment) into v_count
      using p_segment, p_ended, v_again, v_streams;
  end if;
  perform tock.on_runs_ended(p_segment, p_ended);
  return v_count;
end $$;

-- The next attempts of runs with pending changes and cancellations applied where cancelled is null, in the
-- same order.
create or replace function tock.apply_pending_changes(p_again tock.next_attempt[])
returns tock.next_attempt[] language plpgsql volatile as $$
declare
  v_pending tock.pending_change[] := tock.pending_changes(array(
    select a.task_id from unnest(p_again) a where a.cancelled is null
    union select tock.id_at(a.position, a.stream) from unnest(p_again) a where a.cancelled is null));
begin
  return array(
    select row(a.n, a.stream, a.position, a.task_id, a.attempt, a.max_attempts, a.tenant, a.created_at,
      coalesce(p.bytes, a.bytes), p.id,
      a.queue, coalesce((c.changes ->> 'priority')::smallint, a.priority), a.lane,
      greatest(a.due_at, (c.changes ->> 'run_at')::timestamptz),
      coalesce(t.cancelled, false) or coalesce(o.cancelled, false),
      a.lost, a.stage_after)::tock.next_attempt
    from unnest(p_again) a
    left join unnest(v_pending) t on t.id = a.task_id
    left join unnest(v_pending) o on o.id = tock.id_at(a.position, a.stream)
    cross join lateral (
      select coalesce(o.changes, '{}') || coalesce(t.changes, '{}') as changes) c
    left join lateral (
      select w.id, (w.changes ->> 'bytes')::integer as bytes
      from (values (1, t.id, t.changes), (2, o.id, o.changes)) w (n, id, changes)
      where w.changes ? 'bytes' and coalesce((w.changes ->> 'at')::bigint >> 20 > a.stage_after, true)
      order by w.n limit 1) p on true
    order by a.n);
end $$;
