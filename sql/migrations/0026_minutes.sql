-- What happened, by the minute and in all; added up by the duty `minutes` from what is stored anyway.

-- The queue '*' is all of them. Older than two days, minutes become hours.
create table tock.minutes (
  queue text collate "C" not null,
  at timestamptz not null,
  width_seconds integer not null,
  enqueued bigint not null default 0,
  started bigint not null default 0,
  passed bigint not null default 0,
  done bigint not null default 0,
  failed bigint not null default 0,
  lost bigint not null default 0,
  dead bigint not null default 0,
  cancelled bigint not null default 0,
  returned bigint not null default 0,
  ready bigint,
  running bigint,
  waiting bigint,
  oldest_ready_seconds double precision,
  wait_seconds double precision not null default 0,
  run_seconds double precision not null default 0,
  wait bigint[],
  run bigint[],
  primary key (queue, at, width_seconds),
  constraint width_is_a_minute_or_an_hour check (width_seconds in (60, 3600))
);
create index minutes_by_time on tock.minutes (width_seconds, at);

-- The same without an end, and how much there was at the last round: counters that never go back.
create table tock.totals (
  queue text collate "C" primary key,
  enqueued bigint not null default 0,
  started bigint not null default 0,
  passed bigint not null default 0,
  done bigint not null default 0,
  failed bigint not null default 0,
  lost bigint not null default 0,
  dead bigint not null default 0,
  cancelled bigint not null default 0,
  returned bigint not null default 0,
  ready bigint not null default 0,
  running bigint not null default 0,
  waiting bigint not null default 0,
  dead_now bigint not null default 0,
  leases bigint not null default 0,
  oldest_ready_at timestamptz,
  wait_seconds double precision not null default 0,
  run_seconds double precision not null default 0,
  wait bigint[],
  run bigint[]
) with (fillfactor = 50);

-- How far a stream's runs and leases have been counted, and how many runs of it no lease has handed out or passed over.
create table tock.counted (
  stream integer primary key,
  runs_to bigint not null,
  leases_to bigint not null,
  ready bigint not null
) with (fillfactor = 50);

-- Leases that were open when they were counted, and which of their runs' ends have been counted since.
create table tock.open_counts (
  stream integer not null,
  after_position bigint not null,
  runs integer not null,
  counted bigint[] not null default '{}',
  primary key (stream, after_position)
);

-- Everything in it is counted, as far as it ever will be: what was settled before is not.
alter table tock.epochs add column counted boolean not null default false;
update tock.epochs set counted = true where settled_at is not null;

-- Where the round is, and when the last whole one began. Nothing below from_position is counted; in the epochs of
-- `settled` nothing more can have come since the round began.
create table tock.counting (
  id boolean primary key default true,
  from_position bigint not null,
  started_at timestamptz,
  finished_at timestamptz,
  open_stream integer not null default 0,
  open_after bigint not null default -1,
  stream integer not null default 0,
  settled integer[] not null default '{}'
);
insert into tock.counting (from_position)
  select coalesce(min(e.first_position), 0) - 1 from tock.epochs e where e.settled_at is null;

create type tock.depth as (
  queue text, ready bigint, running bigint, waiting bigint, dead bigint, leases bigint, oldest_ready_at timestamptz);

insert into tock.duties (name, every_seconds) values ('minutes', 10);
