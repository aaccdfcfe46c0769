-- A worker is in one place of a pool, and so is a task: alone in a line, or together. A place is hardly ever updated:
-- who goes from a line into a pair gets a row with a new number, which is the fence of what is held.
create sequence tock.place_numbers;

create table tock.places (
  number bigint primary key,
  pool text collate "C" not null,
  worker text collate "C",
  task text collate "C",
  joined boolean not null default false,   -- the worker stays when its task is over
  offered boolean not null default false,  -- the task stays when its worker is gone
  turn bigint,                             -- in line
  lease_seconds integer not null default 60,
  since timestamptz not null default now(),
  leased_until timestamptz not null default 'infinity',
  look_at timestamptz not null default 'infinity',
  constraint place_is_of_somebody check (worker is not null or task is not null),
  constraint pair_is_in_no_line check ((turn is null) = (worker is not null and task is not null)),
  constraint worker_has_a_deadline check ((worker is null) = (leased_until = 'infinity'))
) with (fillfactor = 80);

-- Exactly once is these two.
create unique index places_by_worker on tock.places (pool, worker) where worker is not null;
create unique index places_by_task on tock.places (pool, task) where task is not null;
create index free_workers on tock.places (pool, turn) where task is null;
create index waiting_tasks on tock.places (pool, turn) where worker is null;
-- A heartbeat moves leased_until, which is in no index; look_at follows when it has passed.
create index places_by_look on tock.places (pool, look_at) where look_at < 'infinity';

-- How far a line has come: below lie dead entries for as long as somebody's old snapshot keeps them.
create table tock.line_marks (
  pool text collate "C",
  line text collate "C",
  number bigint,
  reached bigint not null,
  rest_until timestamptz,
  primary key (pool, line, number),
  constraint line_is_known check (line in ('free', 'waiting'))
);

-- What each worker that claims one at a time was given last.
create table tock.own_leases (
  queue text collate "C",
  worker text collate "C",
  token uuid,
  claimed_at timestamptz not null default now(),
  primary key (queue, worker)
);
create index own_leases_by_time on tock.own_leases (claimed_at);

insert into tock.duties (name, every_seconds) values ('pools', 10);
