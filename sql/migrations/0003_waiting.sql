-- What isn't ready: delayed or backing off. Its id is a position of its own with stream 0.
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
  payload jsonb
);

create index waiting_by_due on tock.waiting (due_at, position);
create index waiting_by_queue on tock.waiting (queue, due_at);

-- Append-only: which run a waiting entry became. Its newest due time is where promotion reads on.
create table tock.promotions (
  position bigint primary key,
  run_id bigint not null,
  due_at timestamptz not null,
  promoted_at timestamptz not null default now()
);

create index promotions_by_due on tock.promotions (due_at);

-- What a call with a request id gave, kept 24 hours so that a repeated call gives the same.
create table tock.requests (
  verb text not null,
  queue text collate "C" not null,
  request_id text not null,
  digest bigint not null,
  ids bigint[],
  token uuid,
  created_at timestamptz not null default now(),
  primary key (queue, verb, request_id),
  constraint request_gave_something check ((ids is null) <> (token is null))
);

create index requests_by_age on tock.requests (created_at);
