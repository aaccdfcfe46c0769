-- The tables behind task options beyond a delay: concurrency keys, limits, unique keys, parents and reruns.
-- What a task holds is derived from its state, so the end of a task has nothing to release.

-- The concurrency keys of a queue, made at their first use. Null means the setting of the queue. The row lock
-- is the lock of the concurrency key.
create table tock.concurrency_keys (
  queue text collate "C" not null,
  concurrency_key text collate "C" not null,
  concurrency_limit integer,
  concurrency_rate_limit integer,
  concurrency_rate_seconds integer,
  concurrency_rate_burst integer,
  paused boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (queue, concurrency_key),
  constraint concurrency_key_is_1_to_504_characters check (length(concurrency_key) between 1 and 504),
  constraint concurrency_limit_is_1_to_1000 check (concurrency_limit between 1 and 1000),
  constraint concurrency_rate_is_1_to_a_million check (
    concurrency_rate_limit between 1 and 1000000 and concurrency_rate_burst between 1 and 1000000),
  constraint concurrency_rate_is_by_up_to_a_day check (concurrency_rate_seconds between 1 and 86400)
);

-- Append-only: the admissions of a concurrency key; the newest row counts. It lists the holders at that time,
-- the last ticket admitted and the level of the bucket. The primary key is the fence: of two transactions
-- that admit at the same time, one fails.
create table tock.concurrency_admissions (
  number bigint not null,
  last_ticket bigint not null,
  alarm bigint,  -- the waiter that is due at the moment when the bucket holds one again
  admitted_at timestamptz not null default clock_timestamp(),
  scanned timestamptz,  -- when the wait list was last read from its beginning
  level double precision,
  queue text collate "C" not null,
  concurrency_key text collate "C" not null,
  holders bigint[] not null,
  primary key (queue, concurrency_key, number)
);

-- The use of a queue's limits by claims. Each claim inserts a row and deletes the previous one. Row 0 stays:
-- the insert and the deletion reject a claim with an old snapshot.
create table tock.queue_limiter_state (
  number bigint not null,
  taken_at timestamptz not null default clock_timestamp(),
  level double precision,  -- of the queue's bucket
  limited_at timestamptz,  -- from the policy; seen_at is when a claim first saw it
  seen_at timestamptz,
  queue text collate "C" not null,
  leases uuid[],  -- the open leases; null: read them from the tables
  primary key (queue, number)
);

-- The task that had a unique key last; its state says whether it still holds the key. A change deletes the
-- row and inserts the next number, so that the newest row is found first while an old transaction is open.
-- prune() uses written_at.
create table tock.unique_keys (
  number bigint not null,
  task_id bigint not null,
  until timestamptz,
  changed_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  written_at timestamptz not null default clock_timestamp(),
  queue text collate "C" not null,
  unique_key text collate "C" not null,
  primary key (queue, unique_key, number),
  constraint admissions_are_counted check (number > 0)
);

-- Partial for the same reason as the indexes of tock.waiting: only prune says `number > 0`, which is always true.
create index unique_keys_by_age on tock.unique_keys (queue, written_at) where number > 0;

-- The parent for which a task waits now: the newest run or waiting row (stream 0) of that parent. A task has
-- one row, however many parents it has; all parents after the n-th have ended.
create table tock.dependency_waits (
  position bigint not null,
  child bigint not null,
  waiting_since timestamptz not null default clock_timestamp(),
  stream integer not null,
  n integer not null,
  blocked boolean not null default false,  -- the parent is dead, cancelled or expired
  primary key (stream, position, child)
);

create index dependency_waits_by_child on tock.dependency_waits (child);
create index blocked_dependency_waits on tock.dependency_waits (stream, position) where blocked;

-- Children that promotion must recheck. A row names one child whose row was locked, or all children of some
-- runs of a stream, which ended in a transaction whose snapshot may hide the children. The table is nearly
-- always empty. Promotion reads the newest rows first, because the low end is full of dead rows while an old
-- transaction is open.
create table tock.dependency_rechecks (
  number bigint generated always as identity primary key,
  -- A child with a locked row is not tried again before this time.
  not_before timestamptz not null default clock_timestamp() + interval '0.5 s',
  child bigint,
  after_position bigint,
  upto bigint,
  stream integer,
  constraint recheck_names_a_child_or_runs check (
    num_nulls(child, stream) = 1 and num_nulls(stream, after_position, upto) in (0, 3))
);

-- Append-only: the reruns of tasks as new tasks. The primary key is the fence for two transactions that would
-- redrive one task.
create table tock.reruns (
  of_id bigint not null,
  id bigint not null,
  created_at timestamptz not null default now(),
  number integer not null,
  kind text not null,
  reason text,
  primary key (of_id, number),
  constraint kind_is_known check (kind in ('rerun', 'redrive', 'fork')),
  constraint rerun_is_another_task check (id <> of_id),
  constraint reruns_are_counted check (number > 0)
);

create index reruns_by_id on tock.reruns (id);

-- Tasks that moved to another queue. Their ids still name a stream of the first queue.
create table tock.moves (
  id bigint primary key,
  moved_at timestamptz not null default now()
);

-- What the limits of a queue allow a claim.
create type tock.limiter_state as (
  number bigint, taken_at timestamptz, seen_at timestamptz, level double precision, running integer,
  leases uuid[], allowed integer, after_seconds integer, unwritten boolean);

-- What a claim may lease, and what it has to record.
create type tock.claiming as (
  repeated uuid, allowed integer, bytes integer, leased_until timestamptz, max_attempts smallint,
  digest bigint, limiter_state tock.limiter_state, late boolean);

-- A child, with its first parent that has not ended and the number of parents still to check.
create type tock.dependent as (
  position bigint, upto integer, verdict text, parent bigint, current_id bigint, state text);
