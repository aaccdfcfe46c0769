-- Copies the steps of an ended task that were saved before the step p_from_step, and have ended, to a task
-- that was made of it. TK422 if the task has no such step.
create or replace function tock.fork_steps(p_task tock.resolved_task, p_id bigint, p_from_step text)
returns void language plpgsql volatile as $$
declare
  v_after bigint := tock.steps_from(p_task.task_id, (
    select r.options from tock.stored_runs(array[p_task.current_id]) r));
begin
  if not exists (
    select from tock.steps s
    where s.task_id = p_task.task_id and s.name = p_from_step and s.position > v_after)
  then
    perform tock.refuse(422, 'the task has no step of this name', 'from_step',
      'tock.task_steps() lists the steps of the task');
  end if;
  insert into tock.steps (position, task_id, saved_at, kind, state, name, event, child_id, result, error,
    version)
  select pg_catalog.nextval('tock.positions'), p_id, s.saved_at, s.kind, s.state, s.name, s.event, s.child_id,
    s.result, s.error, s.version
  from (
    select s.*, pg_catalog.bool_or(s.name = p_from_step) over (order by s.n) as reached
    from tock.steps_of(p_task.task_id, v_after) with ordinality
      s(name, kind, state, result, error, event, child_id, due_at, failures, version, unused, saved_at, n)) s
  where not s.reached and s.state in ('done', 'failed', 'timed_out')
  order by s.n;
end $$;
