-- A queue is a policy under a name. The row '*' is the default: a queue named for the first time is
-- made as a copy of it, and a queue whose row is not yet visible follows it.
create table tock.queues (
  name text collate "C" primary key,
  lease_seconds integer not null default 60,
  max_attempts smallint not null default 10,
  max_lost smallint not null default 10,
  backoff_base_seconds double precision not null default 5,
  backoff_factor double precision not null default 2,
  backoff_cap_seconds double precision not null default 3600,
  backoff_jitter double precision not null default 0.2,
  lanes smallint not null default 8,
  max_payload_bytes integer not null default 262144,
  paused boolean not null default false,
  created_at timestamptz not null default now(),
  constraint name_is_short_and_plain check (name = '*' or name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'),
  constraint lease_lasts_up_to_a_day check (lease_seconds between 1 and 86400),
  constraint attempts_are_1_to_1000 check (max_attempts between 1 and 1000),
  constraint lost_runs_are_1_to_1000 check (max_lost between 1 and 1000),
  constraint backoff_base_is_up_to_a_day check (backoff_base_seconds between 0 and 86400),
  constraint backoff_factor_is_1_to_10 check (backoff_factor between 1 and 10),
  constraint backoff_cap_is_up_to_a_month check (backoff_cap_seconds between 0 and 2678400),
  constraint backoff_jitter_is_a_share check (backoff_jitter between 0 and 1),
  constraint lanes_are_1_to_64 check (lanes between 1 and 64),
  constraint payload_is_up_to_4_mib check (max_payload_bytes between 1024 and 4194304)
);

insert into tock.queues (name) values ('*');

-- A stream's number is the low 20 bits of every id in it; 0 is kept for what waits. It cycles so that
-- numbers burnt by rollbacks come round again; the primary key passes over those in use.
create sequence tock.stream_numbers as integer maxvalue 1048575 cycle;

-- The registry of streams. A row is committed with the stream's first run, so a run that can be seen
-- has a stream that can be seen. Asleep means: nothing above its cursor, and claims don't look; the
-- writer that wakes it moves start_after up, so that no claim reads far back.
create table tock.streams (
  number integer primary key,
  queue text collate "C" not null,
  priority smallint not null,
  lane smallint not null,
  slot smallint not null,
  start_after bigint not null,
  awake boolean not null default true,
  constraint one_stream_a_slot unique (queue, priority, lane, slot),
  constraint priority_is_0_to_9 check (priority between 0 and 9)
);

create index streams_awake on tock.streams (queue, priority) where awake;
