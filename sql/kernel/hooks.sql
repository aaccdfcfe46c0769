-- The kernel calls features here and nowhere else. Each body lists the features in lock order (sql/README.md). Plain tasks
-- pay nothing: a hook is called only where a lease, a stream or a task says that it has options.

create or replace function tock.before_append(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns void
language plpgsql
volatile
as $$
begin
  perform tock.check_push(p_tasks, p_policy);
  perform tock.check_after(p_tasks);
  perform tock.check_pipelines(p_queue, p_tasks);
end $$;

comment on function tock.before_append is 'Checks what tasks ask of features; TK422 names the field.';

create or replace function tock.append_with_keys(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[]
language sql
volatile
as $$
  select tock.append_keyed(p_queue, p_tasks, p_policy)
$$;

comment on function tock.append_with_keys is 'Appends tasks of which some have a unique key: instead of append_any(), which it calls for those that are new.';

create or replace function tock.after_append(p_children bigint[])
returns void
language sql
volatile
as $$
  select tock.look_at_parents(p_children)
$$;

comment on function tock.after_append is 'Called with the positions of tasks that come after others.';

create or replace function tock.before_complete(p_lease uuid, p_results jsonb)
returns void
language plpgsql
volatile
as $$
begin
  if pg_catalog.jsonb_path_exists(p_results, '$[*].spawn') then
    perform tock.check_spawns(p_results);
    -- alone with the lease: else, of a run that another call ends meanwhile, this one would spawn all the same
    perform tock.lock_lease(p_lease);
  end if;
end $$;

comment on function tock.before_complete is 'Checks what results ask of features; TK422 names the field.';

create or replace function tock.on_completing(p_run tock.leased_run, p_item jsonb, p_options jsonb)
returns tock.continuation
language plpgsql
volatile
as $$
begin
  if coalesce((p_item #>> '{spawn,wait}')::boolean, false) then
    -- one that waits may have been moved since
    return row(coalesce(tock.led_to(p_run.next_id), p_run.queue), true, null, false)::tock.continuation;
  elsif p_item ? 'stage' or p_options ? 'pipeline' then
    return tock.pipeline_continuation(p_run, p_item, p_options);
  end if;
  return null;
end $$;

comment on function tock.on_completing is 'Where the task of a run that is done goes on, if it does: in the next stage, or where it is, once those have ended that it spawns.';

create or replace function tock.was_completed_so(
  p_run tock.leased_run, p_item jsonb, p_next tock.continuation, p_pipeline boolean)
returns boolean
language sql
stable
as $$
  select tock.ended_so(p_run, coalesce(p_next.waits, false) or p_pipeline, p_next.queue)
    and tock.spawned_so(p_run, nullif(p_item -> 'spawn', 'null'))
$$;

comment on function tock.was_completed_so is 'Whether a run that ended before was completed by the same call: it led to the same queue, and left the same tasks behind.';

create or replace function tock.after_complete(p_epoch integer, p_runs tock.leased_run[], p_results jsonb)
returns void
language sql
volatile
as $$
  select tock.spawn_all(p_epoch, p_runs, p_results)
$$;

comment on function tock.after_complete is 'Called with the runs done by this completion whose results have a spawn.';

create or replace function tock.before_next_attempts(p_again tock.going[], p_fields text[])
returns void
language sql
stable
as $$
  select tock.check_stages_take(p_again, p_fields)
$$;

comment on function tock.before_next_attempts is 'Checks tasks that go on in another queue with the payload they have.';

create or replace function tock.on_runs_moved(p_ids bigint[])
returns void
language sql
volatile
as $$
  select tock.parents_moved(p_ids)
$$;

comment on function tock.on_runs_moved is 'Called when runs or waiting entries have ended, or have gone on as others.';

create or replace function tock.on_runs_ended(p_epoch integer, p_ended tock.ending[])
returns void
language plpgsql
volatile
as $$
begin
  perform tock.parents_moved(array(select e.position << 20 | e.stream from unnest(p_ended) e));
  -- a call ends what is done or what isn't, never both
  if (p_ended[1]).state <> 'done' then
    perform tock.note_deaths(p_epoch, p_ended);
  end if;
end $$;

comment on function tock.on_runs_ended is 'Called when results of runs have been written.';

create or replace function tock.after_runs_ended(p_epoch integer, p_ended tock.ending[])
returns void
language sql
volatile
as $$
  select tock.leave_gates_at(p_epoch, p_ended)
$$;

comment on function tock.after_runs_ended is 'Called when runs of a lease with options have ended and the lease has been closed as far as it goes.';

create or replace function tock.on_leases_ended(p_leases uuid[], p_epoch integer, p_wait boolean)
returns void
language sql
volatile
as $$
  select tock.leave_gates_of(p_leases, p_epoch, p_wait)
$$;

comment on function tock.on_leases_ended is 'Called when whole leases with options have ended; p_wait false: no lock may be waited for.';

create or replace function tock.on_watched_lease_ended(p_lease uuid, p_epoch integer)
returns void
language sql
volatile
as $$
  select tock.lease_parents_moved(p_lease, p_epoch)
$$;

comment on function tock.on_watched_lease_ended is 'Called when a whole lease has ended that has a run for which other tasks wait, or may have.';
