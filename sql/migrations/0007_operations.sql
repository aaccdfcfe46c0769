-- The operation of Tock: maintenance jobs, request ids, reports, API keys, the audit log, dead task events
-- and metrics.

-- Maintenance jobs and their last runs. Health checks read this table, not cron.job.
create table tock.maintenance_jobs (
  name text primary key,
  every_seconds integer not null,
  last_started_at timestamptz,
  last_ok_at timestamptz,
  last_seconds double precision,
  last_amount integer,
  last_error text,
  failures integer not null default 0,
  -- How far the job has come; a sweep finds rows that commit late below this point.
  reached_at timestamptz,
  swept_at timestamptz,
  reached_key text[],
  writers text[] not null default '{}',  -- the transactions that were writing during the last sweep
  constraint job_comes_again check (every_seconds > 0 and failures >= 0)
);

insert into tock.maintenance_jobs (name, every_seconds) values
  ('promote', 5), ('reap', 10), ('deactivate_streams', 60), ('create_segments', 60),
    ('prune', 3600), ('guard', 60),
  ('verify_segments', 60), ('drop_expired_segments', 60), ('isolate_tenants', 5), ('reap_pools', 10),
  ('fire_schedules', 1), ('record_key_uses', 60),
  ('collect_metrics', 10), ('send_dead_task_events', 10);

-- The answers to calls with a request id, kept for 24 hours so that a repeated call gets the same. The column
-- answer is used if ids are not enough.
create table tock.requests (
  verb text not null,
  queue text collate "C" not null,
  request_id text not null,
  digest bigint not null,
  ids bigint[],
  token uuid,
  created_at timestamptz not null default now(),
  answer jsonb,
  primary key (queue, verb, request_id),
  constraint request_gave_something check ((ids is null) <> (token is null)),
  constraint answer_is_of_ids check (answer is null or ids is not null)
);

create index requests_by_age on tock.requests (created_at);

-- This sequence is not a counter: its value identifies the server that the guard saw last (system identifier,
-- timeline). It is a sequence because a sequence keeps its value when the transaction rolls back. A restore
-- sets sequences by name, and this name comes last: a maintenance job in between may find another server,
-- and store it here. The restore then stores the old server, so that the next call jumps again.
create sequence tock.system_identity minvalue -9223372036854775808 maxvalue 9223372036854775807 start 0;

-- Findings of the verification, and what the guard found and did; doctor() shows the newest.
create table tock.reports (
  number bigint generated always as identity primary key,
  reported_at timestamptz not null default clock_timestamp(),
  kind text not null,
  detail jsonb not null,
  constraint kind_is_known check (kind in ('verify_segments', 'guard'))
);

create index reports_by_time on tock.reports (reported_at);

-- API keys of the HTTP server. The table has only a SHA-256: a key has 244 random bits, so it needs no salt.
-- No request updates the row.
create table tock.keys (
  prefix text collate "C" primary key,
  hash bytea not null unique,
  name text not null,
  scopes text[] not null,
  queues text[],  -- null: all
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  tenants text[],  -- null: all
  expires_at timestamptz,
  lifetime interval,  -- the lifetime of a key that replaces this one
  rate_limit integer,
  rate_seconds integer,
  replaces text collate "C" references tock.keys (prefix),
  constraint hash_is_a_sha256 check (octet_length(hash) = 32),
  constraint scopes_are_known check (
    scopes <@ array['enqueue', 'claim', 'read', 'admin'] and cardinality(scopes) > 0),
  constraint key_is_for_all_queues_or_some check (cardinality(queues) > 0),
  constraint tenants_are_some check (cardinality(tenants) > 0),
  constraint key_with_tenants_enqueues_and_reads check (
    tenants is null or scopes <@ array['enqueue', 'read']),
  constraint key_rate_is_whole check ((rate_limit is null) = (rate_seconds is null)),
  -- A count has 20 bits, which include the calls that check at the same moment.
  constraint key_rate_is_in_range check (
    rate_limit between 1 and 1000000 and rate_seconds between 1 and 86400)
);

create index keys_by_replaced on tock.keys (replaces);
create unique index keys_replaced_by_one on tock.keys (replaces) where revoked_at is null;

-- The uses of each key. A sequence per key counts them; seen is its value when the maintenance job
-- record_key_uses last read it.
create table tock.key_uses (
  prefix text collate "C" primary key references tock.keys (prefix),
  uses bigint not null default 0,
  seen bigint not null default 0,
  last_used_at timestamptz
);

-- Append-only: the changes of queues, keys, schedules and other settings.
create sequence tock.audit_log_numbers cache 1;

create table tock.audit_log (
  number bigint primary key default nextval('tock.audit_log_numbers'),
  at timestamptz not null default clock_timestamp(),
  role text not null,
  key text collate "C",
  verb text not null,
  object text not null,
  detail jsonb not null default '{}'
);

create index audit_log_by_key on tock.audit_log (key, number);
create index audit_log_by_verb on tock.audit_log (verb, number);
create index audit_log_by_object on tock.audit_log (object, number);

-- Dead task events of queues with a dead_webhook that were not sent yet. A row stands for one call and error,
-- with the first ten tasks.
create sequence tock.dead_task_event_numbers cache 1;

create table tock.dead_task_events (
  number bigint primary key default nextval('tock.dead_task_event_numbers'),
  queue text not null,
  error text,
  deaths integer not null,
  ids bigint[] not null,
  died_at timestamptz not null default clock_timestamp(),
  constraint dead_tasks_are_counted check (deaths > 0)
);

-- Metrics by the minute: events, and depths. The maintenance job collect_metrics counts them from the log.
-- The queue '*' is all queues. After two days minutes are merged into hours. The arrays are histograms.
create table tock.queue_metrics (
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

create index queue_metrics_by_time on tock.queue_metrics (width_seconds, at);

-- The same numbers since the start: counters that never decrease, and the depths at the last round.
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

-- How far the runs and leases of a stream are counted, and how many of its runs no lease covers.
create table tock.metrics_cursors (
  stream integer primary key,
  runs_to bigint not null,
  leases_to bigint not null,
  ready bigint not null
) with (fillfactor = 50);

-- Leases that were open when they were counted, and those of their runs whose ends are counted.
create table tock.metrics_open_leases (
  stream integer not null,
  after_position bigint not null,
  runs integer not null,
  counted bigint[] not null default '{}',
  primary key (stream, after_position)
);

-- The position of the round of counting, and the start of the last complete round. Nothing below
-- from_position is counted. The segments in closed have received nothing since the round began.
create table tock.metrics_progress (
  id boolean primary key default true,
  from_position bigint not null,
  started_at timestamptz,
  finished_at timestamptz,
  open_stream integer not null default 0,
  open_after bigint not null default -1,
  stream integer not null default 0,
  closed integer[] not null default '{}'
);

insert into tock.metrics_progress (from_position) values (-1);
