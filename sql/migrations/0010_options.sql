-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- How far the sweep of gates has come.
alter table tock.duties add column reached_gate text[];

-- What a task asks for beyond the plain options; null for most. Such runs have streams of their own (lanes
-- from 1,024 on), so that claims and completions of the others never look.
alter table tock.runs add column options jsonb;
alter table tock.waiting add column options jsonb;
alter table tock.waiting add column gate text collate "C";

-- When a run's time is up, however often its lease is extended.
alter table tock.leases add column timeout_at timestamptz;

-- Who stands at a gate has a ticket and is due at no time: whoever opens it lets the first in.
alter table tock.waiting add column ticket bigint;
create index waiting_at_gates on tock.waiting (queue, gate, ticket) where ticket is not null;

alter table tock.queues
  add column backoff_kind text not null default 'exponential',
  add column timeout_seconds integer,
  add column max_wait_seconds integer,
  add column gate_limit integer not null default 1,
  add column gate_retry text not null default 'keep',
  add column gate_rate_limit integer,
  add column gate_rate_seconds integer not null default 1,
  add column gate_rate_burst integer,
  add column max_running integer,
  add column rate_limit integer,
  add column rate_seconds integer not null default 1,
  add column rate_burst integer,
  add column limited_at timestamptz,
  add column keep_results boolean not null default true,
  add constraint backoff_kind_is_known check (backoff_kind in ('fixed', 'linear', 'exponential')),
  add constraint timeout_is_up_to_a_month check (timeout_seconds between 1 and 2678400),
  add constraint max_wait_is_up_to_ten_years check (max_wait_seconds between 1 and 315360000),
  add constraint gate_lets_in_1_to_1000 check (gate_limit between 1 and 1000),
  add constraint gate_retry_is_known check (gate_retry in ('keep', 'yield')),
  add constraint gate_rate_is_1_to_a_million check (gate_rate_limit between 1 and 1000000
    and gate_rate_burst between 1 and 1000000),
  add constraint gate_rate_is_by_up_to_a_day check (gate_rate_seconds between 1 and 86400),
  add constraint max_running_is_1_to_10000 check (max_running between 1 and 10000),
  add constraint rate_is_1_to_a_million check (rate_limit between 1 and 1000000 and rate_burst between 1 and 1000000),
  add constraint rate_is_by_up_to_a_day check (rate_seconds between 1 and 86400);

-- A key that tasks of a queue have named as their gate; what is null is as the queue says.
create table tock.gates (
  queue text collate "C" not null,
  gate text collate "C" not null,
  gate_limit integer,
  gate_rate_limit integer,
  gate_rate_seconds integer,
  gate_rate_burst integer,
  paused boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (queue, gate),
  constraint gate_lets_in_1_to_1000 check (gate_limit between 1 and 1000),
  constraint gate_rate_is_1_to_a_million check (gate_rate_limit between 1 and 1000000
    and gate_rate_burst between 1 and 1000000),
  constraint gate_rate_is_by_up_to_a_day check (gate_rate_seconds between 1 and 86400)
);

-- Append-only: whom a gate has let in. The newest row says all: which tasks were inside then (who of them
-- still is follows from how they stand), the last ticket let in, the level of its bucket at a time, and which
-- entry is due when there is something in it again, and when the line was last read from its beginning. The primary key is the fence: of two who let in at once one
-- is refused.
create table tock.turns (
  number bigint not null,
  last_ticket bigint not null,
  alarm bigint,
  turned_at timestamptz not null default clock_timestamp(),
  looked_at timestamptz,
  level double precision,
  queue text collate "C" not null,
  gate text collate "C" not null,
  inside bigint[] not null,
  primary key (queue, gate, number)
);

-- Which task had a unique key last, and since when (created_at); whether it still has it follows from how that
-- task stands. A row is not updated by those who come: the next takes its place under the next number, so that
-- beside a held-open transaction the newest is found first. written_at is when somebody last came, or when tidy
-- last found it in use.
create table tock.unique_keys (
  number bigint not null,
  task_id bigint not null,
  until timestamptz,
  changed_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  written_at timestamptz not null default clock_timestamp(),
  queue text collate "C" not null,
  unique_key text collate "C" not null,
  primary key (queue, unique_key, number)
);

