-- The log: runs are appended and never changed, leases record which ranges of them were claimed, and results
-- record how single runs ended. The state of a run follows from these rows and is stored nowhere. The log
-- consists of segments, so that history is dropped as whole partitions.

-- Positions grow within every stream in the order of commits. The cache must stay 1, and the sequence must
-- never be set back: a cached or repeated position would land in a range that is already leased.
create sequence tock.positions cache 1 maxvalue 8796093022207;

-- The low 20 bits of a run's id are the number of its stream. They are 0 in the id of a task that was waiting
-- when it got its id. The sequence cycles, so that numbers lost to rollbacks are used again. An insert that
-- meets a number in use tries the next one.
create sequence tock.stream_numbers as integer maxvalue 1048575 cycle;

-- A segment is a range of positions, with one partition each of runs, leases, results and run_overrides. It
-- is closed when it has ended, the transactions that were writing then have ended, no run in it is unclaimed
-- and no lease is open. Then it is verified, and dropped after its retention.
create table tock.segments (
  number integer primary key,
  first_position bigint not null unique,
  end_position bigint not null,
  made_at timestamptz not null default now(),
  writers_at_end text[],  -- the transactions that were writing when it ended
  closed_at timestamptz,
  started_at timestamptz,
  verified_at timestamptz,
  verify_stream integer,  -- the progress of the verification
  verify_position bigint,
  verify_runs bigint,
  queues text[] not null default '{}',  -- the longest retention of these keeps it
  dead jsonb not null default '{}',  -- how many dead tasks it holds, by queue
  drop_after timestamptz,  -- a drop that met a lock is tried again then
  drop_tries integer not null default 0,
  counted boolean not null default false,  -- all of it is in the metrics
  early boolean not null default false,  -- ended on demand: dropped as soon as it is archived
  constraint segment_has_a_number check (number > 0 and first_position >= 0),
  constraint segment_is_a_range check (end_position > first_position),
  constraint segments_do_not_overlap exclude using gist (int8range(first_position, end_position) with &&),
  constraint only_what_has_ended_is_closed check (closed_at is null or writers_at_end is not null),
  constraint only_what_is_closed_is_verified check (verified_at is null or closed_at is not null),
  constraint drops_are_counted check (drop_tries >= 0)
);

-- The directory of streams. A row commits with the first run of its stream, so every visible run has a
-- visible stream. A stream at rest (awake is false) has nothing above its cursor, and claims skip it. The
-- writer that wakes it moves start_after up, so that no claim reads far back.
create table tock.streams (
  number integer primary key,
  queue text collate "C" not null,
  priority smallint not null,
  lane smallint not null,  -- from 1,024 on for runs with options
  slot smallint not null,
  start_after bigint not null,
  awake boolean not null default true,
  constraint one_stream_a_slot unique (queue, priority, lane, slot),
  constraint priority_is_0_to_9 check (priority between 0 and 9)
);

create index streams_awake on tock.streams (queue, priority) where awake;

-- PostgreSQL parses every check of a table again for each statement that writes it. On leases, four checks
-- took a fifth of a claim and half of a completion, so the hot tables below have few.

-- A run is inserted once, and neither updated nor deleted. The first run is the task itself: its
-- task_id is null. Most runs have no options.
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
  payload json,
  options jsonb,
  primary key (stream, position)
) partition by range (position);

-- A lease is the claim, the cursor of the stream and, once closed, the outcome of every run in its range
-- without a result. Its primary key is the fence: two claims from one cursor cannot both commit. No lease
-- crosses a segment.
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
  skipped integer not null default 0,
  skips bigint[],  -- runs in the range that the claim skipped
  timeout_at timestamptz,  -- the time limit, which no extension moves
  alone boolean,  -- true: one run, found through the token; otherwise null
  primary key (stream, after_position)
) partition by range (after_position);

create index open_leases_by_deadline on tock.leases (leased_until) where closed_at is null;
create index leases_by_token on tock.leases (token) where alone is null;

-- A run has a result only if the lease does not say everything: its own state, value, error or next run.
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
  constraint the_cancelled_and_expired_end check (
    next_id is null or state not in ('cancelled', 'expired'))
) partition by range (position);

create index dead_results on tock.results (stream, position)
  where next_id is null and state in ('failed', 'lost');

-- A run override changes a run. It cancels the run (without a lock), replaces it with another run (with the
-- claim lock of the stream), or holds changes for its next attempt. Claims skip cancelled and replaced runs,
-- and the lease lists them. A later cancel is a request to the worker.
create table tock.run_overrides (
  position bigint not null,
  other_id bigint,
  created_at timestamptz not null default now(),
  stream integer not null,
  kind text not null,
  changes jsonb,
  primary key (stream, position, kind),
  constraint kind_is_known check (kind in ('cancelled', 'superseded', 'amended')),
  constraint superseded_names_the_other check ((other_id is not null) = (kind = 'superseded')),
  constraint pending_change_has_changes check (changes is not null or kind <> 'amended')
) partition by range (position);

-- The progress of runs, which workers report when they extend a lease. A row is for one run, or (of_all) for
-- all runs of a lease, under the position after its cursor. The newer of the two counts. No index holds a
-- column that changes, so an update stays on its page. The rows of a segment are deleted after it is dropped.
create table tock.progress (
  position bigint not null,
  reported_at timestamptz not null default clock_timestamp(),
  stream integer not null,
  progress real,
  of_all boolean not null,
  note text,
  primary key (position, stream, of_all),
  constraint progress_is_0_to_100 check (progress between 0 and 100)
) with (fillfactor = 50);

