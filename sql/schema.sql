-- What sql/ comes to, for readers: generated, see CONTRIBUTING.md. Not meant to be run.

table tock.archive
  single boolean not null default true
  enabled boolean not null default false
  prefix text not null default 'tock'::text
  changed_at timestamp with time zone not null default now()
  last_step_at timestamp with time zone
  failed_at timestamp with time zone
  failures integer not null default 0
  last_error text
  constraint archive_is_one CHECK (single)
  constraint archive_pkey PRIMARY KEY (single)
  constraint prefix_is_a_plain_path CHECK (((prefix ~ '^[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){0,4}$'::text) AND (prefix !~ '(^|/)\.\.?(/|$)'::text)))

table tock.archive_erasures
  task_id bigint not null
  queue text not null
  noted_at timestamp with time zone not null default now()
  erased_at timestamp with time zone
  tried_at timestamp with time zone
  file bigint not null default 0
  constraint archive_erasures_pkey PRIMARY KEY (task_id)
  CREATE INDEX archive_erasures_pending ON tock.archive_erasures USING btree (tried_at NULLS FIRST, task_id) WHERE (erased_at IS NULL)

table tock.archive_objects
  path text not null
  state text not null default 'writing'::text
  noted_at timestamp with time zone not null default clock_timestamp()
  segment integer not null
  part integer not null
  rows integer
  digest text
  last_stream integer
  last_position bigint
  constraint archive_objects_pkey PRIMARY KEY (path)
  constraint object_state_is_known CHECK ((state = ANY (ARRAY['writing'::text, 'unwanted'::text, 'deleted'::text])))
  CREATE INDEX archive_objects_by_time ON tock.archive_objects USING btree (noted_at)

table tock.archived_files
  number bigint not null
  segment integer not null
  part integer not null
  path text not null
  bytes bigint not null
  sha256 text not null
  digest text not null
  rows integer not null
  first_stream integer not null
  first_position bigint not null
  last_stream integer not null
  last_position bigint not null
  first_created_at timestamp with time zone not null
  last_created_at timestamp with time zone not null
  queues text[] not null
  archived_at timestamp with time zone not null default now()
  constraint archived_files_path_key UNIQUE (path)
  constraint archived_files_pkey PRIMARY KEY (number)
  constraint file_has_rows CHECK (((rows > 0) AND (bytes > 0)))
  constraint file_is_a_range UNIQUE (segment, first_stream, first_position)
  constraint part_once UNIQUE (segment, part)
  CREATE INDEX archived_files_by_queue ON tock.archived_files USING gin (queues)

table tock.archived_tasks
  file bigint not null
  first_position bigint not null
  last_position bigint not null
  filter bytea
  constraint archived_tasks_file_fkey FOREIGN KEY (file) REFERENCES archived_files(number) ON DELETE CASCADE
  constraint archived_tasks_pkey PRIMARY KEY (file, first_position)
  CREATE INDEX archived_tasks_by_position ON tock.archived_tasks USING gist (int8range(first_position, last_position, '[]'::text))

table tock.archives
  segment integer not null
  first_position bigint not null
  end_position bigint not null
  state text not null default 'exporting'::text
  stream integer not null default 0
  "position" bigint not null default 0
  parts integer not null default 0
  rows bigint not null default 0
  started_at timestamp with time zone not null default now()
  verified_at timestamp with time zone
  dropped_at timestamp with time zone
  constraint archive_is_a_range CHECK ((end_position > first_position))
  constraint archive_state_is_known CHECK ((state = ANY (ARRAY['exporting'::text, 'verified'::text, 'dropped'::text])))
  constraint archives_first_position_key UNIQUE (first_position)
  constraint archives_pkey PRIMARY KEY (segment)
  CREATE INDEX archives_waiting ON tock.archives USING btree (segment) WHERE (state <> 'dropped'::text)

table tock.audit_log
  number bigint not null default nextval('audit_log_numbers'::regclass)
  at timestamp with time zone not null default clock_timestamp()
  role text not null
  key text
  verb text not null
  object text not null
  detail jsonb not null default '{}'::jsonb
  constraint audit_log_pkey PRIMARY KEY (number)
  CREATE INDEX audit_log_by_key ON tock.audit_log USING btree (key, number)
  CREATE INDEX audit_log_by_object ON tock.audit_log USING btree (object, number)
  CREATE INDEX audit_log_by_verb ON tock.audit_log USING btree (verb, number)

table tock.bulk_changes
  id bigint not null
  change text not null
  queue text not null
  filter jsonb not null
  options jsonb not null
  role text not null
  key text
  created_at timestamp with time zone not null default clock_timestamp()
  cursor text
  matched bigint not null default 0
  changed bigint not null default 0
  state text not null default 'running'::text
  due_at timestamp with time zone not null default clock_timestamp()
  failures integer not null default 0
  error text
  ended_at timestamp with time zone
  constraint bulk_change_ends_once CHECK (((state = 'running'::text) = (ended_at IS NULL)))
  constraint bulk_change_state_is_known CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text, 'failed'::text])))
  constraint bulk_change_without_cursor_is_done CHECK (((cursor IS NULL) = (state = 'done'::text)))
  constraint bulk_changes_pkey PRIMARY KEY (id)
  constraint change_is_known CHECK ((change = ANY (ARRAY['cancel'::text, 'reprioritize'::text, 'redrive'::text])))
  CREATE INDEX bulk_changes_by_queue ON tock.bulk_changes USING btree (queue, id)
  CREATE INDEX bulk_changes_running ON tock.bulk_changes USING btree (due_at) WHERE (state = 'running'::text)

table tock.children
  parent bigint not null
  child bigint not null
  constraint children_pkey PRIMARY KEY (parent, child)

table tock.concurrency_admissions
  number bigint not null
  last_ticket bigint not null
  alarm bigint
  admitted_at timestamp with time zone not null default clock_timestamp()
  scanned timestamp with time zone
  level double precision
  queue text not null
  concurrency_key text not null
  holders bigint[] not null
  constraint concurrency_admissions_pkey PRIMARY KEY (queue, concurrency_key, number)

table tock.concurrency_keys
  queue text not null
  concurrency_key text not null
  concurrency_limit integer
  concurrency_rate_limit integer
  concurrency_rate_seconds integer
  concurrency_rate_burst integer
  paused boolean not null default false
  created_at timestamp with time zone not null default now()
  constraint concurrency_key_is_1_to_504_characters CHECK (((length(concurrency_key) >= 1) AND (length(concurrency_key) <= 504)))
  constraint concurrency_keys_pkey PRIMARY KEY (queue, concurrency_key)
  constraint concurrency_limit_is_1_to_1000 CHECK (((concurrency_limit >= 1) AND (concurrency_limit <= 1000)))
  constraint concurrency_rate_is_1_to_a_million CHECK ((((concurrency_rate_limit >= 1) AND (concurrency_rate_limit <= 1000000)) AND ((concurrency_rate_burst >= 1) AND (concurrency_rate_burst <= 1000000))))
  constraint concurrency_rate_is_by_up_to_a_day CHECK (((concurrency_rate_seconds >= 1) AND (concurrency_rate_seconds <= 86400)))

table tock.dead_task_events
  number bigint not null default nextval('dead_task_event_numbers'::regclass)
  queue text not null
  error text
  deaths integer not null
  ids bigint[] not null
  died_at timestamp with time zone not null default clock_timestamp()
  constraint dead_task_events_pkey PRIMARY KEY (number)
  constraint dead_tasks_are_counted CHECK ((deaths > 0))

table tock.dependency_rechecks
  number bigint not null
  not_before timestamp with time zone not null default (clock_timestamp() + '00:00:00.5'::interval)
  child bigint
  after_position bigint
  upto bigint
  stream integer
  constraint dependency_rechecks_pkey PRIMARY KEY (number)
  constraint recheck_names_a_child_or_runs CHECK (((num_nulls(child, stream) = 1) AND (num_nulls(stream, after_position, upto) = ANY (ARRAY[0, 3]))))

table tock.dependency_waits
  "position" bigint not null
  child bigint not null
  waiting_since timestamp with time zone not null default clock_timestamp()
  stream integer not null
  n integer not null
  blocked boolean not null default false
  constraint dependency_waits_pkey PRIMARY KEY (stream, "position", child)
  CREATE INDEX blocked_dependency_waits ON tock.dependency_waits USING btree (stream, "position") WHERE blocked
  CREATE INDEX dependency_waits_by_child ON tock.dependency_waits USING btree (child)

table tock.event_links
  token_hash bytea not null
  expires_at timestamp with time zone not null
  used_at timestamp with time zone
  event text not null
  constraint event_links_pkey PRIMARY KEY (token_hash)
  CREATE INDEX event_links_by_expiry ON tock.event_links USING btree (expires_at)

table tock.event_waits
  task_id bigint not null
  waiting_since timestamp with time zone not null default clock_timestamp()
  step text not null
  event text not null
  constraint event_waits_pkey PRIMARY KEY (task_id, step)
  CREATE INDEX event_waits_by_event ON tock.event_waits USING btree (event, task_id)
  CREATE INDEX event_waits_by_time ON tock.event_waits USING btree (waiting_since)

table tock.events
  event text not null
  signalled_at timestamp with time zone not null default clock_timestamp()
  more_waiters boolean not null default false
  request_id text
  payload jsonb
  constraint events_pkey PRIMARY KEY (event)
  CREATE INDEX events_by_time ON tock.events USING btree (signalled_at)
  CREATE INDEX events_with_more_waiters ON tock.events USING btree (event) WHERE more_waiters

view tock.findings
  severity text
  finding text
  detail text
  hint text

table tock.key_uses
  prefix text not null
  uses bigint not null default 0
  seen bigint not null default 0
  last_used_at timestamp with time zone
  constraint key_uses_pkey PRIMARY KEY (prefix)
  constraint key_uses_prefix_fkey FOREIGN KEY (prefix) REFERENCES keys(prefix)

table tock.keys
  prefix text not null
  hash bytea not null
  name text not null
  scopes text[] not null
  queues text[]
  created_at timestamp with time zone not null default now()
  revoked_at timestamp with time zone
  tenants text[]
  expires_at timestamp with time zone
  lifetime interval
  rate_limit integer
  rate_seconds integer
  replaces text
  constraint hash_is_a_sha256 CHECK ((octet_length(hash) = 32))
  constraint key_is_for_all_queues_or_some CHECK ((cardinality(queues) > 0))
  constraint key_rate_is_in_range CHECK ((((rate_limit >= 1) AND (rate_limit <= 1000000)) AND ((rate_seconds >= 1) AND (rate_seconds <= 86400))))
  constraint key_rate_is_whole CHECK (((rate_limit IS NULL) = (rate_seconds IS NULL)))
  constraint key_with_tenants_enqueues_and_reads CHECK (((tenants IS NULL) OR (scopes <@ ARRAY['enqueue'::text, 'read'::text])))
  constraint keys_hash_key UNIQUE (hash)
  constraint keys_pkey PRIMARY KEY (prefix)
  constraint keys_replaces_fkey FOREIGN KEY (replaces) REFERENCES keys(prefix)
  constraint scopes_are_known CHECK (((scopes <@ ARRAY['enqueue'::text, 'claim'::text, 'read'::text, 'admin'::text]) AND (cardinality(scopes) > 0)))
  constraint tenants_are_some CHECK ((cardinality(tenants) > 0))
  CREATE INDEX keys_by_replaced ON tock.keys USING btree (replaces)
  CREATE UNIQUE INDEX keys_replaced_by_one ON tock.keys USING btree (replaces) WHERE (revoked_at IS NULL)

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
  skipped integer not null default 0
  skips bigint[]
  timeout_at timestamp with time zone
  alone boolean
  constraint leases_pkey PRIMARY KEY (stream, after_position)
  CREATE INDEX leases_by_token ON ONLY tock.leases USING btree (token) WHERE (alone IS NULL)
  CREATE INDEX open_leases_by_deadline ON ONLY tock.leases USING btree (leased_until) WHERE (closed_at IS NULL)

table tock.maintenance_jobs
  name text not null
  every_seconds integer not null
  last_started_at timestamp with time zone
  last_ok_at timestamp with time zone
  last_seconds double precision
  last_amount integer
  last_error text
  failures integer not null default 0
  reached_at timestamp with time zone
  swept_at timestamp with time zone
  reached_key text[]
  writers text[] not null default '{}'::text[]
  constraint job_comes_again CHECK (((every_seconds > 0) AND (failures >= 0)))
  constraint maintenance_jobs_pkey PRIMARY KEY (name)

table tock.metrics_cursors
  stream integer not null
  runs_to bigint not null
  leases_to bigint not null
  ready bigint not null
  constraint metrics_cursors_pkey PRIMARY KEY (stream)
  with (fillfactor=50)

table tock.metrics_open_leases
  stream integer not null
  after_position bigint not null
  runs integer not null
  counted bigint[] not null default '{}'::bigint[]
  constraint metrics_open_leases_pkey PRIMARY KEY (stream, after_position)

table tock.metrics_progress
  id boolean not null default true
  from_position bigint not null
  started_at timestamp with time zone
  finished_at timestamp with time zone
  open_stream integer not null default 0
  open_after bigint not null default '-1'::integer
  stream integer not null default 0
  closed integer[] not null default '{}'::integer[]
  constraint metrics_progress_pkey PRIMARY KEY (id)

table tock.migrations
  number integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
  constraint migrations_pkey PRIMARY KEY (number)

table tock.moves
  id bigint not null
  moved_at timestamp with time zone not null default now()
  constraint moves_pkey PRIMARY KEY (id)

table tock.pool_members
  number bigint not null
  pool text not null
  worker text
  task text
  joined boolean not null default false
  offered boolean not null default false
  turn bigint
  lease_seconds integer not null default 60
  since timestamp with time zone not null default now()
  leased_until timestamp with time zone not null default 'infinity'::timestamp with time zone
  check_at timestamp with time zone not null default 'infinity'::timestamp with time zone
  constraint pool_members_pkey PRIMARY KEY (number)
  CREATE INDEX free_workers ON tock.pool_members USING btree (pool, turn) WHERE (task IS NULL)
  CREATE INDEX pool_members_by_check ON tock.pool_members USING btree (pool, check_at) WHERE (check_at < 'infinity'::timestamp with time zone)
  CREATE UNIQUE INDEX pool_members_by_task ON tock.pool_members USING btree (pool, task) WHERE (task IS NOT NULL)
  CREATE UNIQUE INDEX pool_members_by_worker ON tock.pool_members USING btree (pool, worker) WHERE (worker IS NOT NULL)
  CREATE INDEX waiting_tasks ON tock.pool_members USING btree (pool, turn) WHERE (worker IS NULL)
  with (fillfactor=80)

table tock.progress
  "position" bigint not null
  reported_at timestamp with time zone not null default clock_timestamp()
  stream integer not null
  progress real
  of_all boolean not null
  note text
  constraint progress_is_0_to_100 CHECK (((progress >= (0)::double precision) AND (progress <= (100)::double precision)))
  constraint progress_pkey PRIMARY KEY ("position", stream, of_all)
  with (fillfactor=50)

table tock.promotions
  "position" bigint not null
  run_id bigint not null
  due_at timestamp with time zone not null
  promoted_at timestamp with time zone not null default now()
  constraint promotions_pkey PRIMARY KEY ("position")
  CREATE INDEX promotions_by_due ON tock.promotions USING btree (due_at)
  CREATE INDEX promotions_by_run ON tock.promotions USING brin (run_id)
  CREATE INDEX promotions_to_waiting ON tock.promotions USING btree (run_id) WHERE ((run_id & (1048575)::bigint) = 0)

table tock.queue_limiter_state
  number bigint not null
  taken_at timestamp with time zone not null default clock_timestamp()
  level double precision
  limited_at timestamp with time zone
  seen_at timestamp with time zone
  queue text not null
  leases uuid[]
  constraint queue_limiter_state_pkey PRIMARY KEY (queue, number)

