-- Positions grow within every stream in the order of commits. Cache 1, never set back: a cached or
-- repeated position would land inside a range already leased.
create sequence tock.positions cache 1 maxvalue 8796093022207;

-- An epoch is a range of positions and one partition of runs, leases and results each.
-- Settled: no awake stream's newest lease starts in it, so no claim needs to read it again; that
-- can't be known before the transactions that were writing when it ended are over.
create table tock.epochs (
  number integer primary key,
  first_position bigint not null unique,
  end_position bigint not null,
  made_at timestamptz not null default now(),
  writers_at_end text[],
  settled_at timestamptz,
  constraint epoch_is_a_range check (end_position > first_position)
);

-- Inserted once, never updated, never deleted. A first run is its own task: task_id is null.
create table tock.runs (
  position bigint not null,
  task_id bigint,
  created_at timestamptz not null default now(),
  stream integer not null,
  bytes integer not null,
  attempt smallint not null default 1,
  lost smallint not null default 0,
  max_attempts smallint,
  tenant text,
  payload jsonb,
  primary key (stream, position)
) partition by range (position);

-- The claim, the stream's cursor and, once closed, the outcome of every run in its range that has no
-- result of its own. The primary key is the fence: two claims from one cursor can't both commit.
create table tock.leases (
  after_position bigint not null,
  last_position bigint not null,
  token uuid not null,
  claimed_at timestamptz not null default now(),
  leased_until timestamptz not null,
  closed_at timestamptz,
  stream integer not null,
  runs integer not null,
  worker text,
  outcome text,
  primary key (stream, after_position),
  constraint lease_is_a_range check (last_position > after_position and runs > 0),
  constraint closed_lease_has_outcome check ((closed_at is null) = (outcome is null)),
  constraint outcome_is_known check (outcome in ('done', 'lost'))
) partition by range (after_position);

create index leases_by_token on tock.leases (token);
create index open_leases_by_deadline on tock.leases (leased_until) where closed_at is null;

-- A run's own row, only where it has something of its own to say.
create table tock.results (
  position bigint not null,
  next_id bigint,
  ended_at timestamptz not null default now(),
  stream integer not null,
  state text not null,
  result jsonb,
  error jsonb,
  primary key (stream, position),
  constraint state_is_known check (
    state in ('done', 'failed', 'lost', 'cancelled', 'superseded', 'expired')),
  constraint only_the_unfinished_go_on check (
    next_id is null or state in ('failed', 'lost', 'superseded'))
) partition by range (position);

create index dead_results on tock.results (stream)
  where next_id is null and state in ('failed', 'lost');

insert into tock.epochs (number, first_position, end_position)
  values (1, 0, 16777216), (2, 16777216, 33554432), (3, 33554432, 50331648);

create table tock.runs_1 partition of tock.runs for values from (0) to (16777216);
create table tock.runs_2 partition of tock.runs for values from (16777216) to (33554432);
create table tock.runs_3 partition of tock.runs for values from (33554432) to (50331648);
create table tock.leases_1 partition of tock.leases for values from (0) to (16777216)
  with (fillfactor = 70);
create table tock.leases_2 partition of tock.leases for values from (16777216) to (33554432)
  with (fillfactor = 70);
create table tock.leases_3 partition of tock.leases for values from (33554432) to (50331648)
  with (fillfactor = 70);
create table tock.results_1 partition of tock.results for values from (0) to (16777216);
create table tock.results_2 partition of tock.results for values from (16777216) to (33554432);
create table tock.results_3 partition of tock.results for values from (33554432) to (50331648);

-- Rows on their way between routines: a stream to draw from, a run of a lease, a run that has ended.
create type tock.candidate as (stream integer, priority smallint, after_position bigint);

create type tock.leased_run as (
  n bigint, id bigint, stream integer, position bigint, queue text, attempt smallint, lost smallint,
  max_attempts smallint, state text, result jsonb, error jsonb, next_id bigint);

create type tock.ended as (
  stream integer, position bigint, state text, result jsonb, error jsonb,
  again_at timestamptz, attempt smallint, lost smallint);
