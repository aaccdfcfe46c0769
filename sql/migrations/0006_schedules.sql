-- Schedules enqueue tasks at given times. A schedule, its next fire and its history are in three tables, so
-- that no fire updates a schedule.

-- A cron expression as bit sets: bit n is set if the field has n. A weekday (Sunday is 0, at index 1) has a
-- bit for each of its occurrences in the month, the first to the fifth; 32 means the last one, and 63 all of
-- them.
create type tock.cron_plan as (
  seconds bigint, minutes bigint, hours bigint, days bigint, months bigint, nearest bigint,
  weekdays smallint[], last_day boolean, last_workday boolean, any_day boolean, any_weekday boolean,
  both_days boolean, fixed boolean);

create table tock.schedules (
  name text collate "C" primary key,
  queue text collate "C" not null,
  payload jsonb,
  options jsonb not null default '{}',
  cron text,
  every_seconds integer,
  run_at timestamptz,
  time_zone text not null default 'UTC',
  jitter_seconds integer not null default 0,
  starts_at timestamptz,
  ends_at timestamptz,
  overlap text not null default 'queue',
  missed text not null default 'one',
  missed_limit integer not null default 100,
  missed_after_seconds integer not null default 60,
  fire_as text,  -- the key of the payload for the fire
  paused_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  anchor_at timestamptz,
  plan tock.cron_plan,
  constraint schedule_has_one_timing check (num_nonnulls(cron, every_seconds, run_at) = 1),
  constraint cron_has_its_plan check ((cron is null) = (plan is null)),
  constraint period_has_its_anchor check ((every_seconds is null) = (anchor_at is null)),
  constraint period_is_up_to_ten_years check (every_seconds between 1 and 315360000),
  constraint jitter_is_up_to_a_day check (jitter_seconds between 0 and 86400),
  constraint schedule_ends_after_it_starts check (ends_at > starts_at),
  constraint overlap_is_known check (overlap in ('queue', 'skip', 'replace')),
  constraint missed_is_known check (missed in ('one', 'skip', 'all')),
  constraint missed_limit_is_1_to_1000 check (missed_limit between 1 and 1000),
  constraint missed_after_is_up_to_a_day check (missed_after_seconds between 0 and 86400)
);

create index schedules_by_queue on tock.schedules (queue, name);

-- The next fire of each schedule, and the outcome of the last one. due_at is infinity if there is no next
-- fire: the schedule is paused or over. A fire deletes the row and inserts another, whose turn is one higher.
-- So the newest row is found first while an old transaction is open.
create table tock.schedule_next_fires (
  turn bigint not null,
  due_at timestamptz not null,
  fire_at timestamptz,
  last_fire_at timestamptz,
  last_fired_at timestamptz,
  last_task_id bigint,
  failures integer not null default 0,
  schedule text collate "C" not null,
  last_outcome text,
  last_error text,
  primary key (schedule, turn),
  constraint only_what_has_no_fire_is_never_due check ((fire_at is null) = (due_at = 'infinity')),
  constraint fire_failed_for_a_reason check (
    (failures > 0) = (last_error is not null) and failures >= 0),
  constraint last_fire_is_told_whole check (
    num_nulls(last_fire_at, last_fired_at, last_outcome) in (0, 3)),
  constraint outcome_is_known check (
    last_outcome in ('fired', 'run', 'overlapped', 'replaced', 'missed', 'failed'))
);

create index schedule_next_fires_by_due on tock.schedule_next_fires (due_at, schedule);
create index failing_schedules on tock.schedule_next_fires (schedule) where failures > 0;

-- Append-only: the outcome of each fire. Firing reads from the newest due_at, which one row of each firing
-- has.
create table tock.schedule_history (
  number bigint generated always as identity primary key,
  fire_at timestamptz not null,
  until_at timestamptz,
  due_at timestamptz,
  fired_at timestamptz not null default clock_timestamp(),
  task_id bigint,
  schedule text collate "C" not null,
  outcome text not null,
  error text,
  constraint outcome_is_known check (
    outcome in ('fired', 'run', 'overlapped', 'replaced', 'missed', 'failed')),
  constraint what_fired_made_a_task check (
    (task_id is not null) = (outcome in ('fired', 'run'))),
  constraint what_failed_says_why check ((error is not null) = (outcome = 'failed')),
  constraint fires_are_left_out_up_to_a_later_one check (until_at >= fire_at)
);

create index schedule_history_by_due on tock.schedule_history (due_at, schedule) where due_at is not null;
create index schedule_history_by_schedule on tock.schedule_history (schedule, number);

-- What a schedule has to fire at an instant: the fires that become tasks, oldest first, the range of the
-- missed ones, and the next fire.
create type tock.firing_plan as (
  fires timestamptz[], missed_from timestamptz, missed_until timestamptz, next_fire_at timestamptz,
  next_due_at timestamptz);

-- A schedule as its verbs return it.
create type tock.shown_schedule as (
  name text, state text, queue text, payload jsonb, options jsonb, cron text, every_seconds integer,
  run_at timestamptz, time_zone text, jitter_seconds integer, starts_at timestamptz,
  ends_at timestamptz, overlap text, missed text, missed_limit integer,
  missed_after_seconds integer, fire_as text, paused_at timestamptz, created_at timestamptz,
  updated_at timestamptz, next_fire_at timestamptz, due_at timestamptz, last_fire_at timestamptz,
  last_fired_at timestamptz, last_outcome text, last_task_id bigint, last_error text,
  failures integer);