table tock.queue_metrics
  queue text not null
  at timestamp with time zone not null
  width_seconds integer not null
  enqueued bigint not null default 0
  started bigint not null default 0
  passed bigint not null default 0
  done bigint not null default 0
  failed bigint not null default 0
  lost bigint not null default 0
  dead bigint not null default 0
  cancelled bigint not null default 0
  returned bigint not null default 0
  ready bigint
  running bigint
  waiting bigint
  oldest_ready_seconds double precision
  wait_seconds double precision not null default 0
  run_seconds double precision not null default 0
  wait bigint[]
  run bigint[]
  constraint queue_metrics_pkey PRIMARY KEY (queue, at, width_seconds)
  constraint width_is_a_minute_or_an_hour CHECK ((width_seconds = ANY (ARRAY[60, 3600])))
  CREATE INDEX queue_metrics_by_time ON tock.queue_metrics USING btree (width_seconds, at)

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
  retention_seconds integer not null default 604800
  pause_after_restore boolean not null default false
  home bigint
  heavy jsonb not null default '{}'::jsonb
  backoff_kind text not null default 'exponential'::text
  timeout_seconds integer
  max_wait_seconds integer
  concurrency_limit integer not null default 1
  concurrency_retry text not null default 'keep'::text
  concurrency_rate_limit integer
  concurrency_rate_seconds integer not null default 1
  concurrency_rate_burst integer
  max_running integer
  rate_limit integer
  rate_seconds integer not null default 1
  rate_burst integer
  limited_at timestamp with time zone
  keep_results boolean not null default true
  push jsonb
  push_generation integer not null default 1
  push_previous_until timestamp with time zone
  dead_webhook jsonb
  constraint attempts_are_1_to_1000 CHECK (((max_attempts >= 1) AND (max_attempts <= 1000)))
  constraint backoff_base_is_up_to_a_day CHECK (((backoff_base_seconds >= (0)::double precision) AND (backoff_base_seconds <= (86400)::double precision)))
  constraint backoff_cap_is_up_to_a_month CHECK (((backoff_cap_seconds >= (0)::double precision) AND (backoff_cap_seconds <= (2678400)::double precision)))
  constraint backoff_factor_is_1_to_10 CHECK (((backoff_factor >= (1)::double precision) AND (backoff_factor <= (10)::double precision)))
  constraint backoff_jitter_is_a_share CHECK (((backoff_jitter >= (0)::double precision) AND (backoff_jitter <= (1)::double precision)))
  constraint backoff_kind_is_known CHECK ((backoff_kind = ANY (ARRAY['fixed'::text, 'linear'::text, 'exponential'::text])))
  constraint concurrency_limit_is_1_to_1000 CHECK (((concurrency_limit >= 1) AND (concurrency_limit <= 1000)))
  constraint concurrency_rate_is_1_to_a_million CHECK ((((concurrency_rate_limit >= 1) AND (concurrency_rate_limit <= 1000000)) AND ((concurrency_rate_burst >= 1) AND (concurrency_rate_burst <= 1000000))))
  constraint concurrency_rate_is_by_up_to_a_day CHECK (((concurrency_rate_seconds >= 1) AND (concurrency_rate_seconds <= 86400)))
  constraint concurrency_retry_is_known CHECK ((concurrency_retry = ANY (ARRAY['keep'::text, 'yield'::text])))
  constraint dead_webhook_is_an_object CHECK ((jsonb_typeof(dead_webhook) = 'object'::text))
  constraint default_policy_has_no_push CHECK (((name <> '*'::text) OR (push IS NULL)))
  constraint heavy_is_an_object CHECK ((jsonb_typeof(heavy) = 'object'::text))
  constraint lanes_are_1_to_64 CHECK (((lanes >= 1) AND (lanes <= 64)))
  constraint lease_lasts_up_to_a_day CHECK (((lease_seconds >= 1) AND (lease_seconds <= 86400)))
  constraint lost_runs_are_1_to_1000 CHECK (((max_lost >= 1) AND (max_lost <= 1000)))
  constraint max_running_is_1_to_10000 CHECK (((max_running >= 1) AND (max_running <= 10000)))
  constraint max_wait_is_up_to_ten_years CHECK (((max_wait_seconds >= 1) AND (max_wait_seconds <= 315360000)))
  constraint name_is_short_and_plain CHECK (((name = '*'::text) OR (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'::text)))
  constraint payload_is_up_to_4_mib CHECK (((max_payload_bytes >= 1024) AND (max_payload_bytes <= 4194304)))
  constraint push_generation_is_positive CHECK ((push_generation > 0))
  constraint push_is_an_object CHECK ((jsonb_typeof(push) = 'object'::text))
  constraint queues_pkey PRIMARY KEY (name)
  constraint rate_is_1_to_a_million CHECK ((((rate_limit >= 1) AND (rate_limit <= 1000000)) AND ((rate_burst >= 1) AND (rate_burst <= 1000000))))
  constraint rate_is_by_up_to_a_day CHECK (((rate_seconds >= 1) AND (rate_seconds <= 86400)))
  constraint retention_is_a_minute_to_ten_years CHECK (((retention_seconds >= 60) AND (retention_seconds <= 315360000)))
  constraint timeout_is_up_to_a_month CHECK (((timeout_seconds >= 1) AND (timeout_seconds <= 2678400)))
  CREATE INDEX queues_with_dead_webhook ON tock.queues USING btree (name) WHERE (dead_webhook IS NOT NULL)
  CREATE INDEX queues_with_push ON tock.queues USING btree (name) WHERE (push IS NOT NULL)

table tock.reports
  number bigint not null
  reported_at timestamp with time zone not null default clock_timestamp()
  kind text not null
  detail jsonb not null
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['verify_segments'::text, 'guard'::text])))
  constraint reports_pkey PRIMARY KEY (number)
  CREATE INDEX reports_by_time ON tock.reports USING btree (reported_at)

table tock.requests
  verb text not null
  queue text not null
  request_id text not null
  digest bigint not null
  ids bigint[]
  token uuid
  created_at timestamp with time zone not null default now()
  answer jsonb
  constraint answer_is_of_ids CHECK (((answer IS NULL) OR (ids IS NOT NULL)))
  constraint request_gave_something CHECK (((ids IS NULL) <> (token IS NULL)))
  constraint requests_pkey PRIMARY KEY (queue, verb, request_id)
  CREATE INDEX requests_by_age ON tock.requests USING btree (created_at)

table tock.reruns
  of_id bigint not null
  id bigint not null
  created_at timestamp with time zone not null default now()
  number integer not null
  kind text not null
  reason text
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['rerun'::text, 'redrive'::text, 'fork'::text])))
  constraint rerun_is_another_task CHECK ((id <> of_id))
  constraint reruns_are_counted CHECK ((number > 0))
  constraint reruns_pkey PRIMARY KEY (of_id, number)
  CREATE INDEX reruns_by_id ON tock.reruns USING btree (id)

table tock.results -- partition by RANGE ("position")
  "position" bigint not null
  next_id bigint
  ended_at timestamp with time zone not null default now()
  stream integer not null
  state text not null
  result jsonb
  error jsonb
  constraint results_pkey PRIMARY KEY (stream, "position")
  constraint state_is_known CHECK ((state = ANY (ARRAY['done'::text, 'failed'::text, 'lost'::text, 'cancelled'::text, 'superseded'::text, 'expired'::text])))
  constraint the_cancelled_and_expired_end CHECK (((next_id IS NULL) OR (state <> ALL (ARRAY['cancelled'::text, 'expired'::text]))))
  CREATE INDEX dead_results ON ONLY tock.results USING btree (stream, "position") WHERE ((next_id IS NULL) AND (state = ANY (ARRAY['failed'::text, 'lost'::text])))

table tock.run_overrides -- partition by RANGE ("position")
  "position" bigint not null
  other_id bigint
  created_at timestamp with time zone not null default now()
  stream integer not null
  kind text not null
  changes jsonb
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['cancelled'::text, 'superseded'::text, 'amended'::text])))
  constraint pending_change_has_changes CHECK (((changes IS NOT NULL) OR (kind <> 'amended'::text)))
  constraint run_overrides_pkey PRIMARY KEY (stream, "position", kind)
  constraint superseded_names_the_other CHECK (((other_id IS NOT NULL) = (kind = 'superseded'::text)))

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
  payload json
  options jsonb
  constraint runs_pkey PRIMARY KEY (stream, "position")

table tock.schedule_history
  number bigint not null
  fire_at timestamp with time zone not null
  until_at timestamp with time zone
  due_at timestamp with time zone
  fired_at timestamp with time zone not null default clock_timestamp()
  task_id bigint
  schedule text not null
  outcome text not null
  error text
  constraint fires_are_left_out_up_to_a_later_one CHECK ((until_at >= fire_at))
  constraint outcome_is_known CHECK ((outcome = ANY (ARRAY['fired'::text, 'run'::text, 'overlapped'::text, 'replaced'::text, 'missed'::text, 'failed'::text])))
  constraint schedule_history_pkey PRIMARY KEY (number)
  constraint what_failed_says_why CHECK (((error IS NOT NULL) = (outcome = 'failed'::text)))
  constraint what_fired_made_a_task CHECK (((task_id IS NOT NULL) = (outcome = ANY (ARRAY['fired'::text, 'run'::text]))))
  CREATE INDEX schedule_history_by_due ON tock.schedule_history USING btree (due_at, schedule) WHERE (due_at IS NOT NULL)
  CREATE INDEX schedule_history_by_schedule ON tock.schedule_history USING btree (schedule, number)
  CREATE INDEX schedule_history_by_task ON tock.schedule_history USING btree (task_id, number) WHERE (task_id IS NOT NULL)

table tock.schedule_next_fires
  turn bigint not null
  due_at timestamp with time zone not null
  fire_at timestamp with time zone
  last_fire_at timestamp with time zone
  last_fired_at timestamp with time zone
  last_task_id bigint
  failures integer not null default 0
  schedule text not null
  last_outcome text
  last_error text
  constraint fire_failed_for_a_reason CHECK ((((failures > 0) = (last_error IS NOT NULL)) AND (failures >= 0)))
  constraint last_fire_is_told_whole CHECK ((num_nulls(last_fire_at, last_fired_at, last_outcome) = ANY (ARRAY[0, 3])))
  constraint only_what_has_no_fire_is_never_due CHECK (((fire_at IS NULL) = (due_at = 'infinity'::timestamp with time zone)))
  constraint outcome_is_known CHECK ((last_outcome = ANY (ARRAY['fired'::text, 'run'::text, 'overlapped'::text, 'replaced'::text, 'missed'::text, 'failed'::text])))
  constraint schedule_next_fires_pkey PRIMARY KEY (schedule, turn)
  CREATE INDEX failing_schedules ON tock.schedule_next_fires USING btree (schedule) WHERE (failures > 0)
  CREATE INDEX schedule_next_fires_by_due ON tock.schedule_next_fires USING btree (due_at, schedule)

table tock.schedules
  name text not null
  queue text not null
  payload jsonb
  options jsonb not null default '{}'::jsonb
  cron text
  every_seconds integer
  run_at timestamp with time zone
  time_zone text not null default 'UTC'::text
  jitter_seconds integer not null default 0
  starts_at timestamp with time zone
  ends_at timestamp with time zone
  overlap text not null default 'queue'::text
  missed text not null default 'one'::text
  missed_limit integer not null default 100
  missed_after_seconds integer not null default 60
  fire_as text
  paused_at timestamp with time zone
  created_at timestamp with time zone not null default now()
  updated_at timestamp with time zone not null default now()
  anchor_at timestamp with time zone
  plan cron_plan
  constraint cron_has_its_plan CHECK (((cron IS NULL) = (plan IS NULL)))
  constraint jitter_is_up_to_a_day CHECK (((jitter_seconds >= 0) AND (jitter_seconds <= 86400)))
  constraint missed_after_is_up_to_a_day CHECK (((missed_after_seconds >= 0) AND (missed_after_seconds <= 86400)))
  constraint missed_is_known CHECK ((missed = ANY (ARRAY['one'::text, 'skip'::text, 'all'::text])))
  constraint missed_limit_is_1_to_1000 CHECK (((missed_limit >= 1) AND (missed_limit <= 1000)))
  constraint overlap_is_known CHECK ((overlap = ANY (ARRAY['queue'::text, 'skip'::text, 'replace'::text])))
  constraint period_has_its_anchor CHECK (((every_seconds IS NULL) = (anchor_at IS NULL)))
  constraint period_is_up_to_ten_years CHECK (((every_seconds >= 1) AND (every_seconds <= 315360000)))
  constraint schedule_ends_after_it_starts CHECK ((ends_at > starts_at))
  constraint schedule_has_one_timing CHECK ((num_nonnulls(cron, every_seconds, run_at) = 1))
  constraint schedules_pkey PRIMARY KEY (name)
  CREATE INDEX schedules_by_queue ON tock.schedules USING btree (queue, name)

table tock.segment_templates
  name text not null
  kind text not null
  file text not null
  body text not null
  constraint segment_templates_pkey PRIMARY KEY (name)
  constraint template_is_of_a_kind CHECK ((kind = ANY (ARRAY['segment'::text, 'current'::text])))

table tock.segments
  number integer not null
  first_position bigint not null
  end_position bigint not null
  made_at timestamp with time zone not null default now()
  writers_at_end text[]
  closed_at timestamp with time zone
  started_at timestamp with time zone
  verified_at timestamp with time zone
  verify_stream integer
  verify_position bigint
  verify_runs bigint
  queues text[] not null default '{}'::text[]
  dead jsonb not null default '{}'::jsonb
  drop_after timestamp with time zone
  drop_tries integer not null default 0
  counted boolean not null default false
  early boolean not null default false
  steps_moved_to bigint
  constraint drops_are_counted CHECK ((drop_tries >= 0))
  constraint only_what_has_ended_is_closed CHECK (((closed_at IS NULL) OR (writers_at_end IS NOT NULL)))
  constraint only_what_is_closed_is_verified CHECK (((verified_at IS NULL) OR (closed_at IS NOT NULL)))
  constraint segment_has_a_number CHECK (((number > 0) AND (first_position >= 0)))
  constraint segment_is_a_range CHECK ((end_position > first_position))
  constraint segments_do_not_overlap EXCLUDE USING gist (int8range(first_position, end_position) WITH &&)
  constraint segments_first_position_key UNIQUE (first_position)
  constraint segments_pkey PRIMARY KEY (number)

table tock.steps -- partition by RANGE ("position")
  "position" bigint not null
  task_id bigint not null
  saved_at timestamp with time zone not null default clock_timestamp()
  due_at timestamp with time zone
  child_id bigint
  version integer
  unused boolean not null default false
  kind text not null
  state text not null
  name text not null
  event text
  result jsonb
  error jsonb
  constraint only_a_wait_has_an_event CHECK (((event IS NOT NULL) = (kind = 'event'::text)))
  constraint only_an_invocation_has_a_child CHECK (((child_id IS NOT NULL) = (kind = 'child'::text)))
  constraint step_is_of_a_kind CHECK ((kind = ANY (ARRAY['step'::text, 'sleep'::text, 'event'::text, 'child'::text, 'link'::text])))
  constraint step_state_is_known CHECK ((state = ANY (ARRAY['done'::text, 'failed'::text, 'timed_out'::text, 'retrying'::text, 'waiting'::text])))
  constraint step_that_waits_is_due CHECK (((due_at IS NOT NULL) = (state = ANY (ARRAY['retrying'::text, 'waiting'::text]))))
  constraint steps_pkey PRIMARY KEY (task_id, name, "position")

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

table tock.totals
  queue text not null
  enqueued bigint not null default 0
  started bigint not null default 0
  passed bigint not null default 0
  done bigint not null default 0
  failed bigint not null default 0
  lost bigint not null default 0
  dead bigint not null default 0
  cancelled bigint not null default 0
  returned bigint not null default 0
  ready bigint not null default 0
  running bigint not null default 0
  waiting bigint not null default 0
  dead_now bigint not null default 0
  leases bigint not null default 0
  oldest_ready_at timestamp with time zone
  wait_seconds double precision not null default 0
  run_seconds double precision not null default 0
  wait bigint[]
  run bigint[]
  constraint totals_pkey PRIMARY KEY (queue)
  with (fillfactor=50)

table tock.unique_keys
  number bigint not null
  task_id bigint not null
  until timestamp with time zone
  changed_at timestamp with time zone
  created_at timestamp with time zone not null default clock_timestamp()
  written_at timestamp with time zone not null default clock_timestamp()
  queue text not null
  unique_key text not null
  constraint admissions_are_counted CHECK ((number > 0))
  constraint unique_keys_pkey PRIMARY KEY (queue, unique_key, number)
  CREATE INDEX unique_keys_by_age ON tock.unique_keys USING btree (queue, written_at) WHERE (number > 0)

table tock.wait_list_cursors
  pool text not null
  line text not null
  number bigint not null
  reached bigint not null
  rest_until timestamp with time zone
  made_at timestamp with time zone not null default now()
  constraint list_is_known CHECK ((line = ANY (ARRAY['free'::text, 'waiting'::text])))
  constraint wait_list_cursors_pkey PRIMARY KEY (pool, line, number)

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
  payload json
  options jsonb
  concurrency_key text
  ticket bigint
  due_after_parents timestamp with time zone
  waits_for text
  constraint dependent_has_no_ticket CHECK (((due_after_parents IS NULL) OR (ticket IS NULL)))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))
  constraint run_was_lost_less_often_than_begun CHECK (((lost >= 0) AND (attempt > lost)))
  constraint step_waits_for_event_or_child CHECK ((waits_for = ANY (ARRAY['event'::text, 'child'::text])))
  constraint ticket_is_for_a_concurrency_key CHECK (((ticket IS NULL) OR (concurrency_key IS NOT NULL)))
  constraint waiting_pkey PRIMARY KEY ("position")
  CREATE INDEX waiting_at_concurrency_keys ON tock.waiting USING btree (queue, concurrency_key, ticket) WHERE ((ticket IS NOT NULL) AND (lost >= 0))
  CREATE INDEX waiting_by_due ON tock.waiting USING btree (due_at, "position") WHERE (lost >= 0)
  CREATE INDEX waiting_by_position ON tock.waiting USING btree (queue, "position") WHERE (lost >= 0)
  CREATE INDEX waiting_by_queue ON tock.waiting USING btree (queue, due_at, "position") WHERE (lost >= 0)
  CREATE INDEX waiting_by_task ON tock.waiting USING btree (task_id) WHERE ((task_id IS NOT NULL) AND (lost >= 0))
  CREATE INDEX waiting_for_parents ON tock.waiting USING btree (queue, "position") WHERE ((due_after_parents IS NOT NULL) AND (lost >= 0))
  CREATE INDEX waiting_for_parents_by_position ON tock.waiting USING btree ("position") WHERE ((due_after_parents IS NOT NULL) AND (lost >= 0))
  CREATE INDEX waiting_in_steps ON tock.waiting USING btree (queue, waits_for, "position") WHERE ((waits_for IS NOT NULL) AND (lost >= 0))

table tock.worker_leases
  queue text not null
  worker text not null
  token uuid
  claimed_at timestamp with time zone not null default now()
  constraint worker_leases_pkey PRIMARY KEY (queue, worker)
  CREATE INDEX worker_leases_by_time ON tock.worker_leases USING btree (claimed_at)

sequence tock.archived_files_number_seq 1 to 9223372036854775807 cache 1

sequence tock.audit_log_numbers 1 to 9223372036854775807 cache 1

sequence tock.bulk_changes_id_seq 1 to 9223372036854775807 cache 1

sequence tock.dead_task_event_numbers 1 to 9223372036854775807 cache 1

sequence tock.dependency_rechecks_number_seq 1 to 9223372036854775807 cache 1

sequence tock.pool_member_numbers 1 to 9223372036854775807 cache 1

sequence tock.positions 1 to 8796093022207 cache 1

sequence tock.reports_number_seq 1 to 9223372036854775807 cache 1

sequence tock.schedule_history_number_seq 1 to 9223372036854775807 cache 1

sequence tock.stream_numbers 1 to 1048575 cache 1

sequence tock.system_identity -9223372036854775808 to 9223372036854775807 cache 1

type tock.archive_rows (count integer, digest text, texts text, last_stream integer, last_position bigint, first_created_at timestamp with time zone, last_created_at timestamp with time zone, queues text[], begun bigint[])

type tock.candidate (stream integer, priority smallint, after_position bigint)

type tock.claim_range (segment integer, stream integer, after_position bigint, most integer, bytes integer, one boolean, token uuid, worker text, leased_until timestamp with time zone, max_attempts smallint, priority smallint)

