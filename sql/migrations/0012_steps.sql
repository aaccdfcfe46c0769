-- Durable steps: what the handler of a task has done already, and the events for which tasks wait.

-- A row is appended when a worker saves a step, and when an event comes for a task that waits for it. A step
-- has ended once one of its rows is done, failed or timed_out. Before that it may have a row for each failed
-- attempt (retrying), or one that says until when the task sleeps or waits (waiting). A row that is unused
-- says that a later handler did not ask for the step. The position is that of the run that saved the row, or
-- a newer one, so steps are dropped with the segment of their run.
create table tock.steps (
  position bigint not null,
  task_id bigint not null,
  saved_at timestamptz not null default clock_timestamp(),
  due_at timestamptz,
  child_id bigint,
  version integer,
  unused boolean not null default false,
  kind text not null,
  state text not null,
  name text collate "C" not null,
  event text collate "C",
  result jsonb,
  error jsonb,
  primary key (task_id, name, position),
  constraint step_is_of_a_kind check (kind in ('step', 'sleep', 'event', 'child', 'link')),
  constraint step_state_is_known check (state in ('done', 'failed', 'timed_out', 'retrying', 'waiting')),
  constraint step_that_waits_is_due check ((due_at is not null) = (state in ('retrying', 'waiting'))),
  constraint only_a_wait_has_an_event check ((event is not null) = (kind = 'event')),
  constraint only_an_invocation_has_a_child check ((child_id is not null) = (kind = 'child'))
) partition by range (position);

do $$
declare
  v_segment tock.segments;
begin
  for v_segment in select e.* from tock.segments e order by e.number loop
    execute pg_catalog.format(
      'create table tock.steps_%s partition of tock.steps for values from (%s) to (%s)',
      v_segment.number, v_segment.first_position, v_segment.end_position);
  end loop;
end $$;

-- How far the steps of tasks that go on were moved out of the segment, before its drop.
alter table tock.segments add column steps_moved_to bigint;

-- The first payload of an event counts. It is kept for tasks that wait for it later.
create table tock.events (
  event text collate "C" primary key,
  signalled_at timestamptz not null default clock_timestamp(),
  more_waiters boolean not null default false,  -- more tasks waited than one call wakes
  request_id text,
  payload jsonb
);

create index events_by_time on tock.events (signalled_at);
create index events_with_more_waiters on tock.events (event) where more_waiters;

-- The tasks that wait for events. A row may be left over from a task that waits no longer.
create table tock.event_waits (
  task_id bigint not null,
  waiting_since timestamptz not null default clock_timestamp(),
  step text collate "C" not null,
  event text collate "C" not null,
  primary key (task_id, step)
);

create index event_waits_by_event on tock.event_waits (event, task_id);
create index event_waits_by_time on tock.event_waits (waiting_since);

-- Links by which anyone who has the token signals an event, once.
create table tock.event_links (
  token_hash bytea primary key,
  expires_at timestamptz not null,
  used_at timestamptz,
  event text collate "C" not null
);

create index event_links_by_expiry on tock.event_links (expires_at);