create index unique_keys_by_age on tock.unique_keys (queue, written_at);

-- What claims from a queue with a limit have taken: one row a claim, which deletes the one before it. The newest
-- says which leases were open then (null: to be looked for), since when they are counted (limited_at as the
-- policy said, seen_at when a claim first saw that), and the level of the queue's bucket at a time. Number 0
-- stays: it and the deletion refuse a claim that goes by an old snapshot.
create table tock.allowances (
  number bigint not null,
  taken_at timestamptz not null default clock_timestamp(),
  level double precision,
  limited_at timestamptz,
  seen_at timestamptz,
  queue text collate "C" not null,
  leases uuid[],
  primary key (queue, number)
);

create type tock.allowance as (
  number bigint, taken_at timestamptz, seen_at timestamptz, level double precision, running integer, leases uuid[],
  allowed integer, after_seconds integer, unwritten boolean);

-- Of runs with options a claim takes together only those of one time limit.
alter type tock.passed add attribute timeout_seconds integer;

alter type tock.found_run add attribute options jsonb;
drop function if exists tock.task(bigint);

-- How far runs have come, as their workers say when they extend: of one run, or (of_all) of all runs of a row
-- of a lease, under the position after the one it begins with. The newer of the two holds. Nothing that
-- changes is indexed, so that an update stays on its page; they go with their epoch.
create table tock.progress (
  position bigint not null,
  told_at timestamptz not null default clock_timestamp(),
  stream integer not null,
  progress real,
  of_all boolean not null,
  note text,
  primary key (position, stream, of_all),
  constraint progress_is_0_to_100 check (progress between 0 and 100)
) with (fillfactor = 50);

alter type tock.found_run add attribute leased_until timestamptz;
alter type tock.found_run add attribute progress real;
alter type tock.found_run add attribute note text;
drop function if exists tock.extend(uuid, integer);

-- What ended in each hour (of UTC) by queue, as far as it was added up: of whole streams of settled epochs,
-- by the audit. It outlives the epochs, by 400 days.
create table tock.hours (
  hour timestamptz not null,
  done bigint not null,
  failed bigint not null,
  lost bigint not null,
  done_seconds double precision not null,
  queue text collate "C" not null,
  primary key (queue, hour)
);

create index hours_by_hour on tock.hours (hour);

-- Those audited before have not been added up: they are audited once more.
update tock.epochs set audited_at = null, audit_stream = null, audit_position = null, audit_runs = null;

-- What claim_any() returns for a run.
create type tock.claimed_from as (
  queue text, lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload jsonb);
drop function if exists tock.claim(text, text, integer, integer, text, boolean);

-- Append-only: which tasks were run again, as which. number tells the times apart: the primary key is the fence
-- where two would do it once.
create table tock.reruns (
  of_id bigint not null,
  id bigint not null,
  created_at timestamptz not null default now(),
  number integer not null,
  kind text not null,
  reason text,
  primary key (of_id, number),
  constraint kind_is_known check (kind in ('rerun', 'redrive'))
);

create index reruns_by_id on tock.reruns (id);

-- Tasks that went to another queue: their ids say where they were at first.
create table tock.moves (
  id bigint primary key,
  moved_at timestamptz not null default now()
);

-- What a call with a request id answered, where ids alone don't say it.
alter table tock.requests add column answer jsonb;

-- In an order that a listing can go on from.
drop index tock.dead_results;
create index dead_results on tock.results (stream, position) where next_id is null and state in ('failed', 'lost');
drop index tock.waiting_by_queue;
create index waiting_by_queue on tock.waiting (queue, due_at, position);

-- A task in a list, and a part of a list: how many rows were looked at for it, and where it goes on.
create type tock.listed as (
  id bigint, run_id bigint, state text, priority smallint, tenant text, attempt smallint, created_at timestamptz,
  run_at timestamptz, ended_at timestamptz, worker text, error text, rerun boolean);

create type tock.page as (tasks tock.listed[], cursor text, looked_at integer);