type tock.claimed (lease uuid, leased_until timestamp with time zone, id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text, created_at timestamp with time zone, payload json)

type tock.claimed_from (queue text, lease uuid, leased_until timestamp with time zone, id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text, created_at timestamp with time zone, payload json)

type tock.claiming (repeated uuid, allowed integer, bytes integer, leased_until timestamp with time zone, max_attempts smallint, digest bigint, limiter_state limiter_state, late boolean)

type tock.completion (good bigint[], ended ending[], spawning leased_run[], fields text[])

type tock.continuation (queue text, waits boolean, payload jsonb, unchanged boolean)

type tock.cron_plan (seconds bigint, minutes bigint, hours bigint, days bigint, months bigint, nearest bigint, weekdays smallint[], last_day boolean, last_workday boolean, any_day boolean, any_weekday boolean, both_days boolean, fixed boolean)

type tock.dependent (position bigint, upto integer, verdict text, parent bigint, current_id bigint, state text)

type tock.ending (stream integer, position bigint, state text, result jsonb, error jsonb, again_at timestamp with time zone, attempt smallint, lost smallint, queue text, payload jsonb)

type tock.firing_plan (fires timestamp with time zone[], missed_from timestamp with time zone, missed_until timestamp with time zone, next_fire_at timestamp with time zone, next_due_at timestamp with time zone)

type tock.found_run (id bigint, task_id bigint, queue text, priority smallint, tenant text, attempt smallint, max_attempts smallint, lost smallint, created_at timestamp with time zone, payload json, state text, worker text, started_at timestamp with time zone, ended_at timestamp with time zone, result jsonb, error jsonb, next_id bigint, cancel_requested boolean, options jsonb, leased_until timestamp with time zone, progress real, note text)

type tock.lease_span (stream integer, after_position bigint, last_position bigint, skips bigint[])

type tock.leased_run (n bigint, id bigint, stream integer, position bigint, queue text, attempt smallint, lost smallint, max_attempts smallint, state text, result jsonb, error jsonb, next_id bigint)

type tock.limiter_state (number bigint, taken_at timestamp with time zone, seen_at timestamp with time zone, level double precision, running integer, leases uuid[], allowed integer, after_seconds integer, unwritten boolean)

type tock.next_attempt (n bigint, stream integer, position bigint, task_id bigint, attempt smallint, max_attempts smallint, tenant text, created_at timestamp with time zone, bytes integer, payload_of bigint, queue text, priority smallint, lane smallint, due_at timestamp with time zone, cancelled boolean, lost smallint, stage_after bigint)

type tock.passed (after_position bigint, skips bigint[], upto bigint, timeout_seconds integer, passed integer)

type tock.pending_change (id bigint, cancelled boolean, changes jsonb)

type tock.reaped (runs integer, reached_at timestamp with time zone)

type tock.resolved_task (n bigint, task_id bigint, current_id bigint, state text, queue text)

type tock.shown_schedule (name text, state text, queue text, payload jsonb, options jsonb, cron text, every_seconds integer, run_at timestamp with time zone, time_zone text, jitter_seconds integer, starts_at timestamp with time zone, ends_at timestamp with time zone, overlap text, missed text, missed_limit integer, missed_after_seconds integer, fire_as text, paused_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, next_fire_at timestamp with time zone, due_at timestamp with time zone, last_fire_at timestamp with time zone, last_fired_at timestamp with time zone, last_outcome text, last_task_id bigint, last_error text, failures integer)

type tock.stream_cursor (segment integer, after_position bigint)

type tock.stream_scan (segment integer, due boolean, streams candidate[])

function tock.acquire_from_limiter(p_queue text, p_policy queues, p_wait boolean)
  returns limiter_state
  -- no comment

function tock.add_dead_task_events_1(p_ended ending[], p_queues text[])
  returns void
  -- no comment

function tock.add_pending_changes(p_found resolved_task[], p_changes jsonb)
  returns void
  -- no comment

function tock.add_tasks(p_pool text, p_tasks text[])
  returns integer
  -- Adds tasks to a pool for workers to take, in this order; tasks that are in it already stay as they are. Returns the number added.
  -- for tock_admin, tock_edge, tock_producer

function tock.admit_at_keys(p_queues text[], p_concurrency_keys text[], p_wait boolean DEFAULT true)
  returns void
  -- no comment

function tock.admit_in_queue(p_queue text)
  returns void
  -- no comment

function tock.admit_waiters(p_locked concurrency_keys[], p_sweep boolean DEFAULT false)
  returns integer
  -- no comment

function tock.adopt_queue(p_queue jsonb, p_keys jsonb)
  returns void
  -- no comment

function tock.adopt_requests(p_requests jsonb)
  returns void
  -- no comment

function tock.adopt_schedules(p_taken jsonb)
  returns void
  -- no comment

function tock.advance_start()
  returns void
  -- no comment

function tock.after_append(p_waiting bigint[], p_parents bigint[], p_parts bigint[])
  returns void
  -- no comment

function tock.after_claim(p_queue text, p_policy queues, p_asked limiter_state, p_token uuid, p_started integer)
  returns void
  -- no comment

function tock.after_complete(p_segment integer, p_runs leased_run[], p_results jsonb)
  returns void
  -- no comment

function tock.after_runs_ended(p_segment integer, p_ended ending[])
  returns void
  -- no comment

function tock.after_sweep()
  returns integer
  -- no comment

function tock.ago(p_at timestamp with time zone)
  returns text
  -- no comment

function tock.allows_simple(p_key text, p_scope text, p_queue text)
  returns boolean
  -- no comment

function tock.append_any(p_queue text, p_tasks jsonb, p_policy queues, p_payloads json DEFAULT NULL::json)
  returns bigint[]
  -- no comment

function tock.append_one(p_queue text, p_payload text)
  returns bigint
  -- no comment

function tock.append_plain(p_queue text, p_tasks jsonb, p_payloads json, p_max_payload_bytes integer)
  returns bigint[]
  -- no comment

function tock.append_round(p_queue text, p_tasks jsonb, p_again boolean[], p_policy queues)
  returns bigint[]
  -- no comment

function tock.append_to_wait_list(p_pool text, p_worker text, p_task text, p_lease_seconds integer, p_until timestamp with time zone)
  returns boolean
  -- no comment

function tock.append_unique(p_queue text, p_tasks jsonb, p_policy queues)
  returns bigint[]
  -- no comment

function tock.append_with_keys(p_queue text, p_tasks jsonb, p_policy queues)
  returns bigint[]
  -- no comment

function tock.apply_pending_changes(p_again next_attempt[])
  returns next_attempt[]
  -- no comment

function tock.archive()
  returns TABLE(enabled boolean, prefix text, waiting integer, oldest_waiting_at timestamp with time zone, exported integer, files bigint, rows bigint, bytes bigint, erasures_pending integer, objects_unwanted integer, last_step_at timestamp with time zone, failures integer, failed_at timestamp with time zone, last_error text)
  -- The state of the archive: whether it is on, how many segments wait for it and are in it, its files, and the outcome of its last step.
  -- for tock_admin, tock_edge

function tock.archive_abandoned(p_path text)
  returns boolean
  -- Gives up an object that was to become a file; false if it has become one.
  -- for tock_admin, tock_edge

function tock.archive_deleted(p_paths text[])
  returns integer
  -- Records that unwanted objects were deleted; returns the number.
  -- for tock_admin, tock_edge

function tock.archive_emptied(p_options text[])
  returns text[]
  -- The options of erased runs without their secrets.
  -- for tock_admin, tock_edge

function tock.archive_erased(p_task_id bigint, p_file bigint)
  returns boolean
  -- Records that the files up to p_file no longer hold the data of an erased task; true after the last file.
  -- for tock_admin, tock_edge

function tock.archive_erasing(p_limit integer DEFAULT 4)
  returns TABLE(task_id bigint, files jsonb, erased bigint[])
  -- The next task to erase from the archive, the next files that may hold its runs, and all tasks to erase; no row if there is none.
  -- for tock_admin, tock_edge

function tock.archive_part(p_limit integer DEFAULT 10000, p_bytes bigint DEFAULT 4194304)
  returns TABLE(segment integer, part integer, path text, count integer, digest text, rows text)
  -- The next part of the oldest segment past its retention: its runs as texts, their digest, and the path reserved for its file; no row if nothing is due. A segment whose parts are all recorded is verified on the way.
  -- for tock_admin, tock_edge

function tock.archive_rewriting(p_path text)
  returns text
  -- The reserved path of a file that will replace another one; null if that file no longer exists.
  -- for tock_admin, tock_edge

function tock.archive_rewritten(p_path text, p_new text, p_bytes bigint, p_sha256 text, p_digest text)
  returns boolean
  -- Replaces a file with one from which tasks were erased; TK409 if another call was first. A repeated call returns the same.
  -- for tock_admin, tock_edge

function tock.archive_rows(p_segment integer, p_stream integer, p_position bigint, p_last_stream integer, p_last_position bigint, p_limit integer, p_bytes bigint)
  returns archive_rows
  -- no comment

function tock.archive_search(p_queue text, p_from timestamp with time zone, p_to timestamp with time zone, p_segment integer DEFAULT NULL::integer, p_part integer DEFAULT NULL::integer, p_limit integer DEFAULT 4)
  returns TABLE(files jsonb, erased text[], from_micros text, to_micros text)
  -- The newest files of the archive, from a part on, that may have tasks of a queue created in a period; the tasks with a pending erasure (null if they are too many to list), and the period in microseconds.
  -- for tock_admin, tock_edge

function tock.archive_segment_of(p_position bigint)
  returns integer
  -- no comment

function tock.archive_unwanted(p_limit integer DEFAULT 20)
  returns text[]
  -- Objects to delete: they are no longer files of the archive, or never were.
  -- for tock_admin, tock_edge

function tock.archived(p_path text, p_bytes bigint, p_sha256 text, p_rows integer, p_digest text)
  returns boolean
  -- Records the file of a part after it was read back and verified; TK409 if it differs from the present content of the segment, or if another call was first. A repeated call returns the same.
  -- for tock_admin, tock_edge

function tock.archived_run(p_archived found_run[], p_id bigint, p_task_id bigint)
  returns found_run
  -- no comment

function tock.archived_runs(p_rows jsonb)
  returns found_run[]
  -- no comment

function tock.arrived_runs_1(p_stream integer, p_runs_to bigint, p_leases_to bigint)
  returns TABLE(runs bigint, leased bigint, last_position bigint)
  -- no comment

function tock.assign_task(p_pool text, p_task text, p_worker text DEFAULT NULL::text, p_lease_seconds integer DEFAULT NULL::integer, p_wait boolean DEFAULT false)
  returns TABLE(state text, worker text, fencing_token bigint, leased_until timestamp with time zone)
  -- Assigns a task to the worker that has been free for longest, or to p_worker, whether it has joined or not. State: assigned; held with its worker, if it was assigned before; none if no worker is free (with p_worker: it holds another task), or with p_wait waiting until a worker takes it.
  -- for tock_admin, tock_edge, tock_producer

function tock.assign_tasks(p_pool text, p_tasks text[], p_lease_seconds integer DEFAULT NULL::integer)
  returns TABLE(task text, state text, worker text, fencing_token bigint, leased_until timestamp with time zone)
  -- Like assign_task() for up to 10,000 tasks: each gets its own free worker while there are any. Returns them in the order given, with the states assigned, held, waiting, none, and busy for a task that another call is assigning.
  -- for tock_admin, tock_edge, tock_producer

function tock.audit_log(p_key text DEFAULT NULL::text, p_verb text DEFAULT NULL::text, p_object text DEFAULT NULL::text, p_before bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 100)
  returns TABLE(number bigint, at timestamp with time zone, role text, key text, key_name text, verb text, object text, detail jsonb)
  -- The audit log, the newest first: all entries, or those of a key (by prefix), a verb or an object; p_before is the last number of the previous page.
  -- for tock_admin, tock_edge

function tock.authorize(p_key text, p_scope text, p_queue text DEFAULT NULL::text, p_own boolean DEFAULT false, p_again boolean DEFAULT false)
  returns boolean
  -- True if a key has a scope, for a queue if one is given; otherwise raises TK401, TK403, or TK429 if its rate is used up (not for the repetitions of a waiting call, p_again). A key for some tenants passes only if the caller restricts itself to their tasks (p_own).
  -- for tock_edge

function tock.authorize_archived(p_key text, p_scope text, p_tenant text, p_queue text, p_options jsonb)
  returns boolean
  -- no comment

function tock.authorize_end(p_key text, p_lease uuid, p_results jsonb, p_field text, p_again boolean)
  returns void
  -- no comment

function tock.authorize_steps(p_key text, p_lease uuid, p_steps jsonb)
  returns boolean
  -- authorize() for POST /v1/leases/:lease/steps: the queue of the lease, the queues of events, and those of invoked tasks.
  -- for tock_edge

function tock.authorize_tasks(p_key text, p_tasks jsonb, p_field text)
  returns void
  -- no comment

function tock.awaited_runs(p_parents bigint[], p_children bigint[])
  returns bigint[]
  -- no comment

function tock.backoff_error(p_backoff jsonb)
  returns text[]
  -- no comment

function tock.backoff_seconds(p_policy queues, p_failures integer)
  returns double precision
  -- no comment

function tock.before_append(p_queue text, p_tasks jsonb, p_policy queues)
  returns void
  -- no comment

function tock.before_claim(p_queue text, p_policy queues, p_wait boolean)
  returns limiter_state
  -- no comment

function tock.before_complete(p_results jsonb)
  returns boolean
  -- no comment

function tock.before_next_attempts(p_again next_attempt[], p_fields text[])
  returns void
  -- no comment

function tock.before_promotion(p_sweep boolean)
  returns void
  -- no comment

function tock.before_segment_drop(p_segment segments)
  returns boolean
  -- no comment

function tock.begin_claim(p_queue text, p_worker text, p_limit integer, p_lease_seconds integer, p_request_id text, p_own_transaction boolean, p_bytes integer)
  returns claiming
  -- no comment

function tock.begin_wait(p_position bigint, p_run_id bigint, p_result jsonb, p_field text)
  returns void
  -- no comment

function tock.bounds()
  returns double precision[]
  -- no comment

function tock.bucket_of(p_seconds double precision)
  returns integer
  -- no comment

function tock.bulk_changes(p_queue text DEFAULT NULL::text, p_id bigint DEFAULT NULL::bigint, p_before bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 100)
  returns TABLE(id bigint, change text, queue text, filter jsonb, options jsonb, role text, key text, key_name text, created_at timestamp with time zone, state text, matched bigint, changed bigint, error text, ended_at timestamp with time zone)
  -- Bulk changes of all queues or one, the newest first: who started each, how many tasks have matched and were changed so far, its state (running, done, stopped, failed) and the error of its last page. p_before is the last id of the previous page. Ended ones are kept for 30 days.
  -- for tock_admin, tock_edge, tock_producer

function tock.bulk_page_failed(p_id bigint, p_sqlstate text, p_error text)
  returns void
  -- no comment

function tock.cancel(p_ids bigint[])
  returns TABLE(id bigint, state text, changed boolean)
  -- Cancels up to 10,000 tasks. Waiting and ready ones never start, unless a concurrent claim has them. The worker of a running one gets a cancel request (see extend()), and the task is not retried, or once if its attempt is ending at that moment. Returns one row per task: its state, and whether this call changed anything.
  -- for tock_admin, tock_edge, tock_producer

function tock.cancel_dependents(p_off dependent[])
  returns bigint[]
  -- no comment

function tock.cancel_overdue(p_seconds integer DEFAULT 60)
  returns integer
  -- no comment

function tock.cancel_where(p_queue text, p_filter jsonb DEFAULT '{}'::jsonb, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 1000)
  returns TABLE(matched integer, changed integer, cursor text, scanned integer)
  -- Cancels up to p_limit tasks of a queue ({state: waiting, ready or running, tenant}; without a state the waiting and ready ones) like cancel(). Returns one row: the numbers matched and changed, and the cursor of the next page, null at the end. Pages after the first leave out newer tasks.
  -- for tock_admin, tock_edge, tock_producer

function tock.cancelled_for(p_options jsonb)
  returns jsonb
  -- no comment

function tock.change(p_ids bigint[], p_changes jsonb)
  returns TABLE(id bigint, state text, changed boolean)
  -- Changes priority, run_at (or delay_seconds) or payload of up to 10,000 tasks. For a running task the change applies to its next attempt, or to the one after if its attempt is ending at that moment. Returns one row per task: the state in which it was found, and whether this call changed anything (false if it had ended). Ready tasks are replaced, in up to 1,000 streams a call. Claims skip these streams until the transaction ends, so change in a transaction of its own. TK503 if a stream stays claimed for 2 s, TK409 outside read committed.
  -- for tock_admin, tock_edge, tock_producer

function tock.change_held(p_key unique_keys, p_at resolved_task, p_task jsonb)
  returns boolean
  -- no comment

function tock.change_waiting(p_found resolved_task[], p_changes jsonb)
  returns bigint[]
  -- no comment

function tock.changed_payload(p_id bigint)
  returns jsonb
  -- no comment

function tock.check_changes(p_changes jsonb)
  returns jsonb
  -- no comment

function tock.check_claim(p_queue text, p_worker text, p_limit integer, p_lease_seconds integer)
  returns void
  -- no comment

function tock.check_concurrency_key(p_queue text, p_concurrency_key text)
  returns void
  -- no comment

function tock.check_dead_webhook(p_queue text, p_webhook jsonb)
  returns void
  -- no comment

function tock.check_failures(p_failures jsonb, p_all boolean)
  returns void
  -- no comment

function tock.check_filter(p_filter jsonb, p_states text[], p_limit integer, p_most integer, p_names text[])
  returns void
  -- no comment

function tock.check_ids(p_ids bigint[])
  returns bigint[]
  -- no comment

function tock.check_key(p_key keys)
  returns void
  -- no comment

function tock.check_member(p_pool text, p_worker text, p_task text, p_lease_seconds integer)
  returns void
  -- no comment

function tock.check_new_ids(p_ids bigint[])
  returns void
  -- no comment

function tock.check_not_webhooks(p_queue text, p_field text)
  returns void
  -- no comment

