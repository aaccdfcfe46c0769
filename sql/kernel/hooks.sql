-- The only calls from the kernel into other layers, mostly features. Each body lists them in lock order
-- (sql/README.md).
-- A claim of plain tasks, and the completion of their whole lease, call a hook only for late maintenance, a
-- limit of the queue, cancelled runs, or children that wait. An enqueue of up to 5,000 plain tasks calls
-- none, unless the queue has a default that they need.

-- Called when this database has no such queue, lease or task, with the key of its node; raises TK421, or
-- p_status, if another node has it.
create or replace function tock.on_not_found(
  p_key text, p_what text, p_field text, p_status integer default 421)
returns void language sql stable as $$ select tock.refuse_elsewhere(p_key, p_what, p_field, p_status) $$;

-- Checks the feature options of tasks; TK422 names the field.
create or replace function tock.before_append(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns void language plpgsql volatile as $$
begin
  perform tock.check_push(p_tasks, p_policy);
  perform tock.check_parents_of_call(p_tasks);
  perform tock.check_pipelines(p_queue, p_tasks);
end $$;

-- Appends tasks of which some have a unique key; calls append_any() for the new ones.
create or replace function tock.append_with_keys(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[] language sql volatile
as $$ select tock.append_unique(p_queue, p_tasks, p_policy) $$;

-- Called with the positions of tasks that have depends_on, and the ids of those that have the option parent
-- (p_parts), with these parents.
create or replace function tock.after_append(p_waiting bigint[], p_parents bigint[], p_parts bigint[])
returns void language plpgsql volatile as $$
begin
  perform tock.refuse_foreign_ids(p_parents, 'parent', 422);
  perform tock.record_children(p_waiting, p_parents, p_parts);
  if p_waiting is not null then
    perform tock.check_parents(p_waiting);
  end if;
end $$;

-- Checks the feature fields of results; TK422 names the field. True if only one call at a time may end runs
-- with these results: otherwise two could spawn the tasks of one run.
create or replace function tock.before_complete(p_results jsonb)
returns boolean language plpgsql volatile as $$
begin
  if not pg_catalog.jsonb_path_exists(p_results, '$[*].spawn') then
    return false;
  end if;
  perform tock.check_spawns(p_results);
  return true;
end $$;

-- How the task of a completed run continues: in the next stage, or in its own queue once the tasks that it
-- spawns have ended. Null if it ends.
create or replace function tock.on_completing(p_run tock.leased_run, p_item jsonb, p_options jsonb)
returns tock.continuation language plpgsql volatile as $$
begin
  if coalesce((p_item #>> '{spawn,wait}')::boolean, false) then
    -- if this call repeats an earlier one, the task waits already, and may have moved to another queue
    return row(coalesce(tock.next_queue_of(p_run.next_id), p_run.queue), true, null,
      false)::tock.continuation;
  elsif p_item ? 'stage' or p_options ? 'pipeline' then
    return tock.pipeline_continuation(p_run, p_item, p_options);
  end if;
  return null;
end $$;

-- True if an equal call completed the run before: its task continued in the same queue and spawned the same
-- tasks.
create or replace function tock.was_completed_so(
  p_run tock.leased_run, p_item jsonb, p_next tock.continuation, p_pipeline boolean)
returns boolean language sql stable as $$
  select tock.was_ended_so(p_run, coalesce(p_next.waits, false) or p_pipeline, p_next.queue)
    and tock.was_spawned_before(p_run, nullif(p_item -> 'spawn', 'null'))
$$;

-- Called with the runs of this completion that spawn tasks.
create or replace function tock.after_complete(p_segment integer, p_runs tock.leased_run[], p_results jsonb)
returns void language sql volatile as $$ select tock.spawn_all(p_segment, p_runs, p_results) $$;

-- Checks that tasks which continue in another queue with an unchanged payload fit there; TK422 names the
-- field.
create or replace function tock.before_next_attempts(p_again tock.next_attempt[], p_fields text[])
returns void language sql stable as $$ select tock.check_stages_take(p_again, p_fields) $$;

-- Called when runs or waiting tasks have ended, or continue as other runs.
create or replace function tock.on_runs_moved(p_ids bigint[])
returns void language sql volatile as $$ select tock.notify_dependents(p_ids) $$;

-- Called when results of runs have been written.
create or replace function tock.on_runs_ended(p_segment integer, p_ended tock.ending[])
returns void language plpgsql volatile as $$
begin
  perform tock.notify_dependents(array(select tock.id_at(e.position, e.stream) from unnest(p_ended) e));
  -- one call ends either completed runs or other runs, never both
  if (p_ended[1]).state <> 'done' then
    perform tock.record_dead_tasks(p_segment, p_ended);
  end if;
end $$;

-- Called when runs of a lease with options have ended and the ended part of the lease is closed.
create or replace function tock.after_runs_ended(p_segment integer, p_ended tock.ending[])
returns void language sql volatile as $$ select tock.release_keys_of_runs(p_segment, p_ended) $$;

-- Called when whole leases with options have ended. With p_wait false it only tries locks.
create or replace function tock.on_leases_ended(p_leases uuid[], p_segment integer, p_wait boolean)
returns void language sql volatile
as $$ select tock.release_keys_of_leases(p_leases, p_segment, p_wait) $$;

-- Called when a whole lease has ended that may hold runs for which other tasks wait.
create or replace function tock.on_parents_lease_ended(p_lease uuid, p_segment integer)
returns void language sql volatile
as $$ select tock.notify_dependents_of_lease(p_lease, p_segment) $$;

-- How many runs of a queue with a limit may start. Called for such queues only.
create or replace function tock.before_claim(p_queue text, p_policy tock.queues, p_wait boolean)
returns tock.limiter_state language sql volatile
as $$ select tock.acquire_from_limiter(p_queue, p_policy, p_wait) $$;

-- Called when runs of a queue with a limit have been leased.
create or replace function tock.after_claim(
  p_queue text, p_policy tock.queues, p_asked tock.limiter_state, p_token uuid, p_started integer)
returns void language sql volatile
as $$ select tock.record_limiter_state(p_queue, p_policy, p_asked, p_token, p_started) $$;

-- Does overdue maintenance before a claim reads its streams; true if there was anything to do.
create or replace function tock.piggyback_maintenance()
returns boolean language sql volatile as $$ select tock.run_late_maintenance() $$;

-- Called when a claim has skipped cancelled or expired runs of a stream; p_concurrency_keys are the keys of
-- these runs.
create or replace function tock.on_runs_skipped(
  p_stream integer, p_after bigint, p_upto bigint, p_concurrency_keys text[])
returns void language plpgsql volatile as $$
begin
  perform tock.notify_dependents_of_skipped(p_stream, p_after, p_upto);
  if p_concurrency_keys <> '{}' then
    perform tock.admit_at_keys(pg_catalog.array_fill(s.queue,
      array[pg_catalog.cardinality(p_concurrency_keys)]), p_concurrency_keys)
    from tock.streams s where s.number = p_stream;
  end if;
end $$;

-- Makes due the work that features have postponed until now.
create or replace function tock.before_promotion(p_sweep boolean)
returns void language plpgsql volatile as $$
begin
  perform tock.wake_more_waiters();
  perform tock.process_rechecks(p_sweep);
  if p_sweep then
    perform tock.schedule_recheck(tock.missed_dependents());
  end if;
end $$;

-- Due tasks that must stay on the wait list of their concurrency key until a later promotion.
create or replace function tock.held_back(p_positions bigint[], p_from timestamptz)
returns bigint[] language sql volatile
as $$ select tock.waiting_behind_others(p_positions, p_from) $$;

-- Called with due tasks that must check whether their parents have ended; returns how many became ready.
create or replace function tock.on_dependents_due(p_positions bigint[])
returns integer language plpgsql volatile as $$
declare
  v_children bigint[] := tock.lock_dependents(p_positions);
begin
  perform tock.promote_from(v_children);
  return tock.check_parents(v_children, true);
end $$;

-- Called with due tasks that have a concurrency key; makes ready those that the key admits.
create or replace function tock.on_concurrency_keys_due(p_positions bigint[])
returns void language sql volatile as $$ select tock.join_wait_lists(p_positions) $$;

-- Called when waiting tasks have become runs; p_queues and p_concurrency_keys are those of cancelled ones.
create or replace function tock.on_made_ready(
  p_positions bigint[], p_cancelled boolean, p_queues text[], p_concurrency_keys text[])
returns void language plpgsql volatile as $$
begin
  perform tock.admit_at_keys(p_queues, p_concurrency_keys);
  perform tock.notify_dependents_of_promoted(p_positions, p_cancelled);
end $$;

-- Makes ready the tasks that a feature missed; returns how many.
create or replace function tock.after_sweep()
returns integer language sql volatile as $$ select tock.sweep_wait_lists() $$;

-- Called when change() has set run_at of waiting or ready tasks.
create or replace function tock.on_tasks_rescheduled(p_ids bigint[])
returns void language sql volatile as $$ select tock.release_admissions(p_ids) $$;

-- The saved steps of a claimed run of a task that slept or waited for an event.
create or replace function tock.steps_of_run(p_task_id bigint, p_options jsonb, p_max_bytes integer)
returns jsonb language sql volatile as $$ select tock.steps_for_worker(p_task_id, p_options, p_max_bytes) $$;

-- Moves data of tasks that go on out of a segment before its drop; returns 0 when all is moved.
create or replace function tock.move_out_of_segment(p_segment integer, p_limit integer)
returns integer language sql volatile as $$ select tock.move_steps(p_segment, p_limit) $$;

-- True if the metrics have counted all runs of a segment; collects them if they have not.
create or replace function tock.before_segment_drop(p_segment tock.segments)
returns boolean language plpgsql volatile as $$
begin
  if p_segment.counted then
    return true;
  end if;
  perform tock.collect_metrics();
  return (select e.counted from tock.segments e where e.number = p_segment.number);
end $$;

-- Called when the tables of a segment have been dropped.
create or replace function tock.on_segment_dropped(p_segment integer)
returns void language sql volatile as $$ select tock.record_archive_dropped(p_segment) $$;
