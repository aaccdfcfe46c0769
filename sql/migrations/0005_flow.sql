-- What tasks ask for beyond a delay: concurrency keys, limits, unique keys, parents, and another run. What a
-- task holds is derived from how the task stands, so no end of a task has to give anything back.

-- A key that tasks of a queue name as their concurrency key. The queue's policy stands for each null. Locking
-- the row is the concurrency key's lock.
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

-- Append-only: the admissions of a concurrency key, and the newest row says all. It lists the tasks inside at
-- that time, the last ticket admitted and the level of the concurrency key's bucket. The primary key is the
-- fence: of two transactions that admit at once, one fails.
create table tock.concurrency_admissions (
  number bigint not null,
  last_ticket bigint not null,
  alarm bigint,  -- the entry that is due when the bucket holds one again
  admitted_at timestamptz not null default clock_timestamp(),
  scanned timestamptz,  -- when the line was last read from its beginning
  level double precision,
  queue text collate "C" not null,
  concurrency_key text collate "C" not null,
  holders bigint[] not null,
  primary key (queue, concurrency_key, number)
);

-- What claims from a queue with limits have taken. Each claim inserts a row and deletes the one
-- before. Row 0 stays: it and the deletion refuse a claim that uses an old snapshot.
create table tock.queue_limiter_state (
  number bigint not null,
  taken_at timestamptz not null default clock_timestamp(),
  level double precision,  -- of the queue's bucket
  limited_at timestamptz,  -- as the policy says, and when a claim first saw it
  seen_at timestamptz,
  queue text collate "C" not null,
  leases uuid[],  -- the open leases; null: to be looked for
  primary key (queue, number)
);

-- The task that had a unique key last. Whether the task still has it follows from how the task
-- stands. A change deletes the row and inserts the next number, so that beside a transaction held
-- open the newest row is found first. prune() goes by written_at.
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

create index unique_keys_by_age on tock.unique_keys (queue, written_at);

-- The parent that a task waits for now: that parent's newest run, or its waiting entry (stream 0).
-- A task has one row, however many parents it has; all parents behind the n-th are over.
create table tock.dependency_waits (
  position bigint not null,
  child bigint not null,
  waiting_since timestamptz not null default clock_timestamp(),
  stream integer not null,
  n integer not null,
  blocked boolean not null default false,  -- the parent ended otherwise than done
  primary key (stream, position, child)
);

create index dependency_waits_by_child on tock.dependency_waits (child);
create index blocked_dependency_waits on tock.dependency_waits (stream, position) where blocked;

-- Children that promotion must check. A row names one child whose row was locked, or all that watch
-- some runs of a stream: those ended where the snapshot may hide the children. The table is nearly
-- always empty. Promotion reads the newest rows first, as beside a transaction held open the low
-- end is full of dead rows.
create table tock.dependency_rechecks (
  number bigint generated always as identity primary key,
  -- A child whose row is locked for long is not tried sooner than this.
  not_before timestamptz not null default clock_timestamp() + interval '0.5 s',
  child bigint,
  after_position bigint,
  upto bigint,
  stream integer,
  constraint recheck_names_a_child_or_runs check (
    num_nulls(child, stream) = 1 and num_nulls(stream, after_position, upto) in (0, 3))
);

-- Append-only: which task was run again, as which new task. Its primary key is the fence where two
-- transactions would rerun a task once.
create table tock.reruns (
  of_id bigint not null,
  id bigint not null,
  created_at timestamptz not null default now(),
  number integer not null,
  kind text not null,
  reason text,
  primary key (of_id, number),
  constraint kind_is_known check (kind in ('rerun', 'redrive')),
  constraint rerun_is_another_task check (id <> of_id),
  constraint reruns_are_counted check (number > 0)
);

create index reruns_by_id on tock.reruns (id);

-- Tasks that moved to another queue. Their ids name a stream of the first queue.
create table tock.moves (
  id bigint primary key,
  moved_at timestamptz not null default now()
);

-- The rows that functions hand to each other: what a limit leaves to a claim, and a child with the
-- first parent in its way and how many parents are still to be checked.
create type tock.limiter_state as (
  number bigint, taken_at timestamptz, seen_at timestamptz, level double precision, running integer,
  leases uuid[], allowed integer, after_seconds integer, unwritten boolean);

-- What a claim may take, and what it has to record.
create type tock.claiming as (
  repeated uuid, allowed integer, bytes integer, leased_until timestamptz, max_attempts smallint,
  digest bigint, limiter_state tock.limiter_state, late boolean);

create type tock.dependent as (
  position bigint, upto integer, verdict text, parent bigint, current_id bigint, state text);