function tock.check_parents(p_children bigint[], p_lock boolean DEFAULT false)
  returns integer
  -- no comment

function tock.check_parents_of_call(p_tasks jsonb)
  returns void
  -- no comment

function tock.check_payload_fits(p_changes jsonb, p_queue text, p_tasks integer)
  returns void
  -- no comment

function tock.check_pipelines(p_queue text, p_tasks jsonb)
  returns void
  -- no comment

function tock.check_policy(p_policy jsonb)
  returns jsonb
  -- no comment

function tock.check_progress(p_progress jsonb)
  returns bigint[]
  -- no comment

function tock.check_push(p_tasks jsonb, p_policy queues)
  returns void
  -- no comment

function tock.check_push_policy(p_queue text, p_push jsonb)
  returns void
  -- no comment

function tock.check_queue(p_queue text, p_field text DEFAULT 'queue'::text, p_status integer DEFAULT 421)
  returns void
  -- no comment

function tock.check_queue_name(p_queue text)
  returns void
  -- no comment

function tock.check_queues(p_queues text[], p_weights integer[])
  returns void
  -- no comment

function tock.check_range(p_value bigint, p_low bigint, p_high bigint, p_field text)
  returns void
  -- no comment

function tock.check_read_committed(p_verb text)
  returns void
  -- no comment

function tock.check_rows(p_rows jsonb, p_field text, p_allowed text[])
  returns void
  -- no comment

function tock.check_schedule(p_schedule text, p_settings jsonb)
  returns schedules
  -- no comment

function tock.check_schedule_settings(p_settings jsonb)
  returns void
  -- no comment

function tock.check_schedule_task(p_schedule schedules)
  returns void
  -- no comment

function tock.check_sequence(p_taken bigint)
  returns void
  -- no comment

function tock.check_spawns(p_results jsonb)
  returns void
  -- no comment

function tock.check_stages_take(p_again next_attempt[], p_fields text[])
  returns void
  -- no comment

function tock.check_steps(p_steps jsonb)
  returns void
  -- no comment

function tock.check_tasks(p_tasks text[], p_most integer)
  returns void
  -- no comment

function tock.check_time_zone(p_zone text)
  returns void
  -- no comment

function tock.check_waiting_ids()
  returns void
  -- no comment

function tock.child_outcomes(p_ids bigint[])
  returns TABLE(id bigint, state text, result jsonb, error jsonb)
  -- no comment

function tock.children(p_id bigint, p_limit integer DEFAULT 100, p_after bigint DEFAULT 0)
  returns TABLE(id bigint, queue text, state text)
  -- The tasks that depend on a task or are parts of it, in the order of their ids, after p_after (up to p_limit, 1,000 at most): those that name it in depends_on or as their parent, as spawned tasks do. Leaves out tasks whose history is gone.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.claim(p_queue text, p_worker text DEFAULT NULL::text, p_limit integer DEFAULT 1, p_lease_seconds integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text, p_own_transaction boolean DEFAULT false, p_bytes integer DEFAULT 4194304)
  returns SETOF claimed
  -- Leases up to p_limit ready runs to a worker, in the order of priorities, and within a priority from the lanes in random order. Returns them with their payloads; no rows if nothing is ready (claim_state() says why). A repeated call with the same request_id returns the same runs while their lease is open (TK409 afterwards). p_own_transaction says that the statement is the whole transaction: the claim then commits asynchronously and promotes due tasks. Other claims skip the streams of this one until its transaction ends. Therefore claim in a separate transaction and complete in yours (TK409 outside read committed). p_bytes bounds the payloads of the first stream; if it is below 4 MiB, a larger run is not claimed.
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_any(p_queues text[], p_worker text DEFAULT NULL::text, p_limit integer DEFAULT 1, p_lease_seconds integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text, p_own_transaction boolean DEFAULT false, p_weights integer[] DEFAULT NULL::integer[])
  returns SETOF claimed_from
  -- claim() from up to 20 queues: from the first all that it has, then from the next with the rest of p_limit, and so on. With p_weights each call draws a random order, so that over many calls the shares follow the weights while all queues have work. The runs of each queue have their own lease. claim_state() says why there are no rows. A repeated call with the same request_id returns what is left of the same leases (TK409 if nothing is).
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_body(p_queue text, p_runs claimed[], p_ended jsonb)
  returns text
  -- The runs of a claim from one queue as the body of the answer, with what next() ended.
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_for_worker(p_queue text, p_worker text, p_lease_seconds integer DEFAULT NULL::integer)
  returns SETOF claimed
  -- Claims one run for a worker that may hold one run of the queue. While its last lease is open, returns that one again with a later deadline.
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_one(p_queue text, p_worker text, p_seconds integer, p_request_id text, p_own_transaction boolean)
  returns claimed
  -- no comment

function tock.claim_state(p_queues text[], OUT state text, OUT retry_after_seconds integer)
  returns record
  -- Says why a claim from these queues returns nothing now. The state "empty" means no ready task, and "paused" a paused queue. With "limited" the limits of the queue allow no more runs or starts. With "busy" other claims hold the tasks, or they have just come. With "passing" the queue has more than the 10,000 cancelled runs that one claim skips: claim again at once. The column retry_after_seconds says when to claim again: 0 if passing, 1 if busy, at the next start that a rate allows if limited, otherwise at the next waiting task, 1 to 30. For several queues, the best state and the soonest time.
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_streams(p_queue text, p_worker text, p_request_id text, p_own_transaction boolean, p_claim claiming)
  returns SETOF claimed
  -- no comment

function tock.claimed_from_queue(p_queue text, p_run claimed)
  returns claimed_from
  -- no comment

function tock.clock_change(p_zone text, p_from bigint, p_to bigint)
  returns bigint
  -- no comment

function tock.clock_offset(p_zone text, p_at bigint)
  returns integer
  -- no comment

function tock.close_ended_1(p_lease uuid, p_segment integer)
  returns boolean
  -- no comment

function tock.close_ended_current(p_lease uuid, p_segment integer)
  returns boolean
  -- no comment

function tock.close_lease(p_lease uuid, p_segment integer)
  returns void
  -- no comment

function tock.close_segments()
  returns integer
  -- no comment

function tock.collect_batch(p_streams integer[], p_open metrics_open_leases[], p_limit integer, OUT unfinished integer[], OUT amount integer)
  returns record
  -- no comment

function tock.collect_metrics(p_limit integer DEFAULT 100000, p_seconds double precision DEFAULT 2)
  returns integer
  -- Counts what has happened since the last call into tock.queue_metrics and tock.totals, in batches of p_limit for up to p_seconds. Returns how many runs, leases and open leases it read. The next call continues with the rest.
  -- for tock_admin

function tock.compile_current()
  returns void
  -- no comment

function tock.compile_segment(p_segment integer)
  returns void
  -- no comment

function tock.compile_template(p_template segment_templates, p_segment segments, p_suffix text, p_valid_until bigint, p_is_current text)
  returns void
  -- no comment

function tock.complete(p_lease uuid, p_results jsonb DEFAULT NULL::jsonb)
  returns TABLE(completed integer, refused bigint[])
  -- Ends runs of a lease as done: all that are left, or those in p_results ([{id, result, stage, spawn}]). A queue without keep_results stores no result. A task with a pipeline continues in its next stage, or in the named one (null ends it), with the result as its payload. spawn ({queue, tasks, wait, on_failure}) enqueues tasks; with wait the task continues when they have ended, with their results. Returns how many runs this call (or the same call before) completed, and the ids that the lease could not complete; no row if the lease has ended.
  -- for tock_admin, tock_edge, tock_worker

function tock.complete_runs(p_lease uuid, p_results jsonb)
  returns TABLE(completed integer, refused bigint[])
  -- no comment

function tock.completion_of(p_runs leased_run[], p_results jsonb, p_options jsonb)
  returns completion
  -- no comment

