-- The row that decides the state of a step: the one that ended it, else its newest one. Steps up to
-- p_after belong to an earlier stage of the task's pipeline.
create or replace function tock.last_step(p_task_id bigint, p_name text, p_after bigint)
returns tock.steps language plpgsql volatile as $$
begin
  return (
    select s from tock.steps s
    where s.task_id = p_task_id and s.name = p_name and s.position > p_after
    order by s.state in ('done', 'failed', 'timed_out') desc, s.unused, s.position desc limit 1);
end $$;

-- The position above which the steps of a task count, from the options of its run.
create or replace function tock.steps_from(p_task_id bigint, p_options jsonb)
returns bigint language sql immutable as $$
  select greatest(tock.position_of(p_task_id) - 1, (p_options #>> '{stage,after}')::bigint)
$$;

-- The steps of a task that count, each with the row that decides its state and the number of its failures,
-- in the order in which they were first saved.
create or replace function tock.steps_of(p_task_id bigint, p_after bigint)
returns table (
  name text, kind text, state text, result jsonb, error jsonb, event text, child_id bigint,
  due_at timestamptz, failures integer, version integer, unused boolean, saved_at timestamptz)
language plpgsql volatile as $$
#variable_conflict use_column
begin
  return query
    select d.name::text, d.kind,
      case when d.kind = 'sleep' and d.due_at <= pg_catalog.clock_timestamp() then 'done' else d.state end,
      d.result, d.error, d.event::text, d.child_id, d.due_at, d.failures::integer, d.first_version,
      d.is_unused, d.saved_at
    from (
      select distinct on (s.name) s.*,
        count(*) filter (where s.state = 'retrying' and not s.unused) over (partition by s.name) as failures,
        pg_catalog.bool_or(s.unused) over (partition by s.name) as is_unused,
        min(s.version) over (partition by s.name) as first_version,
        min(s.saved_at) over (partition by s.name) as first_at
      from tock.steps s where s.task_id = p_task_id and s.position > p_after
      order by s.name, s.state in ('done', 'failed', 'timed_out') desc, s.unused, s.position desc) d
    order by d.first_at, d.name;
end $$;

-- The steps of a run for its worker; null if they have more than p_max_bytes of JSON, so that the worker
-- reads them with lease_steps().
create or replace function tock.steps_for_worker(p_task_id bigint, p_options jsonb, p_max_bytes integer)
returns jsonb language plpgsql volatile as $$
begin
  return (
    select case when coalesce(sum(pg_catalog.octet_length(j.step::text)), 0) <= p_max_bytes
      then coalesce(pg_catalog.jsonb_agg(j.step order by j.n), '[]') end
    from (
      select row_number() over () as n, pg_catalog.to_jsonb(s) - '{saved_at,unused}'::text[]
        || pg_catalog.jsonb_build_object('child_id', s.child_id::text) as step
      from tock.steps_of(p_task_id, tock.steps_from(p_task_id, p_options)) s) j);
end $$;

create or replace function tock.task_steps(p_id bigint)
returns table (
  name text, kind text, state text, result jsonb, error jsonb, event text, child_id bigint,
  due_at timestamptz, failures integer, version integer, unused boolean, saved_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_task tock.resolved_task;
begin
  select w.* into v_task from tock.resolve_tasks(array[tock.first_id(p_id)]) w;
  if found then
    return query
      select s.name, s.kind, s.state, case when s.kind <> 'link' then s.result end, s.error, s.event,
        s.child_id, s.due_at, s.failures, s.version, s.unused, s.saved_at
      from tock.steps_of(v_task.task_id, tock.steps_from(v_task.task_id, (
        select r.options from tock.stored_runs(array[v_task.current_id]) r))) s;
  end if;
end $$;

comment on function tock.task_steps is
  'The steps of a task in the order in which they were first saved. The state is done, failed, timed_out, '
  'retrying or waiting. The failures are the failed attempts of a step with its own retries. The version is '
  'that of the handler that saved the step. It is unused if a later handler ended without asking for it. '
  'Of a task with a pipeline, these are the steps of its present stage.';

create or replace function tock.lease_steps(p_lease uuid, p_id bigint)
returns jsonb language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_segment integer := tock.token_segment(p_lease);
  v_run tock.leased_run;
begin
  select r.* into v_run from unnest(tock.lock_lease_runs(p_lease, v_segment, array[p_id])) r;
  if v_run.stream is null or v_run.state is not null then
    return null;
  end if;
  return tock.steps_for_worker(v_run.id, (
    select r.options from tock.stored_runs(array[tock.id_at(v_run.position, v_run.stream)]) r), 2147483647);
end $$;

comment on function tock.lease_steps is
  'The saved steps of a run for its worker, as a JSON array; null if the lease no longer has the run.';