-- The first three segments; the maintenance job create_segments makes further ones ahead of time. A lease
-- starts at the position before its first run, so the bounds of leases_N are one lower than those of runs_N.
insert into tock.segments (number, first_position, end_position)
  values (1, 0, 16777216), (2, 16777216, 33554432), (3, 33554432, 50331648);

create table tock.runs_1 partition of tock.runs for values from (0) to (16777216);
create table tock.runs_2 partition of tock.runs for values from (16777216) to (33554432);
create table tock.runs_3 partition of tock.runs for values from (33554432) to (50331648);

create table tock.leases_1 partition of tock.leases for values from (-1) to (16777215)
  with (fillfactor = 70);
create table tock.leases_2 partition of tock.leases for values from (16777215) to (33554431)
  with (fillfactor = 70);
create table tock.leases_3 partition of tock.leases for values from (33554431) to (50331647)
  with (fillfactor = 70);

create table tock.results_1 partition of tock.results for values from (0) to (16777216);
create table tock.results_2 partition of tock.results for values from (16777216) to (33554432);
create table tock.results_3 partition of tock.results for values from (33554432) to (50331648);

create table tock.run_overrides_1 partition of tock.run_overrides for values from (0) to (16777216);
create table tock.run_overrides_2 partition of tock.run_overrides for values from (16777216) to (33554432);
create table tock.run_overrides_3 partition of tock.run_overrides for values from (33554432) to (50331648);

-- Functions on the hot path name the tables of one segment. Each is stored once, as a template, from which
-- compile_segment() makes the function of each segment. A deploy replaces the templates.
create table tock.segment_templates (
  name text primary key,
  kind text not null,  -- current: only for the current segment, under a fixed name
  file text not null,
  body text not null,
  constraint template_is_of_a_kind check (kind in ('segment', 'current'))
);

-- Row types of the functions of the log.

-- The cursor of a stream.
create type tock.stream_cursor as (segment integer, after_position bigint);

-- A stream to claim from.
create type tock.candidate as (stream integer, priority smallint, after_position bigint);

-- What a claim reads first: the current segment, whether a waiting task is due, and streams.
create type tock.stream_scan as (segment integer, due boolean, streams tock.candidate[]);

-- How far a claim skips runs with overrides, and the time limit of the runs that it leases together.
create type tock.passed as (
  after_position bigint, skips bigint[], upto bigint, timeout_seconds integer, passed integer);

-- What a claim leases from one stream: up to "most" runs and "bytes" of payload above a cursor, or "one" run
-- of any size.
create type tock.claim_range as (
  segment integer, stream integer, after_position bigint, most integer, bytes integer,
  one boolean, token uuid, worker text, leased_until timestamptz, max_attempts smallint, priority smallint);

-- The rows that claim() and claim_any() return, one for each run.
create type tock.claimed as (
  lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload json);

create type tock.claimed_from as (
  queue text, lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer,
  max_attempts integer, priority integer, tenant text, created_at timestamptz, payload json);

-- A run of a lease.
create type tock.leased_run as (
  n bigint, id bigint, stream integer, position bigint, queue text, attempt smallint, lost smallint,
  max_attempts smallint, state text, result jsonb, error jsonb, next_id bigint);

-- A part of a lease, in one stream.
create type tock.lease_span as (stream integer, after_position bigint, last_position bigint, skips bigint[]);

-- An ended run: when its task continues, in which queue (null: the same) and with which payload (null: the
-- same; JSON null: none).
create type tock.ending as (
  stream integer, position bigint, state text, result jsonb, error jsonb, again_at timestamptz,
  attempt smallint, lost smallint, queue text, payload jsonb);

-- The next run or waiting row of a task. A payload change up to the run stage_after belongs to an earlier
-- stage of the pipeline.
create type tock.next_attempt as (
  n bigint, stream integer, position bigint, task_id bigint, attempt smallint, max_attempts smallint,
  tenant text, created_at timestamptz, bytes integer, payload_of bigint, queue text,
  priority smallint, lane smallint, due_at timestamptz, cancelled boolean, lost smallint,
  stage_after bigint);

-- The pending changes of a task.
create type tock.pending_change as (id bigint, cancelled boolean, changes jsonb);

-- The number of runs that a call reaped, and how far it came.
create type tock.reaped as (runs integer, reached_at timestamptz);

-- A run with its state, as reads show it.
create type tock.found_run as (
  id bigint, task_id bigint, queue text, priority smallint, tenant text, attempt smallint,
  max_attempts smallint, lost smallint, created_at timestamptz, payload json, state text,
  worker text, started_at timestamptz, ended_at timestamptz, result jsonb, error jsonb,
  next_id bigint, cancel_requested boolean, options jsonb, leased_until timestamptz, progress real,
  note text);

-- The present place of a task: its newest run or waiting row.
create type tock.resolved_task as (n bigint, task_id bigint, current_id bigint, state text, queue text);

-- How a task continues after its run is done. With waits, it continues when the spawned tasks have ended.
create type tock.continuation as (queue text, waits boolean, payload jsonb, unchanged boolean);

-- The effect of a completion: the numbers n of the runs that count as done, the runs that end now, those of
-- them that spawn tasks, and the fields to name if a payload is too large for its next queue.
create type tock.completion as (
  good bigint[], ended tock.ending[], spawning tock.leased_run[], fields text[]);
