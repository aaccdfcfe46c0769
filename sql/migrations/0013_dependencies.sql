-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- When a task that waits for its parents is due once they have ended; null: it waits for none. Its due_at is when it
-- looks at them by itself.
alter table tock.waiting add column after_due timestamptz;

-- Which of its parents a task waits for now: that one's newest run, or its waiting entry (stream 0). Of its parents
-- all behind the n-th are over. One row a child, however many parents it has.
create table tock.watches (
  position bigint not null,
  child bigint not null,
  watched_at timestamptz not null default clock_timestamp(),
  stream integer not null,
  n integer not null,
  primary key (stream, position, child)
);

create index watches_by_child on tock.watches (child);

-- Children to be looked at whose row somebody had, so that it couldn't be said there. Read whole: there are hardly ever any.
create table tock.nudges (
  id uuid primary key default gen_random_uuid(),
  child bigint not null
);

-- Rows on their way between routines: a child, how many of its parents are still to be looked at, and the first of
-- them that is in its way.
create type tock.dependent as (
  position bigint, upto integer, verdict text, parent bigint, current_id bigint, state text);
