-- What a task waits for in its steps, and which schedule made a task.

lock table tock.queues, tock.segments, tock.maintenance_jobs, tock.streams, tock.leases, tock.runs,
  tock.results, tock.run_overrides, tock.waiting, tock.promotions, tock.requests, tock.keys, tock.steps,
  tock.schedule_next_fires, tock.schedule_history in access exclusive mode;

-- Null while the task waits for its time, its concurrency key or its parents.
alter table tock.waiting add column waits_for text,
  add constraint step_waits_for_event_or_child check (waits_for in ('event', 'child'));

-- Counts and lists these tasks by what they wait for.
create index waiting_in_steps on tock.waiting (queue, waits_for, position)
  where waits_for is not null and lost >= 0;

update tock.waiting w set waits_for = case when w.due_after_parents is not null then 'child' else 'event' end
where w.options ->> 'suspended' = w.position::text and w.ticket is null
  and (w.due_after_parents is not null or exists (
    select from tock.steps s
    where s.task_id = w.task_id and s.kind = 'event' and s.state = 'waiting' and s.due_at >= w.due_at
      and not exists (
        select from tock.steps e where e.task_id = s.task_id and e.name = s.name
          and e.state in ('done', 'failed', 'timed_out'))));

create index schedule_history_by_task on tock.schedule_history (task_id, number) where task_id is not null;

-- These have other arguments or columns, or are part of another one.
drop function if exists tock.mark_suspended(tock.ending[], boolean[]);
drop function if exists tock.wait_for_invoked(tock.ending[], jsonb);
drop function if exists tock.task(bigint);
drop function if exists tock.task_with(bigint, tock.found_run[], bigint[]);
