-- What sql/ comes to, for readers: generated, see CONTRIBUTING.md. Not meant to be run.

table tock.duties
  name text not null
  every_seconds integer not null
  last_started_at timestamp with time zone
  last_ok_at timestamp with time zone
  last_seconds double precision
  last_amount integer
  last_error text
  failures integer not null default 0
  constraint duties_pkey PRIMARY KEY (name)

table tock.epochs
  number integer not null
  first_position bigint not null
  end_position bigint not null
  made_at timestamp with time zone not null default now()
  writers_at_end text[]
  settled_at timestamp with time zone
  constraint epoch_is_a_range CHECK ((end_position > first_position))
  constraint epochs_first_position_key UNIQUE (first_position)
  constraint epochs_pkey PRIMARY KEY (number)

table tock.keys
  prefix text not null
  hash bytea not null
  name text not null
  scopes text[] not null
  queues text[]
  created_at timestamp with time zone not null default now()
  revoked_at timestamp with time zone
  constraint keys_hash_key UNIQUE (hash)
  constraint keys_pkey PRIMARY KEY (prefix)
  constraint scopes_are_known CHECK (((scopes <@ ARRAY['enqueue'::text, 'claim'::text, 'read'::text, 'admin'::text]) AND (cardinality(scopes) > 0)))

table tock.leases -- partition by RANGE (after_position)
  after_position bigint not null
  last_position bigint not null
  token uuid not null
  claimed_at timestamp with time zone not null default now()
  leased_until timestamp with time zone not null
  closed_at timestamp with time zone
  stream integer not null
  runs integer not null
  worker text
  outcome text
  constraint closed_lease_has_outcome CHECK (((closed_at IS NULL) = (outcome IS NULL)))
  constraint lease_is_a_range CHECK (((last_position > after_position) AND (runs > 0)))
  constraint leases_pkey PRIMARY KEY (stream, after_position)
  constraint outcome_is_known CHECK ((outcome = ANY (ARRAY['done'::text, 'lost'::text])))
  CREATE INDEX leases_by_token ON ONLY tock.leases USING btree (token)
  CREATE INDEX open_leases_by_deadline ON ONLY tock.leases USING btree (leased_until) WHERE (closed_at IS NULL)

table tock.migrations
  number integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
  constraint migrations_pkey PRIMARY KEY (number)

table tock.promotions
  "position" bigint not null
  run_id bigint not null
  due_at timestamp with time zone not null
  promoted_at timestamp with time zone not null default now()
  constraint promotions_pkey PRIMARY KEY ("position")
  CREATE INDEX promotions_by_due ON tock.promotions USING btree (due_at)

