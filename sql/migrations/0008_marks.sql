-- A wish about a run, inserted without a lock; the claim is the judge. A claim passes over cancelled
-- and superseded runs that it sees marked, and its lease says which. A mark that came later than the
-- claim is a request to the worker; a replacement whose predecessor had started is dropped.
create table tock.marks (
  position bigint not null,
  other_id bigint,
  created_at timestamptz not null default now(),
  stream integer not null,
  kind text not null,
  changes jsonb,
  primary key (stream, position, kind),
  constraint kind_is_known check (kind in ('cancelled', 'superseded', 'replaces', 'amended')),
  constraint replacing_names_the_other check ((other_id is not null) = (kind in ('superseded', 'replaces'))),
  constraint amending_says_what check (changes is not null or kind <> 'amended')
) partition by range (position);

do $$
declare
  v_epoch record;
begin
  for v_epoch in select e.* from tock.epochs e order by e.number loop
    execute format('create table tock.marks_%s partition of tock.marks for values from (%s) to (%s)',
      v_epoch.number, v_epoch.first_position, v_epoch.end_position);
  end loop;
end $$;

-- What is still to be judged when the epoch goes that holds the run it replaces.
create index marks_that_replace on tock.marks (other_id) where kind = 'replaces';

-- The run that a rescheduled entry stands in for: whether it had started is judged at its claim.
alter table tock.waiting add column replaces bigint;

create index waiting_by_task on tock.waiting (task_id) where task_id is not null;
create index waiting_that_replace on tock.waiting (replaces) where replaces is not null;

-- Rows on their way between routines: where a stream stands, how far past the marked it has come, a
-- run that is to run again, how far reaping came,
-- how a run stands, and where a task does.
create type tock.place as (epoch integer, after_position bigint);

create type tock.again as (
  n bigint, stream integer, position bigint, task_id bigint, attempt smallint, max_attempts smallint, tenant text,
  created_at timestamptz, bytes integer, payload_of bigint, queue text, priority smallint, lane smallint,
  due_at timestamptz, cancelled boolean, lost smallint);

create type tock.wish as (id bigint, cancelled boolean, changes jsonb);

create type tock.passed as (after_position bigint, skips bigint[], upto bigint);

create type tock.reaped as (runs integer, reached_at timestamptz);

create type tock.found_run as (
  id bigint, task_id bigint, queue text, priority smallint, tenant text, attempt smallint, max_attempts smallint,
  lost smallint, created_at timestamptz, payload jsonb, state text, worker text, started_at timestamptz,
  ended_at timestamptz, result jsonb, error jsonb, next_id bigint, cancel_requested boolean);

create type tock.whereabout as (n bigint, task_id bigint, current_id bigint, state text, queue text);
