-- Tasks that are not ready yet. Promotion deletes the row when it is due, and appends a run.

-- A task is delayed, backs off, waits for a concurrency key, or waits for its parents. Its id is a position
-- with stream 0.
create table tock.waiting (
  position bigint primary key,
  task_id bigint,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  bytes integer not null,
  priority smallint not null,
  lane smallint not null,
  attempt smallint not null default 1,
  lost smallint not null default 0,
  max_attempts smallint,
  queue text collate "C" not null,
  tenant text,
  payload json,
  options jsonb,
  concurrency_key text collate "C",
  -- The place in the wait list of a concurrency key. Such a row is due at infinity until the key admits the
  -- task.
  ticket bigint,
  -- When a row is due after its parents have ended; null: it waits for none. Until then due_at is the time of
  -- the next recheck.
  due_after_parents timestamptz,
  constraint run_was_lost_less_often_than_begun check (lost >= 0 and attempt > lost),
  constraint ticket_is_for_a_concurrency_key check (ticket is null or concurrency_key is not null),
  constraint dependent_has_no_ticket check (due_after_parents is null or ticket is null),
  constraint priority_is_0_to_9 check (priority between 0 and 9)
);

-- If the table was nearly empty when it was last analyzed, the planner takes it for empty whatever has come
-- since, and then a whole index costs no more than a lookup. So a statement can read these indexes only if it
-- says `lost >= 0`, which is always true, and names the order of one. Others look up positions, and join by
-- `= any (array[position])`: an equality would allow a merge of the whole table.
create index waiting_by_due on tock.waiting (due_at, position) where lost >= 0;
create index waiting_by_task on tock.waiting (task_id) where task_id is not null and lost >= 0;
create index waiting_at_concurrency_keys on tock.waiting (queue, concurrency_key, ticket)
  where ticket is not null and lost >= 0;
-- Counts the tasks that wait for others.
create index waiting_for_parents on tock.waiting (queue, position)
  where due_after_parents is not null and lost >= 0;
create index waiting_by_queue on tock.waiting (queue, due_at, position) where lost >= 0;
-- Listings show the newest first.
create index waiting_by_position on tock.waiting (queue, position) where lost >= 0;

-- Append-only: the run that a waiting row became. Promotion reads from the newest due_at.
create table tock.promotions (
  position bigint primary key,
  run_id bigint not null,
  due_at timestamptz not null,
  promoted_at timestamptz not null default now()
);

create index promotions_by_due on tock.promotions (due_at);
-- Runs are appended nearly in the order of their ids, so this index is tiny. It finds those of a segment.
create index promotions_by_run on tock.promotions using brin (run_id);
-- The few that lead to a waiting task: the part of an id below 2^20 is its stream, which is 0 for them.
create index promotions_to_waiting on tock.promotions (run_id) where run_id & 1048575 = 0;