table tock.queues
  name text not null
  lease_seconds integer not null default 60
  max_attempts smallint not null default 10
  max_lost smallint not null default 10
  backoff_base_seconds double precision not null default 5
  backoff_factor double precision not null default 2
  backoff_cap_seconds double precision not null default 3600
  backoff_jitter double precision not null default 0.2
  lanes smallint not null default 8
  max_payload_bytes integer not null default 262144
  paused boolean not null default false
  created_at timestamp with time zone not null default now()
  constraint attempts_are_1_to_1000 CHECK (((max_attempts >= 1) AND (max_attempts <= 1000)))
  constraint backoff_base_is_up_to_a_day CHECK (((backoff_base_seconds >= (0)::double precision) AND (backoff_base_seconds <= (86400)::double precision)))
  constraint backoff_cap_is_up_to_a_month CHECK (((backoff_cap_seconds >= (0)::double precision) AND (backoff_cap_seconds <= (2678400)::double precision)))
  constraint backoff_factor_is_1_to_10 CHECK (((backoff_factor >= (1)::double precision) AND (backoff_factor <= (10)::double precision)))
  constraint backoff_jitter_is_a_share CHECK (((backoff_jitter >= (0)::double precision) AND (backoff_jitter <= (1)::double precision)))
  constraint lanes_are_1_to_64 CHECK (((lanes >= 1) AND (lanes <= 64)))
  constraint lease_lasts_up_to_a_day CHECK (((lease_seconds >= 1) AND (lease_seconds <= 86400)))
  constraint lost_runs_are_1_to_1000 CHECK (((max_lost >= 1) AND (max_lost <= 1000)))
  constraint name_is_short_and_plain CHECK (((name = '*'::text) OR (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'::text)))
  constraint payload_is_up_to_4_mib CHECK (((max_payload_bytes >= 1024) AND (max_payload_bytes <= 4194304)))
  constraint queues_pkey PRIMARY KEY (name)

table tock.requests
  verb text not null
  queue text not null
  request_id text not null
  digest bigint not null
  ids bigint[]
  token uuid
  created_at timestamp with time zone not null default now()
  constraint request_gave_something CHECK (((ids IS NULL) <> (token IS NULL)))
  constraint requests_pkey PRIMARY KEY (queue, verb, request_id)
  CREATE INDEX requests_by_age ON tock.requests USING btree (created_at)

table tock.results -- partition by RANGE ("position")
  "position" bigint not null
  next_id bigint
  ended_at timestamp with time zone not null default now()
  stream integer not null
  state text not null
  result jsonb
  error jsonb
  constraint only_the_unfinished_go_on CHECK (((next_id IS NULL) OR (state = ANY (ARRAY['failed'::text, 'lost'::text, 'superseded'::text]))))
  constraint results_pkey PRIMARY KEY (stream, "position")
  constraint state_is_known CHECK ((state = ANY (ARRAY['done'::text, 'failed'::text, 'lost'::text, 'cancelled'::text, 'superseded'::text, 'expired'::text])))
  CREATE INDEX dead_results ON ONLY tock.results USING btree (stream) WHERE ((next_id IS NULL) AND (state = ANY (ARRAY['failed'::text, 'lost'::text])))

table tock.runs -- partition by RANGE ("position")
  "position" bigint not null
  task_id bigint
  created_at timestamp with time zone not null default now()
  stream integer not null
  bytes integer not null
  attempt smallint not null default 1
  lost smallint not null default 0
  max_attempts smallint
  tenant text
  payload jsonb
  constraint runs_pkey PRIMARY KEY (stream, "position")

table tock.streams
  number integer not null
  queue text not null
  priority smallint not null
  lane smallint not null
  slot smallint not null
  start_after bigint not null
  awake boolean not null default true
  constraint one_stream_a_slot UNIQUE (queue, priority, lane, slot)
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))
  constraint streams_pkey PRIMARY KEY (number)
  CREATE INDEX streams_awake ON tock.streams USING btree (queue, priority) WHERE awake

table tock.waiting
  "position" bigint not null
  task_id bigint
  due_at timestamp with time zone not null
  created_at timestamp with time zone not null default now()
  bytes integer not null
  priority smallint not null
  lane smallint not null
  attempt smallint not null default 1
  lost smallint not null default 0
  max_attempts smallint
  queue text not null
  tenant text
  payload jsonb
  constraint waiting_pkey PRIMARY KEY ("position")
  CREATE INDEX waiting_by_due ON tock.waiting USING btree (due_at, "position")
  CREATE INDEX waiting_by_queue ON tock.waiting USING btree (queue, due_at)

sequence tock.positions 1 to 8796093022207 cache 1

sequence tock.stream_numbers 1 to 1048575 cache 1

type tock.candidate (stream integer, priority smallint, after_position bigint)

type tock.ended (stream integer, position bigint, state text, result jsonb, error jsonb, again_at timestamp with time zone, attempt smallint, lost smallint)

type tock.leased_run (n bigint, id bigint, stream integer, position bigint, queue text, attempt smallint, lost smallint, max_attempts smallint, state text, result jsonb, error jsonb, next_id bigint)

function tock.authorize(p_key text, p_scope text, p_queue text DEFAULT NULL::text)
  returns boolean
  -- True when a key has a scope, for a queue if one is named; else raises TK401 or TK403.
  -- for tock_edge

function tock.backoff_seconds(p_policy queues, p_failures integer)
  returns double precision
  -- Seconds to wait after the n-th failure: base * factor^(n-1), capped, less a random share of up to the jitter.

function tock.cancel_overdue(p_seconds integer DEFAULT 60)
  returns integer
  -- Cancels calls of tick() and run_duty() by this role that have taken longer than p_seconds; returns how many.

function tock.candidates_hot(text, integer, integer[], integer)
  returns candidate[]
  -- candidates_statement() for the epochs in use. Written by write_hot().

function tock.candidates_statement(p_oldest integer, p_newest integer)
  returns text
  -- The statement that finds streams to draw from.

function tock.check_claim(p_queue text, p_worker text, p_limit integer, p_lease_seconds integer)
  returns void
  -- Raises TK422 for arguments that claim() doesn't take.

function tock.check_failures(p_failures jsonb, p_all boolean)
  returns void
  -- Raises TK422 for failures that are not as they should be.

function tock.check_queue_name(p_queue text)
  returns void
  -- Raises TK422 for what can't be a queue's name.

function tock.check_rows(p_rows jsonb, p_field text, p_allowed text[])
  returns void
  -- Raises TK422 unless p_rows is an array of objects with these keys only, each of a bearable size.

function tock.claim(p_queue text, p_worker text DEFAULT NULL::text, p_limit integer DEFAULT 1, p_lease_seconds integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text, p_alone boolean DEFAULT false)
  returns TABLE(lease uuid, leased_until timestamp with time zone, id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text, created_at timestamp with time zone, payload jsonb)
  -- Leases up to p_limit ready runs to a worker, priorities in order and lanes in turn, and returns them with their payloads; no rows when nothing is ready. A call repeated with its request_id gives the same runs while its lease is open (TK409 after). p_alone says that the statement is the whole transaction and does nothing else: then it commits asynchronously and promotes what is due. Until a claim's transaction ends nobody else claims from its streams: claim in a transaction of its own, complete in yours.
  -- for tock_edge

function tock.close_hot(uuid)
  returns SETOF integer
  -- close_statement() for the epoch in use. Written by write_hot().

function tock.close_lease(p_lease uuid, p_epoch integer)
  returns void
  -- Closes the rows of a lease whose runs are all accounted for.

function tock.close_statement(p_epoch integer)
  returns text
  -- The statement that closes a whole lease as done; $1 token; gives its runs, null when it was closed or never there.

function tock.complete(p_lease uuid, p_results jsonb DEFAULT NULL::jsonb)
  returns TABLE(completed integer, refused bigint[])
  -- Ends runs of a lease as done: all that are left, or those in results ([{id, result}]). Returns how many are done by this call (or the same call before) and the ids that were not this lease's to complete; no row when none was.
  -- for tock_edge

function tock.create_key(p_name text, p_scopes text[], p_queues text[] DEFAULT NULL::text[])
  returns TABLE(key text, prefix text, name text, scopes text[], queues text[], created_at timestamp with time zone)
  -- Makes a key with scopes (enqueue, claim, read, admin) for all queues or those named. The key itself is shown this once; only its hash is kept.
  -- for tock_edge

function tock.cron_interval(p_seconds integer)
  returns text
  -- A pg_cron schedule for every p_seconds (under 60): by seconds from pg_cron 1.5 on, by minutes before.

function tock.cursor_of(p_stream integer)
  returns bigint
  -- Where a stream's next claim starts, read through the whole tree: for duties and people, not for the hot path.

function tock.cursor_statement(p_oldest integer, p_newest integer)
  returns text
  -- The statement that reads a stream's cursor.

function tock.draw_hot(p_stream integer, p_first bigint, p_end bigint, p_limit integer, p_token uuid, p_worker text, p_until timestamp with time zone, p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
  returns TABLE(lease uuid, leased_until timestamp with time zone, id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text, created_at timestamp with time zone, payload jsonb)
  -- draw_statement() for the epochs in use. Written by write_hot().

function tock.draw_statement(p_oldest integer, p_newest integer)
  returns text
  -- The statement that leases what lies above a stream's cursor and returns it, in order.

function tock.end_runs(p_ended ended[])
  returns integer
  -- Writes the results of runs and, for those that go on, the next run or its waiting entry; returns how many had not ended before.

function tock.enqueue(p_queue text, p_tasks jsonb, p_request_id text DEFAULT NULL::text)
  returns bigint[]
  -- Adds tasks ({payload, delay_seconds | run_at, priority, tenant, max_attempts}) and returns their ids in order, inside your transaction if you like. A call repeated with its request_id within 24 hours gives the same ids.
  -- for tock_edge

function tock.enqueue_task(p_queue text, p_payload jsonb DEFAULT NULL::jsonb, p_delay_seconds double precision DEFAULT NULL::double precision, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_priority integer DEFAULT NULL::integer, p_tenant text DEFAULT NULL::text, p_max_attempts integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text)
  returns bigint
  -- Adds one task and returns its id: enqueue() with plain arguments.
  -- for tock_edge

function tock.epoch_of(p_position bigint)
  returns integer
  -- The number of the epoch that a position lies in.

function tock.epoch_of_lease(p_lease uuid)
  returns integer
  -- The epoch that all rows of a lease lie in, from the token's last 28 bits (the other 94 are random); null when it can't be a lease.

function tock.exceptions_hot(uuid)
  returns SETOF integer
  -- exceptions_statement() for the epoch in use. Written by write_hot().

function tock.exceptions_statement(p_epoch integer, p_newest integer)
  returns text
  -- The statement that counts the runs of a lease that ended otherwise than done; $1 token.

function tock.extend(p_lease uuid, p_seconds integer DEFAULT NULL::integer)
  returns TABLE(leased_until timestamp with time zone, runs integer)
  -- Moves an open lease's deadline to p_seconds (by default the queue's lease_seconds) from now, never back. No row when the lease is no longer open.
  -- for tock_edge

function tock.fail(p_lease uuid, p_failures jsonb DEFAULT NULL::jsonb)
  returns TABLE(failed integer, dead integer, refused bigint[])
  -- Ends runs of a lease as failed: [{id, error, retry_in_seconds | fatal}], or one object without id for all that are left. Each is tried again after its backoff unless it is fatal or was the last attempt: then its task is dead. No row when none was this lease's.
  -- for tock_edge

function tock.hold_lease(p_lease uuid, p_epoch integer)
  returns boolean
  -- Locks a lease's rows for share; false when there is no such lease.

function tock.hot_epoch()
  returns integer
  -- The epoch in use, while the hot functions are right for it; else null. Written by write_hot().

function tock.is_alone(p_alone boolean, p_context text)
  returns boolean
  -- Whether the calling verb may take itself for the whole transaction; p_context is its PG_CONTEXT.

function tock.is_instant(p_text text)
  returns boolean
  -- Whether a text is an ISO 8601 date and time with a zone.

function tock.keys_list()
  returns TABLE(prefix text, name text, scopes text[], queues text[], created_at timestamp with time zone, revoked_at timestamp with time zone)
  -- All keys but for their secret part.
  -- for tock_edge

function tock.leased_runs(p_lease uuid)
  returns TABLE(lease uuid, leased_until timestamp with time zone, id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text, created_at timestamp with time zone, payload jsonb)
  -- The runs of an open lease that have not ended, as its claim returned them; TK409 when there are none or its time is up.

function tock.leaves(p_table text, p_oldest integer, p_newest integer)
  returns text
  -- What to read from for the rows of some epochs: the leaf itself, two leaves, or beyond two the whole tree.

function tock.lock_space()
  returns integer
  -- First key of every advisory lock: the schema's oid. Second keys: a stream's number (its claim), 2^30 + slot, or named_key().

function tock.make_queue(p_queue text)
  returns void
  -- Makes a queue named for the first time, with the default policy.

function tock.named_key(p_kind text, p_name text)
  returns integer
  -- Second key of the lock of a duty or of making a queue (p_kind): apart from each other, so that no queue's name can stop a duty.

function tock.new_token(p_epoch integer)
  returns uuid
  -- A lease's token: random but for its last 28 bits, which name the epoch.

function tock.newest_epoch()
  returns integer
  -- The epoch that the sequence is in. Runs of a later one may be there by the time this is used: within a stream, what is read without them is a prefix.

function tock.next_wake_at()
  returns timestamp with time zone
  -- When time must next do something: the earliest waiting task or lease deadline; null when nothing is pending.
  -- for tock_edge

function tock.oldest_live_epoch()
  returns integer
  -- The first epoch that a claim may still have to read.

function tock.open_stream(p_queue text, p_priority integer, p_lane integer, p_slot integer)
  returns integer
  -- The stream of a queue, priority, lane and slot: registered when new, woken when asleep.

function tock.option_error(p_options jsonb)
  returns text[]
  -- What is wrong with a task's options: {field, message}, or null.

function tock.parse_ids(p_rows jsonb, p_field text)
  returns bigint[]
  -- The ids of an array of {id, ...}; TK422 names the one that is no id or stands twice.

function tock.policy(p_queue text)
  returns queues
  -- The policy a queue follows: its own row, or the default row '*'.

function tock.promote(p_limit integer DEFAULT 1000, p_sweep boolean DEFAULT false)
  returns integer
  -- Makes up to p_limit waiting tasks whose time has come ready, earliest first; returns how many. p_sweep reads from the bottom.

function tock.put_queue(p_queue text, p_policy jsonb DEFAULT '{}'::jsonb)
  returns queues
  -- Makes a queue or changes the options named; the others stay. '*' is the default policy. TK422 names the option that is out of range.
  -- for tock_edge

function tock.queue(p_queue text)
  returns SETOF queues
  -- A queue's policy; no row when nobody has named it yet.
  -- for tock_edge

function tock.queue_of_lease(p_lease uuid)
  returns text
  -- The queue that a lease was claimed from; null when there is no such lease.
  -- for tock_edge

function tock.queue_of_task(p_id bigint)
  returns text
  -- The queue a task's id belongs to; null when there is none.
  -- for tock_edge

function tock.queue_stats(p_queue text DEFAULT NULL::text)
  returns TABLE(queue text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamp with time zone)
  -- How many tasks of each queue are ready, running, waiting and dead, and since when the oldest ready one is there.
  -- for tock_edge

function tock.reap(p_limit integer DEFAULT 10000)
  returns integer
  -- Takes back the runs of leases past their deadline, about p_limit a call: each is lost and its task ready again, or dead after max_lost. Returns how many.

function tock.refuse(p_status integer, p_message text, p_field text DEFAULT NULL::text, p_hint text DEFAULT NULL::text)
  returns void
  -- Raises a caller's mistake: SQLSTATE TK and the HTTP status, DETAIL the field's name, HINT what to do next.

function tock.refuse_bad_tasks(p_tasks jsonb, p_max_payload_bytes integer)
  returns void
  -- Raises TK422 for the first task that is not as it should be; DETAIL is like tasks[3].priority.

function tock.release(p_lease uuid, p_ids bigint[] DEFAULT NULL::bigint[])
  returns TABLE(released integer, refused bigint[])
  -- Gives runs of a lease back unharmed (all that are left, or those named): they are ready again at once, at the end of their stream, and it counts as no attempt. No row when none was this lease's.
  -- for tock_edge

function tock.request_seen(p_verb text, p_queue text, p_request_id text, p_digest bigint)
  returns requests
  -- What a call with this request id was given before, all null when it is new. TK422 when the call has changed since.

function tock.rest(p_limit integer DEFAULT 500)
  returns integer
  -- Puts streams with nothing above their cursor to sleep, so that claims don't look at them, and settles epochs; returns how many fell asleep.

function tock.retry_after_seconds(p_queue text)
  returns integer
  -- When to come back after an empty claim: seconds to the queue's next waiting task, 1 to 30.
  -- for tock_edge

function tock.revoke_key(p_prefix text)
  returns boolean
  -- Ends a key at once; false when there is none with this prefix.
  -- for tock_edge

function tock.ride_along()
  returns void
  -- What a claim does for everybody before it looks for itself: promote what is due, and do duties that are late: the sweep of waiting after 5 s, reaping and epochs after 15 times their interval.

function tock.rotate(p_ahead integer DEFAULT 2, p_width bigint DEFAULT NULL::bigint)
  returns integer
  -- Makes epochs until p_ahead lie ahead of the one in use (p_width positions each); returns how many it made.

function tock.run_duty(p_duty text, p_seconds integer DEFAULT 5)
  returns integer
  -- Does one duty now, in batches for up to p_seconds (0: one batch), and records how it went in tock.duties; returns how much it did, null when it failed or is being done elsewhere.

function tock.run_state(p_stream integer, p_position bigint)
  returns TABLE(state text, worker text, started_at timestamp with time zone, ended_at timestamp with time zone, result jsonb, error jsonb, next_id bigint)
  -- How a run stands, wherever its partition is.

function tock.runs_of_lease(p_lease uuid, p_epoch integer, p_ids bigint[])
  returns SETOF leased_run
  -- The runs of a lease, all or those with these ids, and how each has ended (state null: still running).

function tock.settle_epochs()
  returns void
  -- Marks epochs that no claim needs to read any more: ended, their writers gone, every awake stream's newest lease beyond them.

function tock.take_slot(p_from integer DEFAULT NULL::integer)
  returns integer
  -- The writer slot of this transaction, locked to its end: one writer a slot makes commit order and position order agree in each of its streams.

function tock.task(p_id bigint)
  returns TABLE(id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer, lost integer, created_at timestamp with time zone, run_at timestamp with time zone, ended_at timestamp with time zone, payload jsonb, result jsonb, error jsonb, runs jsonb)
  -- A task by its id or any of its runs' ids: its state, and all its runs in order with worker, times and error. No row when there is none.
  -- for tock_edge

function tock.tick()
  returns timestamp with time zone
  -- Does every duty that is due and returns next_wake_at(): what pg_cron calls, and an external wake can.
  -- for tock_edge

function tock.tidy(p_limit integer DEFAULT 10000)
  returns integer
  -- Deletes request ids older than a day and what pg_cron noted about Tock's jobs a day ago, up to p_limit of each.

function tock.wait_for_lock(p_key integer)
  returns boolean
  -- Takes the lock of a stream's claim or of a slot, waiting up to 50 ms; false when that was not enough.

function tock.write_hot()
  returns void
  -- Writes hot_epoch(), candidates_hot(), draw_hot(), close_hot() and exceptions_hot() for the epochs in use.