function tock.concurrency_keys(p_queue text, p_concurrency_key text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns TABLE(concurrency_key text, paused boolean, concurrency_limit integer, concurrency_rate_limit integer, concurrency_rate_seconds integer, concurrency_rate_burst integer, holders bigint[], waiting integer, own_settings text[])
  -- The concurrency keys of a queue that tasks have used or that have settings, after p_after: their settings, holders, number of waiters (up to 1,000), and the names of their own settings.
  -- for tock_admin, tock_edge

function tock.copy_key(p_key jsonb, p_overlap_seconds integer DEFAULT 86400)
  returns boolean
  -- Stores a key that another node has made: the answer of create_key() or rotate_key() there, with its secret, or the row of the key. False if this node has it.
  -- for tock_admin, tock_edge

function tock.count_key_use(p_prefix text)
  returns boolean
  -- no comment

function tock.counts(p_task jsonb, p_state text, p_created_at timestamp with time zone, p_now timestamp with time zone)
  returns boolean
  -- no comment

function tock.create_concurrency_keys(p_queues text[], p_concurrency_keys text[])
  returns void
  -- no comment

function tock.create_event_link(p_event text, p_valid_seconds integer DEFAULT 604800)
  returns TABLE(token text, expires_at timestamp with time zone)
  -- Makes a token with which anyone can signal an event once, by POST /v1/events/:token. Only its hash is stored.
  -- for tock_admin, tock_edge, tock_producer

function tock.create_key(p_name text, p_scopes text[], p_queues text[] DEFAULT NULL::text[], p_tenants text[] DEFAULT NULL::text[], p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_expires_in_seconds double precision DEFAULT NULL::double precision, p_rate_limit integer DEFAULT NULL::integer, p_rate_seconds integer DEFAULT NULL::integer)
  returns TABLE(key text, prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, replaces text)
  -- Makes a key with scopes (enqueue, claim, read, admin) for all or some queues and tenants, with an optional expiry and rate. Returns the secret this once; only its hash is stored.
  -- for tock_admin, tock_edge

function tock.create_next_segment()
  returns void
  -- no comment

function tock.create_segment(p_first bigint, p_end bigint)
  returns void
  -- no comment

function tock.create_segments(p_ahead integer DEFAULT 2, p_width bigint DEFAULT NULL::bigint)
  returns integer
  -- Makes segments until p_ahead exist after the current one (p_width positions each), up to 100 a call. Ends the current segment when it is old, and closes those that are over. Returns the number made, 0 while another transaction does this.
  -- for tock_admin

function tock.create_segments_to(p_position bigint)
  returns void
  -- no comment

function tock.creation_lock_of_key(p_queue text, p_concurrency_key text)
  returns integer
  -- no comment

function tock.cron_after(p_plan cron_plan, p_zone text, p_after timestamp with time zone)
  returns timestamp with time zone
  -- no comment

function tock.cron_days(p_plan cron_plan, p_text text)
  returns cron_plan
  -- no comment

function tock.cron_days_of(p_plan cron_plan, p_first date)
  returns bigint
  -- no comment

function tock.cron_field(p_field text, p_text text)
  returns bigint
  -- no comment

function tock.cron_home()
  returns text
  -- no comment

function tock.cron_interval(p_seconds integer)
  returns text
  -- no comment

function tock.cron_jobs()
  returns TABLE(job text, command text)
  -- no comment

function tock.cron_jobs_list()
  returns TABLE(jobname text, schedule text, active boolean, last_status text, last_at timestamp with time zone)
  -- The pg_cron jobs of Tock with their last run; none if pg_cron is not in this database.
  -- for tock_admin, tock_edge

function tock.cron_names(p_field text, p_item text)
  returns text
  -- no comment

function tock.cron_skipped(p_plan cron_plan, p_change bigint, p_before integer, p_after integer)
  returns boolean
  -- no comment

function tock.cron_time(p_plan cron_plan, p_from integer)
  returns integer
  -- no comment

function tock.cron_version()
  returns text
  -- no comment

function tock.cron_wall(p_plan cron_plan, p_from bigint)
  returns bigint
  -- no comment

function tock.cron_weekdays(p_plan cron_plan, p_text text)
  returns cron_plan
  -- no comment

function tock.current_cursor(p_stream integer)
  returns stream_cursor
  -- no comment

function tock.current_holders(p_queue text, p_keep boolean, p_states resolved_task[], p_lock boolean, OUT holders bigint[], OUT back bigint[])
  returns record
  -- no comment

function tock.current_segment()
  returns integer
  -- no comment

function tock.cursor_of(p_stream integer)
  returns bigint
  -- no comment

function tock.deactivate_idle_streams_1(p_slot integer, p_limit integer)
  returns integer
  -- no comment

function tock.deactivate_streams(p_limit integer DEFAULT 20000)
  returns integer
  -- Puts streams to rest that have no runs above their cursor, so that claims skip them; returns the number.
  -- for tock_admin

function tock.dead_groups(p_queue text, p_limit integer DEFAULT 100, p_scan_limit integer DEFAULT 100000)
  returns TABLE(error text, tasks integer, newest_at timestamp with time zone, newest_id bigint, counted_all boolean)
  -- Dead tasks of a queue that were not run again, grouped by the first 200 characters of their error, the most frequent first, each with its newest task. Scans the newest p_scan_limit dead tasks; counted_all says whether those were all.
  -- for tock_admin, tock_edge, tock_producer

function tock.dead_groups_1(p_queue text, p_scan_limit integer, p_since timestamp with time zone)
  returns TABLE(seen bigint, errors jsonb)
  -- no comment

function tock.dead_in_segment(p_segment integer)
  returns jsonb
  -- no comment

function tock.dead_task_events_due_at()
  returns timestamp with time zone
  -- no comment

function tock.dead_task_events_from()
  returns bigint
  -- no comment

function tock.dedupe_outcomes(p_ended ending[])
  returns ending[]
  -- no comment

function tock.described_session(p_pid integer)
  returns text
  -- no comment

function tock.deserted_pools()
  returns SETOF pool_members
  -- no comment

function tock.doctor()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- All findings: critical ones first, then warnings, then notes, which can wait; each with what to do. No row if all is well.
  -- for tock_admin, tock_edge

function tock.doctor_of_archive()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_concurrency_keys()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_cron()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_cron_jobs()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_cron_notes(p_bytes bigint DEFAULT 67108864)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_dead_tasks()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_directory()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_horizon(p_transactions integer DEFAULT 5000000)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_keys()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_maintenance()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_parents()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_pools()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_positions()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_push()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_queues()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_range()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_reports()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_schedules()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_segments()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_sessions(p_age interval DEFAULT '00:10:00'::interval)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_settings()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_slots()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_steps()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.doctor_of_vacuum(p_age integer DEFAULT 1000000000)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.drop_expired_segments()
  returns integer
  -- Drops the oldest verified segment after its longest retention, one per call; while the archive is on, only a segment that lies there verified. Returns 1 if it did anything.
  -- for tock_admin

function tock.drop_key_counters(p_prefix text)
  returns void
  -- no comment

function tock.drop_queue(p_queue text, p_force boolean DEFAULT false)
  returns TABLE(dropped boolean, ready bigint, running bigint, waiting bigint)
  -- Purges a paused queue (any queue with p_force). If nothing in it is unfinished, also deletes its policy, concurrency keys and unique keys; otherwise returns what is left: call again. Its ended tasks are kept by the default policy. No row if there is no such queue. A later task with this queue name makes it again.
  -- for tock_admin, tock_edge

function tock.drop_schedule(p_schedule text)
  returns boolean
  -- Deletes a schedule; the tasks that it has fired stay. False if there is none.
  -- for tock_admin, tock_edge

function tock.drop_segment_tables(p_segment integer)
  returns void
  -- no comment

function tock.due_of(p_schedule schedules, p_fire_at timestamp with time zone)
  returns timestamp with time zone
  -- no comment

function tock.durations(p_counts bigint[], p_seconds double precision)
  returns jsonb
  -- no comment

function tock.enable_archive_by_default()
  returns boolean
  -- Turns the archive on if it was never turned on or off; returns whether it is on. A server with an object store calls this before history is dropped.
  -- for tock_admin, tock_edge

function tock.end_and_claim(p_queue text, p_ends jsonb, p_worker text, p_limit integer, p_lease_seconds integer, p_request_id text, p_own_transaction boolean, OUT ended jsonb, OUT claimed claimed[])
  returns record
  -- no comment

function tock.end_assignment(p_member pool_members, p_again boolean, p_vanished boolean)
  returns boolean
  -- no comment

function tock.end_lease_1(p_lease uuid, p_segment integer)
  returns integer
  -- no comment

function tock.end_lease_current(p_lease uuid, p_segment integer)
  returns integer
  -- no comment

function tock.end_leases(p_ends jsonb)
  returns jsonb
  -- no comment

function tock.end_of_range()
  returns bigint
  -- no comment

function tock.end_runs(p_segment integer, p_ended ending[], p_fields text[] DEFAULT NULL::text[])
  returns integer
  -- no comment

function tock.end_segment()
  returns TABLE(segment integer, closed_at timestamp with time zone, why text)
  -- Ends the current segment, so that it is archived and dropped as soon as nothing in it is unclaimed or running. While a segment that was ended this way still exists, returns that one. TK409 while the archive is off.
  -- for tock_admin, tock_edge

function tock.enforce_key_rate(p_key keys)
  returns void
  -- no comment

function tock.enqueue(p_queue text, p_tasks jsonb, p_request_id text DEFAULT NULL::text)
  returns bigint[]
  -- Adds tasks in the caller's transaction and returns their ids in order. A task is {payload, delay_seconds | run_at, priority, tenant, max_attempts} with any of the further options of docs/guides/task-options.md; each field may be left out. A repeated call with the same request_id returns the same ids for 24 hours.
  -- for tock_admin, tock_edge, tock_producer

function tock.enqueue_any(p_queue text, p_tasks jsonb, p_request_id text, p_payloads json DEFAULT NULL::json)
  returns bigint[]
  -- no comment

function tock.enqueue_payloads(p_queue text, p_payloads json, p_request_id text DEFAULT NULL::text)
  returns bigint[]
  -- enqueue() for up to 100,000 tasks with only a payload each, given as a JSON array of the payloads. It takes less CPU time than enqueue(), and stores the JSON text exactly as given.
  -- for tock_admin, tock_edge, tock_producer

function tock.enqueue_spawned(p_runs leased_run[], p_results jsonb)
  returns void
  -- no comment

function tock.enqueue_task(p_queue text, p_payload jsonb DEFAULT NULL::jsonb, p_delay_seconds double precision DEFAULT NULL::double precision, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_priority integer DEFAULT NULL::integer, p_tenant text DEFAULT NULL::text, p_max_attempts integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text)
  returns bigint
  -- Adds one task and returns its id: enqueue() with scalar arguments.
  -- for tock_admin, tock_edge, tock_producer

function tock.entries_waited_for(p_positions bigint[])
  returns bigint[]
  -- no comment

function tock.entry_waited_for(p_position bigint)
  returns bigint
  -- no comment

function tock.erase(p_id bigint)
  returns integer
  -- Erases the payload, result, errors, notes, steps, unique key and concurrency key of an ended task and all its runs, for good after the next vacuum; returns the number of runs. TK409 if it has not ended, null if there is no such task.
  -- for tock_admin, tock_edge

function tock.erase_run_1(p_stream integer, p_position bigint)
  returns bigint[]
  -- no comment

function tock.error_text(p_error jsonb)
  returns text
  -- no comment

function tock.examine()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.expiry_of(p_expires_at timestamp with time zone, p_expires_in_seconds double precision)
  returns timestamp with time zone
  -- no comment

function tock.extend(p_lease uuid, p_seconds integer DEFAULT NULL::integer, p_progress jsonb DEFAULT NULL::jsonb)
  returns TABLE(leased_until timestamp with time zone, runs integer, cancel bigint[], refused bigint[])
  -- Moves the deadline of an open lease to p_seconds from now (default: lease_seconds of the queue), never back. Returns the tasks with a cancel request. p_progress is the progress of its runs, {progress, note} for all or [{id, progress, note}]; refused are the ids that are not running in this lease. No row if the lease is closed.
  -- for tock_admin, tock_edge, tock_worker

function tock.extend_lease_1(p_lease uuid, p_until timestamp with time zone, OUT leased_until timestamp with time zone, OUT runs integer, OUT cancel bigint[])
  returns record
  -- no comment

function tock.extended_option_error(p_key text, p_value jsonb, p_options jsonb)
  returns text[]
  -- no comment

function tock.extended_options()
  returns TABLE(name text, kind text, low numeric, high numeric, words text[])
  -- no comment

function tock.fail(p_lease uuid, p_failures jsonb DEFAULT NULL::jsonb)
  returns TABLE(failed integer, dead integer, refused bigint[])
  -- Ends runs of a lease as failed: [{id, error, retry_in_seconds | fatal}], or one object without id for all that are left. Each task is retried after its backoff. After a fatal failure or the last attempt it is dead. refused are the ids that the lease could not fail; no row if the lease has ended.
  -- for tock_admin, tock_edge, tock_worker

function tock.file_of_run(p_id bigint)
  returns SETOF archived_files
  -- no comment

function tock.files_of(p_id bigint, p_task_id bigint)
  returns SETOF archived_files
  -- no comment

function tock.files_of_begun(p_position bigint)
  returns SETOF archived_files
  -- no comment

function tock.files_to_erase(p_erasure archive_erasures)
  returns SETOF archived_files
  -- no comment

function tock.filter_bits(p_value bigint, p_bits bigint)
  returns SETOF bigint
  -- no comment

function tock.filter_of(p_values bigint[])
  returns bytea
  -- no comment

function tock.filter_time(p_filter jsonb, p_name text)
  returns timestamp with time zone
  -- no comment

function tock.final_states_in_order(p_ids bigint[])
  returns resolved_task[]
  -- no comment

function tock.final_states_of(p_ids bigint[], p_lock boolean, p_from bigint[] DEFAULT NULL::bigint[], OUT id bigint, OUT current_id bigint, OUT state text, OUT sure boolean)
  returns SETOF record
  -- no comment

function tock.find_cycles(p_waits dependent[])
  returns dependent[]
  -- no comment

function tock.find_streams(p_queue text, p_seed integer, p_seen integer[], p_limit integer, p_late boolean)
  returns stream_scan
  -- no comment

function tock.finding_of_missed_dependents(p_children bigint[])
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.fire_all(p_fires schedule_next_fires[], p_now timestamp with time zone)
  returns void
  -- no comment

function tock.fire_batch(p_fires schedule_next_fires[], p_now timestamp with time zone)
  returns void
  -- no comment

function tock.fire_failed(p_fire schedule_next_fires, p_now timestamp with time zone, p_sqlstate text, p_message text)
  returns void
  -- no comment

function tock.fire_schedules(p_limit integer DEFAULT 1000, p_sweep boolean DEFAULT false)
  returns integer
  -- Fires up to p_limit due schedules, the earliest first, for about 4 s at most; returns the number. p_sweep reads all due schedules.
  -- for tock_admin

function tock.fires_from()
  returns TABLE(due_at timestamp with time zone, schedule text)
  -- no comment

function tock.first_id(p_id bigint)
  returns bigint
  -- no comment

function tock.first_unread(p_stream integer, p_after bigint)
  returns bigint
  -- no comment

function tock.follow_runs_1(p_open resolved_task[])
  returns SETOF resolved_task
  -- no comment

function tock.foreign_lock_holders()
  returns TABLE(pid integer, locks integer)
  -- no comment

function tock.forget_archive(p_segment integer)
  returns void
  -- no comment

function tock.fork_steps(p_task resolved_task, p_id bigint, p_from_step text)
  returns void
  -- no comment

function tock.found_range(p_range integer)
  returns bigint
  -- Gives this database a range of ids, 0 to 1023, as a node of several: its ids and leases name the range from then on, and it uses no other. Returns the number of ids that are left in it. TK409 for a range below the present one, or for another range than the present one at the first call if there are tasks.
  -- for tock_admin

function tock.free_workers(p_pool text, p_limit integer)
  returns pool_members[]
  -- no comment

function tock.from_micros(p_micros bigint)
  returns timestamp with time zone
  -- no comment

function tock.gives_way(p_key unique_keys, p_at resolved_task, p_task jsonb, p_left bigint)
  returns boolean
  -- no comment

function tock.glance_at_queues()
  returns TABLE(queue text, lane integer, ready_run bigint, ready_at timestamp with time zone, ready integer, tenants integer, active_at timestamp with time zone, at_work boolean, lost_id bigint, lost integer)
  -- no comment

function tock.glance_at_stream(p_stream integer)
  returns TABLE(ready_run bigint, ready_at timestamp with time zone, ready integer, tenants integer, active_at timestamp with time zone, at_work boolean, lost_id bigint, lost integer)
  -- no comment

function tock.glance_at_stream_1(p_stream integer, p_after bigint)
  returns TABLE(ready_run bigint, ready_at timestamp with time zone, ready integer, tenants integer, active_at timestamp with time zone, at_work boolean, lost_id bigint, lost integer)
  -- no comment

function tock.guard()
  returns integer
  -- Moves the sequence ahead if it is behind a stored position, or if the server has changed; then adds a report to tock.reports and returns 1.
  -- for tock_admin

function tock.guard_before_use()
  returns void
  -- no comment

function tock.has_directory()
  returns boolean
  -- no comment

function tock.has_fired()
  returns boolean
  -- no comment

function tock.has_open_lease(p_queue text)
  returns boolean
  -- no comment

function tock.has_push(p_queue text)
  returns boolean
  -- True if the tasks of a queue are sent to an endpoint.
  -- for tock_admin, tock_edge

function tock.headers_error(p_headers jsonb)
  returns text[]
  -- no comment

function tock.heartbeat(p_member pool_members, p_lease_seconds integer, p_joined boolean)
  returns timestamp with time zone
  -- no comment

function tock.heaviest_tenant(p_stream integer)
  returns text
  -- no comment

function tock.held_back(p_positions bigint[], p_from timestamp with time zone)
  returns bigint[]
  -- no comment

function tock.highest_position(p_all boolean DEFAULT true)
  returns bigint
  -- no comment

function tock.histogram(p_buckets integer[], p_counts bigint[])
  returns bigint[]
  -- no comment

function tock.histogram_form(p_name text)
  returns text
  -- no comment

function tock.histogram_samples(p_form text, p_queue text, p_counts bigint[], p_sum double precision)
  returns text
  -- no comment

function tock.hold_streams(p_streams integer[])
  returns void
  -- no comment

function tock.holders_of(p_queue text, p_concurrency_key text, p_retry text)
  returns bigint[]
  -- no comment

function tock.hourly_until()
  returns timestamp with time zone
  -- no comment

function tock.how_to_end(p_since timestamp with time zone, p_mild text, p_end text)
  returns text
  -- no comment

function tock.http_claim(p_key text, p_queue text, p_worker text, p_limit integer, p_lease_seconds integer, p_request_id text, p_ends jsonb, p_again boolean DEFAULT false)
  returns text
  -- POST /v1/queues/:queue/claim: authorize() and end_and_claim(); returns the body of the answer.
  -- for tock_edge

function tock.http_claim_any(p_queues text[], p_runs claimed_from[])
  returns text
  -- POST /v1/claim: the rows of claim_any() as the body of the answer.
  -- for tock_admin, tock_edge, tock_worker

function tock.http_complete(p_key text, p_lease uuid, p_body jsonb)
  returns text
  -- POST /v1/leases/:lease/complete: authorize() and complete(); returns the body of the answer, null if the lease has ended.
  -- for tock_edge

function tock.http_enqueue(p_key text, p_queue text, p_body text, p_request_id text, p_trace jsonb DEFAULT NULL::jsonb)
  returns text
  -- POST /v1/queues/:queue/tasks: authorize(), also for each stage of a pipeline, and enqueue() or enqueue_payloads(); returns the body of the answer. p_trace is the trace context of the request.
  -- for tock_edge

function tock.http_enqueue_and_claim(p_key text, p_queue text, p_body text, p_request_id text, p_trace jsonb, p_limit integer, p_lease_seconds integer, OUT body text, OUT claimed text)
  returns record
  -- http_enqueue(), then a claim for a consumer that is free in the Worker of the call; claimed is as in the answer to a claim, null without a task.
  -- for tock_edge

function tock.http_erase_archived(p_key text, p_id bigint, p_rows jsonb, p_scanned bigint[])
  returns text
  -- DELETE /v1/tasks/:id/payload for a task that only the archive has: records the erasure, so that the task is no longer read from there. Returns {erased} or {missing}, null if there is no such task.
  -- for tock_edge

function tock.http_task(p_key text, p_id bigint, p_whole boolean, p_rows jsonb, p_scanned bigint[], p_again boolean DEFAULT false)
  returns text
  -- GET /v1/tasks/:id with an archive: authorize() and task() with the runs read from the archive. Returns the body of the answer, {missing} if more has to be read, null if there is no such task.
  -- for tock_edge

function tock.http_task_steps(p_key text, p_id bigint, p_rows jsonb, p_scanned bigint[])
  returns text
  -- GET /v1/tasks/:id/steps with an archive: authorize() and task_steps(), or the steps read from the archive. Returns the body of the answer, {missing} if more has to be read, null if there is no such task.
  -- for tock_edge

function tock.id_at(p_position bigint, p_stream bigint)
  returns bigint
  -- no comment

function tock.in_its_place(p_key unique_keys, p_at resolved_task, p_task jsonb)
  returns jsonb
  -- no comment

function tock.in_order_of(p_ids bigint[], p_ends resolved_task[])
  returns resolved_task[]
  -- no comment

function tock.include_results(p_children bigint[])
  returns void
  -- no comment

function tock.insert_key(p_key keys)
  returns text
  -- no comment

function tock.invoke(p_task_id bigint, p_invoke jsonb, p_field text)
  returns bigint
  -- no comment

function tock.is_above_runs(p_stream integer, p_position bigint)
  returns boolean
  -- no comment

function tock.is_archiving()
  returns boolean
  -- no comment

function tock.is_erased(p_id bigint)
  returns boolean
  -- no comment

function tock.is_id(p_text text)
  returns boolean
  -- no comment

function tock.is_idle_concurrency_key(p_concurrency_key concurrency_keys)
  returns boolean
  -- no comment

function tock.is_instant(p_text text)
  returns boolean
  -- no comment

function tock.is_of_one(p_lease uuid)
  returns boolean
  -- no comment

function tock.is_open(p_lease uuid, p_segment integer)
  returns boolean
  -- no comment

function tock.is_out_of_time()
  returns boolean
  -- no comment

function tock.is_own_transaction(p_own_transaction boolean, p_context text)
  returns boolean
  -- no comment

function tock.is_past_retention(p_segment segments)
  returns boolean
  -- no comment

function tock.is_paused(p_policy queues)
  returns boolean
  -- no comment

function tock.is_whole(p_payload json, p_options jsonb)
  returns boolean
  -- no comment

function tock.isolate_tenants(p_streams integer DEFAULT 1000)
  returns integer
  -- Finds lanes that one tenant fills, among p_streams streams, and releases lanes that have been worked off; returns the number of changes.
  -- for tock_admin

function tock.join_pool(p_pool text, p_worker text, p_lease_seconds integer DEFAULT NULL::integer, p_fencing_token bigint DEFAULT NULL::bigint)
  returns TABLE(state text, task text, fencing_token bigint, leased_until timestamp with time zone)
  -- Makes a worker free in a pool, or is its heartbeat: moves its deadline to p_lease_seconds (default 60) from now and returns the task that it holds. With p_fencing_token it is a heartbeat for that assignment only: if that is over, the state is lost and nothing else happens.
  -- for tock_admin, tock_edge, tock_worker

function tock.join_wait_lists(p_positions bigint[])
  returns void
  -- no comment

function tock.kept_options(p_task jsonb, p_policy queues, p_due_at timestamp with time zone)
  returns jsonb
  -- no comment

function tock.key_changes(p_key unique_keys, p_task jsonb)
  returns jsonb
  -- no comment

function tock.key_holders(p_queue text, p_ids bigint[])
  returns resolved_task[]
  -- no comment

function tock.key_policy(p_task jsonb)
  returns text
  -- no comment

function tock.keys_at_limit(p_queue text, p_age interval)
  returns TABLE(concurrency_key text, waiting bigint, concurrency_limit integer, paused boolean, id bigint, since timestamp with time zone, holders text)
  -- no comment

function tock.keys_list(p_prefix text DEFAULT NULL::text)
  returns TABLE(prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, revoked_at timestamp with time zone, replaces text, replaced_by text, last_used_at timestamp with time zone, uses bigint)
  -- All keys, or the one with a prefix, without their secret. A maintenance job updates last_used_at and uses about once a minute.
  -- for tock_admin, tock_edge

function tock.keys_of_ended_runs_1(p_segment integer, p_ended ending[], OUT queues text[], OUT concurrency_keys text[])
  returns record
  -- no comment

function tock.keys_of_ended_runs_current(p_segment integer, p_ended ending[], OUT queues text[], OUT concurrency_keys text[])
  returns record
  -- no comment

function tock.keys_of_lease_1(p_lease uuid, p_segment integer, OUT queues text[], OUT concurrency_keys text[])
  returns record
  -- no comment

function tock.keys_of_lease_current(p_lease uuid, p_segment integer, OUT queues text[], OUT concurrency_keys text[])
  returns record
  -- no comment

function tock.known_key(p_key text)
  returns boolean
  -- True if a key exists and has not ended; otherwise raises TK401.
  -- for tock_edge

function tock.label(p_value text)
  returns text
  -- no comment

function tock.lane_in(p_queue text, p_tenant text, p_options jsonb)
  returns smallint
  -- no comment

function tock.lane_of(p_policy queues, p_tenant text, p_bulk text[])
  returns smallint
  -- no comment

function tock.last_fire(p_schedule schedules, p_from timestamp with time zone, p_upto timestamp with time zone)
  returns timestamp with time zone
  -- no comment

function tock.last_parents(p_after jsonb, p_upto integer, p_count integer, OUT id text, OUT n bigint)
  returns SETOF record
  -- no comment

function tock.last_step(p_task_id bigint, p_name text, p_after bigint)
  returns steps
  -- no comment

function tock.late_fires_swept_at()
  returns timestamp with time zone
  -- no comment

function tock.late_from()
  returns timestamp with time zone
  -- no comment

function tock.lease_has_options(p_lease uuid)
  returns boolean
  -- no comment

function tock.lease_headers(p_lease uuid)
  returns jsonb
  -- The headers, push_url and steps of the runs of a lease, by run_id; runs with none are left out. The steps are those of a task that slept or waited for an event, as task_steps() returns them. They are null above 512 KiB, or above the share of the run in 4 MiB; of a task forked from a step, empty.
  -- for tock_admin, tock_edge, tock_worker

function tock.lease_overridden_range_1(p_range claim_range, p_passed passed)
  returns SETOF claimed
  -- no comment

function tock.lease_overridden_range_current(p_range claim_range, p_passed passed)
  returns SETOF claimed
  -- no comment

function tock.lease_range_1(p_range claim_range)
  returns SETOF claimed
  -- no comment

function tock.lease_range_current(p_range claim_range)
  returns SETOF claimed
  -- no comment

function tock.lease_rows_1(p_lease uuid)
  returns SETOF leases
  -- no comment

function tock.lease_segment(p_lease uuid)
  returns integer
  -- no comment

function tock.lease_steps(p_lease uuid, p_id bigint)
  returns jsonb
  -- The saved steps of a run for its worker, as a JSON array; null if the lease no longer has the run.
  -- for tock_admin, tock_edge, tock_worker

function tock.leased_runs(p_lease uuid)
  returns SETOF claimed
  -- no comment

function tock.leased_runs_1(p_lease uuid)
  returns SETOF claimed
  -- no comment

function tock.leave_pool(p_pool text, p_worker text)
  returns boolean
  -- Removes a worker from a pool and ends its assignment: an added task waits again, another one is over. False if it is not in the pool.
  -- for tock_admin, tock_edge, tock_worker

function tock.leave_queue(p_queue text)
  returns bigint
  -- no comment

function tock.limiter_state_of(p_queue text, p_policy queues)
  returns limiter_state
  -- no comment

function tock.limits(p_queue text DEFAULT NULL::text)
  returns TABLE(queue text, max_running integer, running integer, rate_limit integer, rate_seconds integer, rate_burst integer, level double precision)
  -- The queues with a limit, or the named one: the number of running runs of max_running, and the level of the bucket of their rate. running is null without max_running, or while it is unknown.
  -- for tock_admin, tock_edge

function tock.list_below(p_cursor text)
  returns bigint
  -- no comment

function tock.list_keyed(p_filter jsonb, p_limit integer)
  returns jsonb
  -- no comment

function tock.list_runs_1(p_streams integer[], p_below bigint, p_scan_limit integer, p_filter jsonb, p_limit integer, p_state text)
  returns TABLE(tasks jsonb, scanned integer, horizon bigint, waiting_horizon bigint)
  -- no comment

function tock.list_source_1(p_stream integer, p_after bigint, p_last bigint, p_below bigint, p_state text, p_limit bigint)
  returns TABLE("position" bigint)
  -- no comment

function tock.list_tasks(p_filter jsonb, p_cursor text, p_limit integer, p_scan_limit integer DEFAULT 10000, OUT tasks jsonb, OUT cursor text, OUT scanned integer)
  returns record
  -- no comment

function tock.list_unfinished(p_filter jsonb, p_cursor text, p_limit integer, OUT ids bigint[], OUT cursor text, OUT scanned integer)
  returns record
  -- no comment

function tock.list_waiting(p_filter jsonb, p_below bigint, p_limit integer, p_scan_limit integer)
  returns TABLE(tasks jsonb, scanned integer, horizon bigint)
  -- no comment

function tock.listed_segment(p_filter jsonb, p_below bigint)
  returns segments
  -- no comment

function tock.live_key(p_key text)
  returns keys
  -- no comment

function tock.lock_concurrency_keys(p_queues text[], p_concurrency_keys text[], p_wait boolean)
  returns concurrency_keys[]
  -- no comment

function tock.lock_dependents(p_children bigint[])
  returns bigint[]
  -- no comment

function tock.lock_events(p_events text[])
  returns void
  -- no comment

function tock.lock_first_waiting(p_pool text, p_list text)
  returns pool_members
  -- no comment

function tock.lock_lease_runs(p_lease uuid, p_segment integer, p_ids bigint[], p_exclusive boolean DEFAULT false)
  returns leased_run[]
  -- no comment

function tock.lock_lease_runs_1(p_lease uuid, p_segment integer, p_ids bigint[], p_exclusive boolean)
  returns leased_run[]
  -- no comment

function tock.lock_lease_runs_current(p_lease uuid, p_segment integer, p_ids bigint[], p_exclusive boolean)
  returns leased_run[]
  -- no comment

function tock.lock_space()
  returns integer
  -- no comment

function tock.lock_waiting(p_pool text, p_list text, p_from bigint, p_below bigint, p_limit integer)
  returns pool_members[]
  -- no comment

function tock.lock_waiting_below(p_pool text, p_list text, p_start bigint, p_limit integer)
  returns pool_members[]
  -- no comment

function tock.maintenance_jobs_list()
  returns TABLE(name text, every_seconds integer, last_started_at timestamp with time zone, last_ok_at timestamp with time zone, late_seconds double precision, last_amount bigint, last_seconds double precision, last_error text, failures integer)
  -- Each maintenance job: when it last ran and with what outcome; late_seconds if it should have run long ago.
  -- for tock_admin, tock_edge

function tock.make_key_counters(p_prefix text, p_rated boolean)
  returns void
  -- no comment

function tock.make_queue(p_queue text)
  returns void
  -- no comment

function tock.make_ready(p_positions bigint[], p_cancelled boolean DEFAULT false)
  returns void
  -- no comment

function tock.mark_suspended(p_ended ending[], p_keeps boolean[], p_events boolean[], p_children jsonb)
  returns void
  -- no comment

function tock.may_be_dropped(p_segment integer)
  returns boolean
  -- no comment

function tock.may_be_ending(p_ids bigint[], p_own bigint[])
  returns bigint[]
  -- no comment

function tock.may_contain(p_filter bytea, p_value bigint)
  returns boolean
  -- no comment

function tock.member_of_task(p_pool text, p_task text)
  returns pool_members
  -- no comment

function tock.member_of_worker(p_pool text, p_worker text)
  returns pool_members
  -- no comment

function tock.metric(p_name text, p_type text, p_help text, p_samples text)
  returns text
  -- no comment

function tock.metrics()
  returns text
  -- The metrics for Prometheus, in its text format: every queue as of the last round of the maintenance job collect_metrics, and maintenance jobs as they are.
  -- for tock_admin, tock_edge

function tock.micros(p_at timestamp with time zone)
  returns text
  -- no comment

function tock.missed_dependents(p_children bigint[] DEFAULT NULL::bigint[])
  returns bigint[]
  -- no comment

function tock.missing_runs_1(p_stream integer)
  returns TABLE(missing ending[], in_leases bigint)
  -- no comment

function tock.move(p_ids bigint[], p_queue text)
  returns TABLE(id bigint, state text, changed boolean)
  -- Moves up to 10,000 waiting and ready tasks unchanged to the end of another queue. Locks the streams of ready ones like change(), and waits as long. Returns one row per task: its state, and whether it was moved. It is not moved if it is running or has ended, if it is in that queue already, or if it has a concurrency key, a unique key or a pipeline.
  -- for tock_admin, tock_edge, tock_producer

function tock.move_out_of_segment(p_segment integer, p_limit integer)
  returns integer
  -- no comment

function tock.move_steps(p_segment integer, p_limit integer)
  returns integer
  -- no comment

function tock.named_key(p_kind text, p_name text)
  returns integer
  -- no comment

function tock.new_token(p_segment integer, p_after bigint, p_version text DEFAULT '4'::text)
  returns uuid
  -- no comment

function tock.new_token_of_one(p_segment integer, p_stream integer, p_after bigint)
  returns uuid
  -- no comment

function tock.newest_run(p_stream integer)
  returns bigint
  -- no comment

function tock.newest_segment()
  returns integer
  -- no comment

function tock.next(p_queue text, p_ends jsonb, p_worker text DEFAULT NULL::text, p_limit integer DEFAULT 1, p_lease_seconds integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text, p_own_transaction boolean DEFAULT false)
  returns TABLE(ended jsonb, claimed claimed[])
  -- Ends runs of leases, then claims like claim(), in one transaction. p_ends is [{lease, results, failures}], with results as in complete() and failures as in fail(); with the lease alone all its runs that are left are done. Returns one row. ended has for each of p_ends {lease, completed, failed, dead, refused, lost}: refused are the ids that the call left alone, and lost is true if the lease had ended before. claimed has the claimed runs. A lost lease does not prevent the claim, and with p_limit 0 there is none. A repeated call ends nothing twice, and with its request_id it claims the same runs. The claim waits for no lock: while other claims hold the tasks it claims none.
  -- for tock_admin, tock_edge, tock_worker

function tock.next_attempt_at(p_policy queues, p_options jsonb, p_attempt integer, p_lost integer, p_max_attempts integer, p_seconds double precision DEFAULT NULL::double precision)
  returns timestamp with time zone
  -- no comment

function tock.next_attempts_1(p_segment integer, p_ended ending[])
  returns next_attempt[]
  -- no comment

function tock.next_attempts_current(p_segment integer, p_ended ending[])
  returns next_attempt[]
  -- no comment

function tock.next_bit(p_bits bigint, p_from integer)
  returns integer
  -- no comment

function tock.next_fire(p_schedule schedules, p_after timestamp with time zone)
  returns timestamp with time zone
  -- no comment

function tock.next_fires(p_schedule text DEFAULT NULL::text, p_cron text DEFAULT NULL::text, p_time_zone text DEFAULT NULL::text, p_count integer DEFAULT 5, p_after timestamp with time zone DEFAULT NULL::timestamp with time zone)
  returns TABLE(fire_at timestamp with time zone, local_time text)
  -- The next fires after an instant (default: now), of a schedule or of any cron expression in a time zone (default: UTC), with the local time there; no rows if there are none or no such schedule. For a paused schedule, the fires that it would have.
  -- for tock_admin, tock_edge, tock_producer

function tock.next_parents(p_open dependent[], p_count integer, p_lock boolean)
  returns dependent[]
  -- no comment

function tock.next_queue_of(p_next_id bigint)
  returns text
  -- no comment

function tock.next_wake_at()
  returns timestamp with time zone
  -- The next time for tick(): the earliest waiting task, lease deadline or schedule that no sweep has passed yet, or the next page of a bulk change; now if a sweep may have missed one that was committed late; null if nothing is pending.
  -- for tock_admin, tock_edge, tock_worker

function tock.not_cancelled(p_children bigint[])
  returns bigint[]
  -- no comment

function tock.notify_dependents(p_ids bigint[])
  returns void
  -- no comment

function tock.notify_dependents_of_lease(p_lease uuid, p_segment integer)
  returns void
  -- no comment

function tock.notify_dependents_of_promoted(p_positions bigint[], p_cancelled boolean)
  returns void
  -- no comment

function tock.notify_dependents_of_skipped(p_stream integer, p_after bigint, p_upto bigint)
  returns void
  -- no comment

function tock.oldest_ready_1(p_stream integer, p_cursor bigint)
  returns TABLE(marked bigint, oldest timestamp with time zone)
  -- no comment

function tock.oldest_waiting(p_pool text)
  returns pool_members
  -- no comment

function tock.on_completing(p_run leased_run, p_item jsonb, p_options jsonb)
  returns continuation
  -- no comment

function tock.on_concurrency_keys_due(p_positions bigint[])
  returns void
  -- no comment

function tock.on_dependents_due(p_positions bigint[])
  returns integer
  -- no comment

function tock.on_leases_ended(p_leases uuid[], p_segment integer, p_wait boolean)
  returns void
  -- no comment

function tock.on_made_ready(p_positions bigint[], p_cancelled boolean, p_queues text[], p_concurrency_keys text[])
  returns void
  -- no comment

function tock.on_not_found(p_key text, p_what text, p_field text, p_status integer DEFAULT 421)
  returns void
  -- no comment

function tock.on_parents_lease_ended(p_lease uuid, p_segment integer)
  returns void
  -- no comment

function tock.on_runs_ended(p_segment integer, p_ended ending[])
  returns void
  -- no comment

function tock.on_runs_moved(p_ids bigint[])
  returns void
  -- no comment

function tock.on_runs_skipped(p_stream integer, p_after bigint, p_upto bigint, p_concurrency_keys text[])
  returns void
  -- no comment

function tock.on_segment_dropped(p_segment integer)
  returns void
  -- no comment

function tock.on_tasks_rescheduled(p_ids bigint[])
  returns void
  -- no comment

function tock.open_leases(p_queue text)
  returns uuid[]
  -- no comment

function tock.open_segments()
  returns integer[]
  -- no comment

function tock.open_stream(p_queue text, p_priority integer, p_lane integer, p_slot integer)
  returns integer
  -- no comment

function tock.open_webhooks()
  returns queues
  -- no comment

function tock.option_error(p_options jsonb)
  returns text[]
  -- no comment

function tock.options_again(p_options jsonb, p_policy queues, p_now timestamp with time zone, p_kind text)
  returns jsonb
  -- no comment

function tock.options_in(p_options jsonb, p_queue text, p_after bigint)
  returns jsonb
  -- no comment

function tock.options_of(p_segment integer, p_runs leased_run[])
  returns jsonb
  -- no comment

function tock.overview()
  returns TABLE(name text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamp with time zone, collected_at timestamp with time zone, enqueued_per_second double precision, started_per_second double precision, done_per_second double precision, failed_per_second double precision, wait_p95 double precision, run_p95 double precision, spark jsonb)
  -- Each queue as of the last round of the maintenance job collect_metrics: its depths, rates of the last whole minute, and p95 of waiting and running times of the last five. Also the ready and done tasks of the last 30 minutes, oldest first (empty if there were none). ready is null in a minute without a round.
  -- for tock_admin, tock_edge

function tock.own_payload(p_payload json, p_options jsonb)
  returns json
  -- no comment

function tock.own_policy(p_policy queues, p_options jsonb)
  returns queues
  -- no comment

function tock.own_request_id(p_key text, p_request_id text)
  returns text
  -- A request id in the namespace of the tenants of a key, so that no key gets the ids of other tenants.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.own_tasks(p_key text, p_body jsonb)
  returns jsonb
  -- no comment

function tock.own_tenant(p_key text, p_tenant text)
  returns text
  -- The tenant of a filter for a key: the only tenant of the key if the filter has none. TK403 for a tenant of another key.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.pair(p_pool text, p_worker text, p_task text, p_free pool_members, p_waiting pool_members, p_lease_seconds integer)
  returns pool_members
  -- no comment

function tock.pair_all(p_pool text, p_tasks pool_members[], p_lease_seconds integer)
  returns bigint[]
  -- no comment

function tock.pair_parts(p_pool text, p_tasks pool_members[], p_lease_seconds integer, p_until timestamp with time zone, OUT pairs bigint[], OUT tried text[])
  returns record
  -- no comment

function tock.pairing_key(p_pool text, p_side text, p_name text)
  returns bigint
  -- no comment

function tock.parent_counts(p_ids bigint[], p_key text DEFAULT NULL::text)
  returns TABLE(id bigint, parents integer, counts jsonb)
  -- Of tasks that wait for others, up to 1,000: how many parents each has, and how many of these are in each state, such as {"done": 1372, "dead": 3}. A parent that was run again counts as its rerun. A call looks at up to 10,000 parents, those of tasks with few parents first; counts is null for the other tasks. With a key for some queues or tenants a call looks at 2,000 parents, and counts only those that the key may read.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.parents(p_id bigint, p_limit integer DEFAULT 1000, p_after integer DEFAULT 0, p_state text DEFAULT NULL::text, p_results boolean DEFAULT true)
  returns TABLE(n integer, id bigint, name text, state text, result jsonb)
  -- The parents of a task in order, after the p_after-th, each with its state and result (those of its last rerun if it was run again). The state is gone if its history was dropped. p_state: only those in this state. p_results false leaves out the results.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.parents_in_words(p_ids bigint[])
  returns TABLE(said text, unfinished bigint, failed bigint)
  -- no comment

function tock.parse_cron(p_cron text)
  returns cron_plan
  -- no comment

function tock.parse_ids(p_rows jsonb, p_field text)
  returns bigint[]
  -- no comment

function tock.pass_overridden(p_range claim_range, p_most integer)
  returns passed
  -- no comment

function tock.pass_overridden_1(p_range claim_range, p_most integer)
  returns passed
  -- no comment

function tock.pass_overridden_current(p_range claim_range, p_most integer)
  returns passed
  -- no comment

function tock.pause_schedule(p_schedule text)
  returns SETOF shown_schedule
  -- Stops a schedule from firing until it is resumed; no row if there is none.
  -- for tock_admin, tock_edge

function tock.payload_of(p_id bigint)
  returns jsonb
  -- no comment

function tock.payload_with_results(p_row waiting, p_ids bigint[], p_ends resolved_task[], p_results boolean)
  returns json
  -- no comment

function tock.pending_changes(p_ids bigint[])
  returns pending_change[]
  -- no comment

function tock.pending_changes_1(p_ids bigint[])
  returns pending_change[]
  -- no comment

function tock.percentile(p_counts bigint[], p_share double precision)
  returns double precision
  -- no comment

function tock.piggyback_maintenance()
  returns boolean
  -- no comment

function tock.pipeline_continuation(p_run leased_run, p_item jsonb, p_options jsonb)
  returns continuation
  -- no comment

function tock.pipeline_error(p_pipeline jsonb, p_options jsonb)
  returns text[]
  -- no comment

function tock.plan_firing(p_schedule schedules, p_fire_at timestamp with time zone, p_now timestamp with time zone)
  returns firing_plan
  -- no comment

function tock.plan_for(p_ids integer)
  returns void
  -- no comment

function tock.plan_next(p_schedule schedules)
  returns void
  -- no comment

function tock.policy(p_queue text)
  returns queues
  -- no comment

function tock.pool(p_pool text, p_worker text DEFAULT NULL::text, p_task text DEFAULT NULL::text, p_waiting boolean DEFAULT false, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 1000)
  returns TABLE(worker text, task text, state text, fencing_token bigint, since timestamp with time zone, leased_until timestamp with time zone)
  -- The members of a pool: workers by name, free or holding a task; with p_waiting the waiting tasks; or the named one. Starts after p_after, up to p_limit. Workers past their deadline are left out.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.pools()
  returns TABLE(pool text, free bigint, held bigint, waiting bigint)
  -- All pools with their numbers of free workers, held tasks and waiting tasks; counts at most 100,000 workers and tasks per pool.
  -- for tock_admin, tock_edge

function tock.position_of(p_id bigint)
  returns bigint
  -- no comment

function tock.postpone_drop(p_segment segments)
  returns void
  -- no comment

function tock.prepare_segment_drop(p_segment integer, p_limit integer DEFAULT 100000)
  returns integer
  -- no comment

function tock.preview(p_payload json, p_bytes integer)
  returns text
  -- no comment

function tock.process_rechecks(p_sweep boolean)
  returns void
  -- no comment

function tock.promote(p_limit integer DEFAULT 1000, p_sweep boolean DEFAULT false)
  returns integer
  -- Makes up to p_limit due tasks ready, earliest first; returns the number. p_sweep reads all due tasks.
  -- for tock_admin

function tock.promote_from(p_positions bigint[])
  returns void
  -- no comment

function tock.prune(p_limit integer DEFAULT 10000)
  returns integer
  -- Deletes expired rows, up to p_limit of each kind. After a day: request ids and run details of pg_cron about jobs of Tock. After two days without claim_for_worker(): workers (at most 1,000). After seven days: the history of schedules. After 30 days: ended bulk changes. After a year: audit log entries. Also unused unique keys and concurrency keys, and the children of tasks whose history is gone.
  -- for tock_admin

function tock.prune_concurrency_keys(p_limit integer)
  returns integer
  -- no comment

function tock.prune_events(p_limit integer)
  returns integer
  -- no comment

function tock.prune_unique_keys(p_limit integer)
  returns integer
  -- no comment

function tock.prune_wait_lists()
  returns void
  -- no comment

function tock.prune_worker_leases(p_limit integer)
  returns void
  -- no comment

function tock.purge_queue(p_queue text, p_state text DEFAULT NULL::text, p_limit integer DEFAULT 1000000)
  returns TABLE(ready bigint, waiting integer, busy integer, more boolean)
  -- Cancels the ready and waiting tasks of a queue, or one of the two: up to p_limit ready runs with one row per stream, and 10,000 waiting tasks. Returns how many, how many streams other sessions were claiming from (call again), and whether more of what was there at the start is left. Claims skip those streams until the transaction ends.
  -- for tock_admin, tock_edge

function tock.purge_range_1(p_stream integer, p_after bigint, p_limit bigint, p_token uuid, OUT passed bigint, OUT purged bigint)
  returns record
  -- no comment

function tock.purge_stream(p_stream integer, p_limit bigint, OUT passed bigint, OUT purged bigint)
  returns record
  -- no comment

function tock.push_queues(p_queue text DEFAULT NULL::text, p_limit integer DEFAULT 20)
  returns TABLE(queue text, push jsonb, generation integer, previous_until timestamp with time zone)
  -- The queues with push, or the named one, that may have tasks to send, and the generation of the secret that signs for each; until previous_until the previous generation too.
  -- for tock_admin, tock_edge

function tock.push_secret(p_queue text)
  returns TABLE(queue text, generation integer, previous_until timestamp with time zone)
  -- The generation of the secret of a queue, and until when the previous one also signs; no row if there is no such queue.
  -- for tock_admin, tock_edge

function tock.put_archive(p_settings jsonb)
  returns TABLE(enabled boolean, prefix text)
  -- Turns the archive on or off and sets the prefix of its future files ({enabled, prefix}; missing settings stay).
  -- for tock_admin, tock_edge

function tock.put_concurrency_key(p_queue text, p_concurrency_key text, p_settings jsonb DEFAULT '{}'::jsonb)
  returns concurrency_keys
  -- Sets the given settings of a concurrency key: concurrency_limit, concurrency_rate_limit, concurrency_rate_seconds, concurrency_rate_burst, paused. Null follows the setting of the queue again. Then admits waiters as far as the limits allow.
  -- for tock_admin, tock_edge

function tock.put_queue(p_queue text, p_policy jsonb DEFAULT '{}'::jsonb)
  returns queues
  -- Makes a queue or changes the given settings; the others stay. '*' is the default policy. TK422 names a setting that is out of range.
  -- for tock_admin, tock_edge

function tock.put_schedule(p_schedule text, p_settings jsonb)
  returns shown_schedule
  -- Makes a schedule or replaces its settings; settings that are left out get their defaults. Its next fire stays if its timing is unchanged and is computed from now otherwise; its history stays. TK422 names an invalid setting.
  -- for tock_admin, tock_edge

function tock.queue(p_queue text)
  returns SETOF queues
  -- The policy of a queue; no row if it was never used. paused is also true while the queue waits to be resumed after a restore.
  -- for tock_admin, tock_edge

function tock.queue_claim_state(p_queue text, OUT state text, OUT retry_after_seconds integer)
  returns record
  -- no comment

function tock.queue_for_authorization(p_key text, p_id bigint)
  returns text
  -- The queue that a key must be for to reach a task: its own, or a stage of its pipeline that the key is not for; null if there is no such task.
  -- for tock_edge

function tock.queue_of_lease(p_lease uuid)
  returns text
  -- The queue from which a lease was claimed; null if there is no such lease.
  -- for tock_admin, tock_edge, tock_worker

function tock.queue_of_schedule(p_schedule text)
  returns text
  -- The queue into which a schedule fires; null if there is no such schedule.
  -- for tock_admin, tock_edge

function tock.queue_of_task(p_id bigint)
  returns text
  -- The current queue of the task with this id; null if there is none.
  -- for tock_admin, tock_edge, tock_producer

function tock.queue_settings()
  returns TABLE(name text, kind text, low integer, high integer, words text[], nullable boolean)
  -- no comment

function tock.queue_stats(p_queue text DEFAULT NULL::text)
  returns TABLE(queue text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamp with time zone, waiting_for jsonb)
  -- The number of ready, running, waiting (up to a million) and dead tasks of each queue, and since when the oldest ready task is ready. The column waiting_for says how many of the waiting ones wait for their time, a concurrency key, other tasks, or in a step for a child or an event: {time, concurrency_key, dependency, child, event}. A task that waits in steps for several things counts once: for a child, else for an event.
  -- for tock_admin, tock_edge

function tock.queue_to_move(p_queue text)
  returns jsonb
  -- no comment

function tock.queues_of_key(p_key text)
  returns text[]
  -- The queues of a key; null for all.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.readable(p_key text, p_ids bigint[])
  returns bigint[]
  -- The ids among these of tasks that a key may read, together with their last reruns.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.readable_links(p_key text, p_options jsonb, p_error jsonb, p_rerun_of bigint, p_reruns jsonb, OUT options jsonb, OUT error jsonb, OUT rerun_of text, OUT reruns jsonb)
  returns record
  -- The options, error and reruns of a task without links to tasks that a key may not read.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.ready_again_at(p_queue text, p_options jsonb)
  returns timestamp with time zone
  -- no comment

function tock.ready_since(p_stream integer, p_position bigint, p_task_id bigint)
  returns timestamp with time zone
  -- no comment

function tock.reap(p_limit integer DEFAULT 10000, p_sweep boolean DEFAULT NULL::boolean)
  returns integer
  -- Ends the runs of expired leases, about p_limit a call: each is lost and its task ready again, or dead after max_lost. Returns the number. p_sweep reads all expired leases (default: once a minute).
  -- for tock_admin

function tock.reap_pool(p_pool text, p_from timestamp with time zone, p_now timestamp with time zone, p_limit integer)
  returns integer
  -- no comment

function tock.reap_pools(p_limit integer DEFAULT 10000, p_sweep boolean DEFAULT NULL::boolean)
  returns integer
  -- Removes workers past their deadline in all pools: added tasks wait again, others are over. Checks p_limit members a call and returns the number. p_sweep reads all (default: once a minute).
  -- for tock_admin

function tock.reap_segment_1(p_from timestamp with time zone, p_now timestamp with time zone, p_limit integer)
  returns reaped
  -- no comment

function tock.recheck_parents(p_children bigint[])
  returns void
  -- no comment

function tock.rechecks_from(p_count integer)
  returns bigint
  -- no comment

function tock.record_archive_dropped(p_segment integer)
  returns void
  -- no comment

function tock.record_archive_step(p_error text DEFAULT NULL::text)
  returns void
  -- Records the outcome of a step of the archive; p_error is null after a success.
  -- for tock_admin, tock_edge

function tock.record_children(p_waiting bigint[], p_parents bigint[], p_parts bigint[])
  returns void
  -- no comment

function tock.record_dead_tasks(p_segment integer, p_ended ending[])
  returns void
  -- no comment

function tock.record_depth()
  returns void
  -- no comment

function tock.record_key_uses(p_limit integer DEFAULT 500)
  returns integer
  -- no comment

function tock.record_lease_progress_1(p_lease uuid, p_progress jsonb)
  returns void
  -- no comment

function tock.record_limiter_state(p_queue text, p_policy queues, p_asked limiter_state, p_token uuid, p_started integer)
  returns void
  -- no comment

function tock.redirect_run_ids_1(p_limit integer)
  returns integer
  -- no comment

function tock.redrive(p_queue text, p_filter jsonb DEFAULT '{}'::jsonb, p_limit integer DEFAULT 1000, p_cursor text DEFAULT NULL::text, p_request_id text DEFAULT NULL::text, p_to_queue text DEFAULT NULL::text, p_again boolean DEFAULT false, p_reason text DEFAULT NULL::text)
  returns TABLE(redriven integer, ids bigint[], cursor text, scanned integer)
  -- Runs up to p_limit dead tasks of a queue again as new tasks ({tenant, error}: as dead_groups() shows it), in p_to_queue if given; tasks that were run again before only with p_again. Returns one row: the number, the new ids, and the cursor of the next page, null at the end. Later pages leave out tasks that died after the first call. A repeated call with the same request_id returns the same for 24 hours.
  -- for tock_admin, tock_edge, tock_producer

function tock.redrive_page(p_queue text, p_filter jsonb, p_limit integer, p_cursor text, p_to_queue text, p_again boolean, p_reason text, OUT ids bigint[], OUT cursor text, OUT scanned integer)
  returns record
  -- no comment

function tock.refuse(p_status integer, p_message text, p_field text DEFAULT NULL::text, p_hint text DEFAULT NULL::text)
  returns void
  -- no comment

function tock.refuse_bad_tasks(p_tasks jsonb, p_max_payload_bytes integer)
  returns void
  -- no comment

function tock.refuse_cron(p_field text, p_item text)
  returns void
  -- no comment

function tock.refuse_cycle(p_children integer[], p_parents integer[], p_tasks integer)
  returns void
  -- no comment

function tock.refuse_elsewhere(p_key text, p_what text, p_field text, p_status integer)
  returns void
  -- no comment

function tock.refuse_foreign_ids(p_ids bigint[], p_field text, p_status integer DEFAULT 421)
  returns void
  -- no comment

function tock.refuse_large_body(p_queue text, p_body jsonb, p_request_id text)
  returns void
  -- no comment

function tock.refuse_large_payload(p_max_payload_bytes integer, p_field text)
  returns void
  -- no comment

function tock.refuse_large_payloads(p_payloads json, p_max_payload_bytes integer)
  returns void
  -- no comment

function tock.refuse_named_keys(p_tasks jsonb, p_field text)
  returns void
  -- no comment

function tock.refuse_self_wait(p_position bigint, p_ids bigint[], p_tasks jsonb, p_field text)
  returns void
  -- no comment

function tock.release(p_lease uuid, p_ids bigint[] DEFAULT NULL::bigint[])
  returns TABLE(released integer, refused bigint[])
  -- Returns runs of a lease to their queue (all that are left, or the named ones). They are ready again at once, at the end of their stream, and no attempt is counted. refused are the ids that the lease could not release; no row if the lease has ended.
  -- for tock_admin, tock_edge, tock_worker

function tock.release_admissions(p_ids bigint[])
  returns void
  -- no comment

function tock.release_dependents(p_children bigint[])
  returns void
  -- no comment

function tock.release_keys_of_leases(p_leases uuid[], p_segment integer, p_wait boolean)
  returns void
  -- no comment

function tock.release_keys_of_runs(p_segment integer, p_ended ending[])
  returns void
  -- no comment

function tock.release_vanished(p_pool text)
  returns boolean
  -- no comment

function tock.remove_next_fire(p_schedule text)
  returns schedule_next_fires
  -- no comment

function tock.replace_runs_1(p_found resolved_task[], p_changes jsonb, p_due timestamp with time zone, p_slot integer)
  returns resolved_task[]
  -- no comment

function tock.replace_runs_anywhere(p_found resolved_task[], p_changes jsonb)
  returns resolved_task[]
  -- no comment

function tock.reprioritize(p_ids bigint[], p_priority integer)
  returns TABLE(id bigint, state text, changed boolean)
  -- Gives tasks another priority, 0 (first) to 9: change() with scalar arguments.
  -- for tock_admin, tock_edge, tock_producer

function tock.reprioritize_where(p_queue text, p_filter jsonb, p_priority integer, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 1000)
  returns TABLE(matched integer, changed integer, cursor text, scanned integer)
  -- Gives another priority to up to p_limit tasks of a queue with a different one ({state: waiting, ready or running, tenant}; without a state the waiting and ready ones) like reprioritize(). Returns one row: the numbers matched and changed, and the cursor of the next page, null at the end. Pages after the first leave out newer tasks.
  -- for tock_admin, tock_edge, tock_producer

function tock.request_erasure(p_task_id bigint, p_queue text)
  returns void
  -- no comment

function tock.request_seen(p_verb text, p_queue text, p_request_id text, p_digest bigint)
  returns requests
  -- no comment

function tock.requests_to_move(p_queue text)
  returns jsonb
  -- no comment

function tock.requeue_missing_runs(p_segment integer, p_stream integer, p_runs bigint, p_leased bigint)
  returns void
  -- no comment

function tock.rerun(p_ids bigint[], p_request_id text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_again boolean DEFAULT true, p_from_step text DEFAULT NULL::text)
  returns TABLE(id bigint, state text, rerun_id bigint, refused text)
  -- Runs up to 10,000 ended tasks again, each as a new task with its last payload, priority, tenant, max_attempts and options. Returns one row per known task: its state, and the id of the new task or why there is none (unfinished, erased; with p_again false also rerun, for a task that has one already). A repeated call with the same request_id, which counts in each of their queues, returns the same for 24 hours, once it has run any again. With p_from_step the new task of one id has the steps that were saved before that step.
  -- for tock_admin, tock_edge, tock_producer

function tock.reschedule(p_ids bigint[], p_run_at timestamp with time zone)
  returns TABLE(id bigint, state text, changed boolean)
  -- Moves tasks to another time, now if it is past: change() with scalar arguments.
  -- for tock_admin, tock_edge, tock_producer

function tock.reset_concurrency_key(p_queue text, p_concurrency_key text)
  returns boolean
  -- Resets a concurrency key to the settings of its queue, not paused and with a full bucket, and admits waiters; false if there is no such key.
  -- for tock_admin, tock_edge

function tock.reset_limits(p_queue text)
  returns TABLE(queue text, max_running integer, running integer, rate_limit integer, rate_seconds integer, rate_burst integer, level double precision)
  -- Refills the bucket of the rate of a queue and counts its running runs again; no row if there is no queue of this name with a limit.
  -- for tock_admin, tock_edge

function tock.reset_wait_list_start(p_pool text, p_list text)
  returns void
  -- no comment

function tock.resolve_cursor(p_stream integer, p_own_transaction boolean)
  returns stream_cursor
  -- no comment

function tock.resolve_each_task(p_ids bigint[])
  returns resolved_task[]
  -- no comment

function tock.resolve_tasks(p_ids bigint[])
  returns SETOF resolved_task
  -- no comment

function tock.results_fit(p_ends resolved_task[], p_bytes bigint)
  returns boolean
  -- no comment

function tock.results_of(p_ids bigint[], p_ends resolved_task[], p_results boolean, OUT n bigint, OUT id bigint, OUT state text, OUT result jsonb)
  returns SETOF record
  -- no comment

function tock.resume_schedule(p_schedule text)
  returns SETOF shown_schedule
  -- Resumes a paused schedule with its next fire from now; fires during the pause do not count as missed. No row if there is none.
  -- for tock_admin, tock_edge

function tock.revoke_key(p_prefix text)
  returns boolean
  -- Ends a key at once; false if there is none with this prefix.
  -- for tock_admin, tock_edge

function tock.rights_of_task(p_id bigint, OUT tenant text, OUT stages jsonb)
  returns record
  -- What a key must be for to reach a task: its tenant (null without one), and the stages of its pipeline (empty without one). Both are null if there is no such task.
  -- for tock_edge

function tock.roll_up_minutes()
  returns void
  -- no comment

function tock.rotate_key(p_prefix text, p_overlap_seconds integer DEFAULT 86400)
  returns TABLE(key text, prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, replaces text)
  -- Makes a new key with the rights and the lifetime of an existing one, and ends the old one after the overlap. TK409 if a live key has already replaced it; no row if there is none with this prefix.
  -- for tock_admin, tock_edge

function tock.rotate_push_secret(p_queue text, p_overlap_seconds integer DEFAULT 86400)
  returns TABLE(queue text, generation integer, previous_until timestamp with time zone)
  -- Makes the next generation of the secret of a queue sign, and for the overlap the previous one too. During the overlap it does nothing, unless p_overlap_seconds is 0: the previous generation then stops at once.
  -- for tock_admin, tock_edge

function tock.run_again_1(p_found resolved_task[], p_queue text, p_slot integer, p_kind text, p_again boolean, p_reason text)
  returns resolved_task[]
  -- no comment

function tock.run_all_again(p_found resolved_task[], p_queue text, p_kind text, p_again boolean, p_reason text)
  returns resolved_task[]
  -- no comment

function tock.run_at(p_id bigint)
  returns found_run
  -- no comment

function tock.run_at_1(p_id bigint)
  returns SETOF found_run
  -- no comment

function tock.run_bulk_changes(p_limit integer DEFAULT 5000)
  returns integer
  -- no comment

function tock.run_fire_schedules()
  returns integer
  -- no comment

function tock.run_headers_1(p_lease uuid, p_segment integer)
  returns jsonb
  -- no comment

function tock.run_headers_current(p_lease uuid, p_segment integer)
  returns jsonb
  -- no comment

function tock.run_late_maintenance()
  returns boolean
  -- no comment

function tock.run_maintenance(p_job text, p_seconds integer DEFAULT 5)
  returns integer
  -- Runs one maintenance job now, in batches for up to p_seconds (0: one batch), and records the outcome in tock.maintenance_jobs. Returns the amount of work, null if it failed or is running in another session.
  -- for tock_admin

function tock.run_schedule(p_schedule text, p_request_id text DEFAULT NULL::text)
  returns SETOF bigint
  -- Fires a schedule now, even a paused one and whatever the state of its last task; its next fire stays. Returns the id of the task, no row if there is no such schedule. A repeated call with the same request_id returns the same id for 24 hours.
  -- for tock_admin, tock_edge

function tock.run_state_1(p_stream integer, p_position bigint, p_options jsonb)
  returns TABLE(state text, next_id bigint, ended_at timestamp with time zone, cancel_requested boolean, result jsonb, error jsonb, worker text, claimed_at timestamp with time zone, leased_until timestamp with time zone, lease_after bigint)
  -- no comment

function tock.running(p_queue text DEFAULT NULL::text, p_worker text DEFAULT NULL::text, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns TABLE(leases jsonb, cursor text, scanned integer)
  -- Open leases, of one queue or worker if given, the next deadline first (a lease over several streams once for each), each with the ids of up to ten unfinished tasks. Scans up to 2,000 leases, and a page may be empty: continue while there is a cursor.
  -- for tock_admin, tock_edge

function tock.running_leases_1(p_tokens uuid[], OUT runs integer, OUT tokens uuid[])
  returns record
  -- no comment

function tock.runs_in_no_transaction_1(p_ids bigint[], p_oldest integer, p_claiming integer[], p_marking boolean)
  returns SETOF bigint
  -- no comment

function tock.runs_to_archive_1(p_stream integer, p_position bigint, p_last_stream integer, p_last_position bigint, p_limit integer)
  returns TABLE(stream integer, "position" bigint, begun bigint, created_at timestamp with time zone, queue text, texts text[])
  -- no comment

function tock.save_child_outcomes(p_positions bigint[])
  returns void
  -- no comment

function tock.save_step(p_task_id bigint, p_position bigint, p_after bigint, p_item jsonb, p_field text)
  returns steps
  -- no comment

function tock.save_steps(p_lease uuid, p_steps jsonb)
  returns TABLE(id bigint, name text, state text, result jsonb, error jsonb, due_at timestamp with time zone, cancel_requested boolean)
  -- Saves steps of runs of a lease: [{id, name}, each with result, link, error, sleep_seconds, sleep_until, event, invoke or unused]. Returns for each its state: done, failed or timed_out, with the first outcome that was saved; waiting or retrying, if the run has ended and its task continues at due_at; lost, if the lease no longer has the run and nothing was saved.
  -- for tock_admin, tock_edge, tock_worker

function tock.save_wait_list_cursor(p_pool text, p_list text, p_reached bigint, p_marks integer, p_rest_until timestamp with time zone)
  returns void
  -- no comment

function tock.scan_again(p_queue text, p_seed integer, p_seen integer[], p_most integer, p_late boolean, p_scan stream_scan)
  returns stream_scan
  -- no comment

function tock.schedule(p_schedule text)
  returns SETOF shown_schedule
  -- A schedule: its settings, its next fire and the outcome of the last one; no row if there is none.
  -- for tock_admin, tock_edge, tock_producer

function tock.schedule_history(p_schedule text, p_limit integer DEFAULT 20, p_before bigint DEFAULT NULL::bigint)
  returns TABLE(number bigint, fire_at timestamp with time zone, until_at timestamp with time zone, fired_at timestamp with time zone, outcome text, task_id bigint, error text)
  -- The fires of a schedule in the last seven days, the newest first, with their outcomes: fired or run (with the task), overlapped, replaced, missed (from fire_at until before until_at, if there were several) or failed (with the error).
  -- for tock_admin, tock_edge, tock_producer

function tock.schedule_is_held()
  returns void
  -- no comment

function tock.schedule_recheck(p_children bigint[])
  returns void
  -- no comment

function tock.schedule_settings()
  returns TABLE(name text, kind text, low integer, high integer, words text[])
  -- no comment

function tock.schedules(p_queue text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns SETOF shown_schedule
  -- Schedules by name, of one queue or all, after p_after.
  -- for tock_admin, tock_edge, tock_producer

function tock.sees_all()
  returns boolean
  -- no comment

function tock.segment_of(p_position bigint)
  returns integer
  -- no comment

function tock.segments_list(p_limit integer DEFAULT 100)
  returns TABLE(number integer, state text, first_position bigint, end_position bigint, started_at timestamp with time zone, closed_at timestamp with time zone, verified_at timestamp with time zone, bytes bigint, runs bigint)
  -- Segments, the newest first: their state, their size, and about how many runs each stores.
  -- for tock_admin, tock_edge

function tock.send_dead_task_events(p_limit integer DEFAULT 50000)
  returns integer
  -- no comment

function tock.series(p_queue text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_step_seconds integer DEFAULT NULL::integer)
  returns TABLE(step_seconds integer, at timestamp with time zone, enqueued bigint, started bigint, done bigint, failed bigint, lost bigint, dead bigint, ready bigint, running bigint, waiting bigint, oldest_ready_seconds double precision, wait jsonb, run jsonb)
  -- The metrics of a queue, or of all together, from p_from (default: an hour before p_to) until before p_to (default: now). Each point covers p_step_seconds, and there are up to 1,500 points. If p_from is more than two days ago, every point covers whole hours. A depth is the maximum in its point; it is null if nothing was counted then.
  -- for tock_admin, tock_edge

function tock.server_identity()
  returns bigint
  -- no comment

function tock.set_paused(p_schedule text, p_paused_at timestamp with time zone)
  returns shown_schedule
  -- no comment

function tock.shown_schedule(p_schedule schedules)
  returns shown_schedule
  -- no comment

function tock.signal(p_event text, p_payload jsonb DEFAULT NULL::jsonb, p_request_id text DEFAULT NULL::text)
  returns TABLE(accepted boolean, woken integer)
  -- Gives an event its payload, and wakes the tasks that wait for it; returns how many. The first payload of an event counts, also for tasks that wait for it later, for 30 days. accepted is false if the event had one before, unless that came with the same request id.
  -- for tock_admin, tock_edge, tock_producer

function tock.signal_by_link(p_token text, p_payload jsonb)
  returns text
  -- Signals the event of a link with this payload: accepted; late, if the event had a payload before; used, if the link was used before; unknown, also after its end.
  -- for tock_edge

function tock.skip_range(p_stream integer, p_after bigint, p_last bigint, p_skipped integer)
  returns void
  -- no comment

function tock.sole_holder(p_queue text, p_concurrency_key text)
  returns bigint
  -- no comment

function tock.some(p_count bigint, p_one text, p_more text DEFAULT NULL::text)
  returns text
  -- no comment

function tock.some_tasks(p_count bigint, p_one text, p_more text)
  returns text
  -- no comment

function tock.spawn_all(p_segment integer, p_runs leased_run[], p_results jsonb)
  returns void
  -- no comment

function tock.spawn_parts(p_runs leased_run[], p_results jsonb, OUT queue text, OUT tasks jsonb, OUT places jsonb)
  returns SETOF record
  -- no comment

function tock.spawned_field(p_field text, p_places jsonb, p_runs leased_run[])
  returns text
  -- no comment

function tock.start_bulk_change(p_queue text, p_change text, p_filter jsonb DEFAULT '{}'::jsonb, p_options jsonb DEFAULT '{}'::jsonb, p_request_id text DEFAULT NULL::text)
  returns bigint
  -- Starts a bulk change and returns its id: a cancel, reprioritize or redrive of all tasks of a queue that match a filter, which is that of cancel_where(), reprioritize_where() or redrive(). The options are {priority} of a reprioritize, and {to_queue, again, reason} of a redrive. The maintenance job run_bulk_changes does it page by page, and bulk_changes() shows how far it is. Leaves out tasks that are enqueued, or die, after this call. A repeated call with the same request_id returns the same id for 24 hours.
  -- for tock_admin, tock_edge, tock_producer

function tock.steps_for_worker(p_task_id bigint, p_options jsonb, p_max_bytes integer)
  returns jsonb
  -- no comment

function tock.steps_from(p_task_id bigint, p_options jsonb)
  returns bigint
  -- no comment

function tock.steps_of(p_task_id bigint, p_after bigint)
  returns TABLE(name text, kind text, state text, result jsonb, error jsonb, event text, child_id bigint, due_at timestamp with time zone, failures integer, version integer, unused boolean, saved_at timestamp with time zone)
  -- no comment

function tock.steps_of_run(p_task_id bigint, p_options jsonb, p_max_bytes integer)
  returns jsonb
  -- no comment

function tock.steps_to_archive(p_task_id bigint, p_options jsonb)
  returns text[]
  -- no comment

function tock.stop_bulk_change(p_id bigint)
  returns text
  -- Stops a bulk change before its next page; what it has changed stays. Returns its state after the call; null if there is no such change.
  -- for tock_admin, tock_edge, tock_producer

function tock.store_next_fire(p_schedule text, p_fire schedule_next_fires)
  returns void
  -- no comment

function tock.stored_runs(p_ids bigint[], OUT id bigint, OUT task_id bigint, OUT bytes integer, OUT options jsonb)
  returns SETOF record
  -- no comment

function tock.stored_task_1(p_current_id bigint)
  returns TABLE(priority smallint, tenant text, max_attempts smallint, bytes integer, payload json, options jsonb)
  -- no comment

function tock.stores_elsewhere()
  returns boolean
  -- no comment

function tock.stream_of(p_id bigint)
  returns integer
  -- no comment

function tock.streams_in_any_segment(p_queue text, p_seed integer, p_seen integer[], p_limit integer)
  returns candidate[]
  -- no comment

function tock.sum_counts(p_counts bigint[])
  returns bigint[]
  -- no comment

function tock.sweep_may_be_late(p_writers text[])
  returns boolean
  -- no comment

function tock.sweep_wait_lists()
  returns integer
  -- no comment

function tock.take_schedules(p_queue text)
  returns jsonb
  -- no comment

function tock.take_slot(p_from integer DEFAULT NULL::integer)
  returns integer
  -- no comment

function tock.take_stream(p_stream integer)
  returns boolean
  -- no comment

function tock.take_task(p_pool text, p_worker text, p_lease_seconds integer DEFAULT NULL::integer)
  returns TABLE(state text, task text, fencing_token bigint, leased_until timestamp with time zone)
  -- Assigns to a worker, joined or not, the task that has waited for longest in the pool. State: taken; held, with its present task and a later deadline, if it has one; empty if no task waits, which also is the heartbeat of a joined worker; busy while another call is assigning it a task.
  -- for tock_admin, tock_edge, tock_worker

function tock.task(p_id bigint)
  returns TABLE(id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer, lost integer, created_at timestamp with time zone, run_at timestamp with time zone, ended_at timestamp with time zone, payload json, result jsonb, error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint, reruns jsonb, schedule text)
  -- A task by its id or the id of any of its runs: its state, and all its runs in order with queue, worker, times, progress, result and error. The schedule is that of a fire that has this task, for seven days. No row if there is none, or if it ended longer ago than the retention of its queue.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.task_of(p_schedule schedules, p_fire_at timestamp with time zone)
  returns jsonb
  -- no comment

function tock.task_steps(p_id bigint)
  returns TABLE(name text, kind text, state text, result jsonb, error jsonb, event text, child_id bigint, due_at timestamp with time zone, failures integer, version integer, unused boolean, saved_at timestamp with time zone)
  -- The steps of a task in the order in which they were first saved. The state is done, failed, timed_out, retrying or waiting. The failures are the failed attempts of a step with its own retries. The version is that of the handler that saved the step. It is unused if a later handler ended without asking for it. Of a task with a pipeline, these are the steps of its present stage.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.task_with(p_id bigint, p_archived found_run[] DEFAULT NULL::found_run[], p_scanned bigint[] DEFAULT '{}'::bigint[])
  returns TABLE(id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer, lost integer, created_at timestamp with time zone, run_at timestamp with time zone, ended_at timestamp with time zone, payload json, result jsonb, error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint, reruns jsonb, schedule text, missing jsonb)
  -- no comment

function tock.task_with_trace(p_task jsonb, p_trace jsonb)
  returns jsonb
  -- no comment

function tock.tasks(p_filter jsonb DEFAULT '{}'::jsonb, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns TABLE(tasks jsonb, cursor text, scanned integer)
  -- One row: tasks of one queue or all that match a filter, without payloads, the newest first by their newest run or waiting row. The filter is {queue, state, tenant, error, worker, rerun, from, to, waiting_for, payload}, and with queue also unique_key or concurrency_key. Also the cursor of the next page (null at the end), and the number of rows scanned, about 10,000 a call, or 2,000 with payload: a page may be empty. Ready, running and dead tasks are found by an index. rerun: only tasks that were (true) or were not (false) run again. The reasons of waiting_for are time, concurrency_key, dependency, child and event. With payload, only tasks whose payload contains this JSON object.
  -- for tock_admin, tock_edge, tock_producer

function tock.tasks_of(p_payloads json)
  returns jsonb
  -- no comment

function tock.tenant_scoped_name(p_tenant text, p_name jsonb)
  returns text
  -- no comment

function tock.tenants_of_key(p_key text)
  returns text[]
  -- The tenants of a key; null for all.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.tick()
  returns timestamp with time zone
  -- Runs every due maintenance job and returns next_wake_at(); for pg_cron and external alarms.
  -- for tock_admin, tock_edge

function tock.tick_by()
  returns timestamp with time zone
  -- The time by which an alarm ticks even if it knows of nothing due: five seconds from now if pg_cron has no intervals in seconds, otherwise null.
  -- for tock_admin, tock_edge, tock_worker

function tock.token_cursor(p_lease uuid, p_first bigint)
  returns bigint
  -- no comment

function tock.token_segment(p_lease uuid)
  returns integer
  -- no comment

function tock.token_stream(p_lease uuid)
  returns integer
  -- no comment

function tock.unassign_task(p_pool text, p_task text, p_fencing_token bigint DEFAULT NULL::bigint, p_again boolean DEFAULT false)
  returns boolean
  -- Removes a task from a pool, or with p_again makes it wait there for another worker; its worker is free again. With p_fencing_token only if that assignment still exists. False if there was nothing to end.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.unchanged_fields(p_ended ending[], p_runs leased_run[], p_all boolean)
  returns text[]
  -- no comment

function tock.unheld_tasks(p_pool text, p_tasks text[])
  returns pool_members[]
  -- no comment

function tock.unmatched_ids(p_ids bigint[], p_found bigint[], OUT id bigint, OUT n bigint)
  returns SETOF record
  -- no comment

function tock.unread_stream(p_queue text)
  returns integer
  -- no comment

function tock.update_key(p_prefix text, p_changes jsonb)
  returns TABLE(prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, revoked_at timestamp with time zone, replaces text, replaced_by text, last_used_at timestamp with time zone, uses bigint)
  -- Changes the name, expiry or rate of a key; null removes the expiry or rate. No row if there is no key with this prefix.
  -- for tock_admin, tock_edge

function tock.url_error(p_url jsonb)
  returns text
  -- no comment

function tock.utc(p_at timestamp with time zone)
  returns text
  -- no comment

function tock.verify_archive(p_archive archives)
  returns void
  -- no comment

function tock.verify_segments(p_limit integer DEFAULT 1000000)
  returns integer
  -- Compares the runs of the oldest unverified closed segment with its leases, about p_limit a call, and continues there in the next call; returns the number of rows that it scanned.
  -- for tock_admin

function tock.visible_since(p_queue text)
  returns timestamp with time zone
  -- no comment

function tock.visible_task(p_key text, p_id bigint)
  returns bigint
  -- This id; null if the key is for some tenants and the task is of another one, or if the key is restricted and there is no such task.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.wait_for(p_position bigint, p_ids bigint[], p_spawn jsonb, p_field text)
  returns void
  -- no comment

function tock.wait_for_lock(p_key integer)
  returns boolean
  -- no comment

function tock.wait_for_parents(p_waits dependent[])
  returns void
  -- no comment

function tock.wait_list_start(p_pool text, p_list text)
  returns bigint
  -- no comment

function tock.waiting_behind_others(p_positions bigint[], p_from timestamp with time zone)
  returns bigint[]
  -- no comment

function tock.wake_more_waiters()
  returns void
  -- no comment

function tock.wake_waiters(p_event text, p_limit integer DEFAULT 1000)
  returns integer
  -- no comment

function tock.was_completed_so(p_run leased_run, p_item jsonb, p_next continuation, p_pipeline boolean)
  returns boolean
  -- no comment

function tock.was_ended_so(p_run leased_run, p_stages boolean, p_stage text)
  returns boolean
  -- no comment

function tock.was_spawned_before(p_run leased_run, p_spawn jsonb)
  returns boolean
  -- no comment

function tock.whoami(p_key text)
  returns TABLE(prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone)
  -- The scopes, queues, tenants, rate and expiry of a key. TK401 for an invalid key.
  -- for tock_edge

function tock.why(p_queue text, p_sessions boolean DEFAULT true)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- Why tasks of a queue are late now, the best explanation first, and what to do. The queue is paused, or there is no worker, a limit, due tasks that are not made ready, an open transaction, parents, steps that wait, concurrency keys, failing tasks, or maintenance that does not run. No row if nothing holds them up. Without p_sessions, sessions are not identified.
  -- for tock_admin, tock_edge

function tock.why_not_closed(p_segment segments)
  returns TABLE(why text, hint text)
  -- no comment

function tock.why_of_concurrency_keys(p_queue text, p_age interval DEFAULT '00:00:05'::interval)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.why_of_hidden(p_seconds double precision DEFAULT 0.3)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.why_of_parents(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.why_of_poison(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.why_of_steps(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.why_of_takers(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.why_of_time(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.why_of_transactions(p_age interval DEFAULT '00:00:05'::interval)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- no comment

function tock.will_not_start(p_id bigint, p_lock boolean)
  returns boolean
  -- no comment

function tock.with_own_payload(p_payload json, p_options jsonb, p_own jsonb)
  returns json
  -- no comment

function tock.with_parents(p_options jsonb, p_after jsonb, p_n bigint, p_ids bigint[], p_names jsonb)
  returns jsonb
  -- no comment

function tock.with_trace(p_body jsonb, p_trace jsonb)
  returns jsonb
  -- The body of POST /v1/queues/:queue/tasks with the trace context from the headers of its request.
  -- for tock_edge

function tock.without_query(p_push jsonb)
  returns jsonb
  -- no comment

function tock.without_secrets(p_options jsonb)
  returns jsonb
  -- no comment

function tock.without_trace(p_tasks jsonb)
  returns jsonb
  -- no comment

function tock.workers(p_queue text DEFAULT NULL::text, p_seconds integer DEFAULT 3600, p_limit integer DEFAULT 1000)
  returns TABLE(worker text, queues text[], first_claim_at timestamp with time zone, last_claim_at timestamp with time zone, leases integer, open_leases integer, average_open real)
  -- The workers that claimed tasks in the last p_seconds, of one queue if given, the latest claim first: their queues, their leases in that time, how many are open, and how many were open on average since the first. Reads the last 50 leases of up to 1,000 streams in the two newest segments. A worker that never found a task is not known.
  -- for tock_admin, tock_edge

function tock.workers_past_deadline(p_pool text)
  returns integer
  -- no comment

function tock.write_audit_log(p_verb text, p_object text, p_detail jsonb DEFAULT '{}'::jsonb)
  returns void
  -- no comment

function tock.write_results_1(p_segment integer, p_ended ending[], p_again next_attempt[], p_streams integer[])
  returns integer
  -- no comment

function tock.write_results_current(p_segment integer, p_ended ending[], p_again next_attempt[], p_streams integer[])
  returns integer
  -- no comment

function tock.writers()
  returns text[]
  -- no comment

function tock.writers_of(p_table regclass, p_age interval DEFAULT '00:00:00'::interval)
  returns text[]
  -- no comment
