-- Pools assign tasks to workers, each task to one worker at a time. A worker that claims one task at a time
-- from a queue gets its own task again.

-- A worker has one row in a pool, and so has a task: alone in a wait list, or together as an assignment. The
-- two unique indexes guarantee that. An assignment gets a new number, the fencing token. A heartbeat updates
-- leased_until, which no index holds, so the update stays on its page. It seldom moves check_at, which is
-- indexed.
create sequence tock.pool_member_numbers;

-- The table has no checks, for the same reason as leases: three checks took 42,000 of the 562,000
-- instructions of a take.
create table tock.pool_members (
  number bigint primary key,
  pool text collate "C" not null,
  worker text collate "C",
  task text collate "C",
  joined boolean not null default false,  -- the worker stays after its task
  offered boolean not null default false,  -- the task stays after its worker
  turn bigint,  -- the place in a wait list
  lease_seconds integer not null default 60,
  since timestamptz not null default now(),
  leased_until timestamptz not null default 'infinity',
  check_at timestamptz not null default 'infinity'
) with (fillfactor = 80);

create unique index pool_members_by_worker on tock.pool_members (pool, worker) where worker is not null;
create unique index pool_members_by_task on tock.pool_members (pool, task) where task is not null;
create index free_workers on tock.pool_members (pool, turn) where task is null;
create index waiting_tasks on tock.pool_members (pool, turn) where worker is null;
create index pool_members_by_check on tock.pool_members (pool, check_at) where check_at < 'infinity';

-- How far a wait list has been read. Below that lie dead rows, for as long as an old snapshot keeps them. The
-- maintenance job reap_pools deletes the rows of a pool that has been empty.
create table tock.wait_list_cursors (
  pool text collate "C",
  line text collate "C",
  number bigint,
  reached bigint not null,
  rest_until timestamptz,
  made_at timestamptz not null default now(),
  primary key (pool, line, number),
  constraint list_is_known check (line in ('free', 'waiting'))
);

-- The last lease of each worker that claims one task at a time.
create table tock.worker_leases (
  queue text collate "C",
  worker text collate "C",
  token uuid,
  claimed_at timestamptz not null default now(),
  primary key (queue, worker)
);

create index worker_leases_by_time on tock.worker_leases (claimed_at);
