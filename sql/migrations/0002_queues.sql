-- A queue is a named policy: how its tasks are claimed, retried, limited, pushed and kept. The row '*' holds
-- the defaults, and the first use of a name copies it. A call that cannot see that copy yet uses the
-- defaults.
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
  retention_seconds integer not null default 604800,

  -- After a restore such a queue stays paused until its policy is resumed. home is the server where it was
  -- last resumed, as in the sequence tock.system_identity.
  pause_after_restore boolean not null default false,
  home bigint,
  -- The tenants that have a lane to themselves, by lane.
  heavy jsonb not null default '{}',

  backoff_kind text not null default 'exponential',
  timeout_seconds integer,
  max_wait_seconds integer,
  concurrency_limit integer not null default 1,
  concurrency_retry text not null default 'keep',
  concurrency_rate_limit integer,
  concurrency_rate_seconds integer not null default 1,
  concurrency_rate_burst integer,
  max_running integer,
  rate_limit integer,
  rate_seconds integer not null default 1,
  rate_burst integer,
  limited_at timestamptz,  -- since when max_running holds
  keep_results boolean not null default true,

  -- Push sends the tasks to an endpoint: {url, timeout_seconds}. No table holds the secret that signs: the
  -- Worker derives it from its own secret, the name of the queue and this generation. Until
  -- push_previous_until, the previous generation signs too.
  push jsonb,
  push_generation integer not null default 1,
  push_previous_until timestamptz,
  -- The endpoint for dead task events of the queue: {url}.
  dead_webhook jsonb,

  constraint name_is_short_and_plain check (name = '*' or name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'),
  constraint lease_lasts_up_to_a_day check (lease_seconds between 1 and 86400),
  constraint attempts_are_1_to_1000 check (max_attempts between 1 and 1000),
  constraint lost_runs_are_1_to_1000 check (max_lost between 1 and 1000),
  constraint backoff_base_is_up_to_a_day check (backoff_base_seconds between 0 and 86400),
  constraint backoff_factor_is_1_to_10 check (backoff_factor between 1 and 10),
  constraint backoff_cap_is_up_to_a_month check (backoff_cap_seconds between 0 and 2678400),
  constraint backoff_jitter_is_a_share check (backoff_jitter between 0 and 1),
  constraint backoff_kind_is_known check (backoff_kind in ('fixed', 'linear', 'exponential')),
  constraint lanes_are_1_to_64 check (lanes between 1 and 64),
  constraint payload_is_up_to_4_mib check (max_payload_bytes between 1024 and 4194304),
  constraint retention_is_a_minute_to_ten_years check (retention_seconds between 60 and 315360000),
  constraint heavy_is_an_object check (jsonb_typeof(heavy) = 'object'),
  constraint timeout_is_up_to_a_month check (timeout_seconds between 1 and 2678400),
  constraint max_wait_is_up_to_ten_years check (max_wait_seconds between 1 and 315360000),
  constraint concurrency_limit_is_1_to_1000 check (concurrency_limit between 1 and 1000),
  constraint concurrency_retry_is_known check (concurrency_retry in ('keep', 'yield')),
  constraint concurrency_rate_is_1_to_a_million check (
    concurrency_rate_limit between 1 and 1000000 and concurrency_rate_burst between 1 and 1000000),
  constraint concurrency_rate_is_by_up_to_a_day check (concurrency_rate_seconds between 1 and 86400),
  constraint max_running_is_1_to_10000 check (max_running between 1 and 10000),
  constraint rate_is_1_to_a_million check (
    rate_limit between 1 and 1000000 and rate_burst between 1 and 1000000),
  constraint rate_is_by_up_to_a_day check (rate_seconds between 1 and 86400),
  constraint push_is_an_object check (jsonb_typeof(push) = 'object'),
  constraint default_policy_has_no_push check (name <> '*' or push is null),
  constraint push_generation_is_positive check (push_generation > 0),
  constraint dead_webhook_is_an_object check (jsonb_typeof(dead_webhook) = 'object')
);

create index queues_with_push on tock.queues (name) where push is not null;
create index queues_with_dead_webhook on tock.queues (name) where dead_webhook is not null;

insert into tock.queues (name) values ('*');
