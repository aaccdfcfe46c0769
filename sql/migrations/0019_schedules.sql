-- A cron expression as sets of bits: n is set where the field has n. Of a weekday (0 is Sunday, at index 1) the bits are
-- which of its days in the month, the first to the fifth, and 32 for the last; 63 is each.
create type tock.cron_plan as (
  seconds bigint, minutes bigint, hours bigint, days bigint, months bigint, nearest bigint, weekdays smallint[],
  last_day boolean, last_workday boolean, any_day boolean, any_weekday boolean, both_days boolean, fixed boolean);

-- What is to be fired, by whom and when. No fire changes a row of it.
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
  fire_as text,
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

-- The next fire of each schedule (due_at infinity: none comes, it is paused or over), and how the last one went. The
-- next row of a schedule takes the place of the one before under the next turn, so that beside a held-open
-- transaction the newest is found first.
create table tock.fires (
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
  primary key (schedule, turn)
);

create index fires_by_due on tock.fires (due_at, schedule);
create index failing_fires on tock.fires (schedule) where failures > 0;

-- Append-only: what became of each fire. The newest due_at is where firing reads on; it is said once a firing.
create table tock.fired (
  number bigint generated always as identity primary key,
  fire_at timestamptz not null,
  until_at timestamptz,
  due_at timestamptz,
  fired_at timestamptz not null default clock_timestamp(),
  task_id bigint,
  schedule text collate "C" not null,
  outcome text not null,
  error text,
  constraint outcome_is_known check (outcome in ('fired', 'run', 'overlapped', 'replaced', 'missed', 'failed'))
);

create index fired_by_due on tock.fired (due_at, schedule) where due_at is not null;
create index fired_by_schedule on tock.fired (schedule, number);

-- What a schedule comes to at an instant: the fires that become tasks, oldest first, those between that are left out, and
-- when it is next due.
create type tock.firing as (
  fires timestamptz[], missed_from timestamptz, missed_until timestamptz, next_fire_at timestamptz, next_due_at timestamptz);

-- A schedule as its verbs show it.
create type tock.shown_schedule as (
  name text, state text, queue text, payload jsonb, options jsonb, cron text, every_seconds integer, run_at timestamptz,
  time_zone text, jitter_seconds integer, starts_at timestamptz, ends_at timestamptz, overlap text, missed text,
  missed_limit integer, missed_after_seconds integer, fire_as text, paused_at timestamptz, created_at timestamptz,
  updated_at timestamptz, next_fire_at timestamptz, due_at timestamptz, last_fire_at timestamptz,
  last_fired_at timestamptz, last_outcome text, last_task_id bigint, last_error text, failures integer);

insert into tock.duties (name, every_seconds) values ('schedules', 1);
