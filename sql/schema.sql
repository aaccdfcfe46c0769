-- What sql/ comes to, for readers: generated, see CONTRIBUTING.md. Not meant to be run.

table tock.acts
  number bigint not null default nextval('act_numbers'::regclass)
  at timestamp with time zone not null default clock_timestamp()
  role text not null
  key text
  verb text not null
  object text not null
  detail jsonb not null default '{}'::jsonb
  constraint acts_pkey PRIMARY KEY (number)
  CREATE INDEX acts_by_key ON tock.acts USING btree (key, number)
  CREATE INDEX acts_by_object ON tock.acts USING btree (object, number)
  CREATE INDEX acts_by_verb ON tock.acts USING btree (verb, number)

table tock.allowances
  number bigint not null
  taken_at timestamp with time zone not null default clock_timestamp()
  level double precision
  limited_at timestamp with time zone
  seen_at timestamp with time zone
  queue text not null
  leases uuid[]
  constraint allowances_pkey PRIMARY KEY (queue, number)

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
  epoch integer not null
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
  epoch integer not null
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
  constraint file_is_a_range UNIQUE (epoch, first_stream, first_position)
  constraint part_once UNIQUE (epoch, part)
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
  epoch integer not null
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
  constraint archives_pkey PRIMARY KEY (epoch)
  CREATE INDEX archives_waiting ON tock.archives USING btree (epoch) WHERE (state <> 'dropped'::text)

table tock.counted
  stream integer not null
  runs_to bigint not null
  leases_to bigint not null
  ready bigint not null
  constraint counted_pkey PRIMARY KEY (stream)
  with (fillfactor=50)

table tock.counting
  id boolean not null default true
  from_position bigint not null
  started_at timestamp with time zone
  finished_at timestamp with time zone
  open_stream integer not null default 0
  open_after bigint not null default '-1'::integer
  stream integer not null default 0
  settled integer[] not null default '{}'::integer[]
  constraint counting_pkey PRIMARY KEY (id)

table tock.deaths
  number bigint not null default nextval('death_numbers'::regclass)
  queue text not null
  error text
  deaths integer not null
  ids bigint[] not null
  died_at timestamp with time zone not null default clock_timestamp()
  constraint deaths_are_counted CHECK ((deaths > 0))
  constraint deaths_pkey PRIMARY KEY (number)

table tock.duties
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
  reached_gate text[]
  writers text[] not null default '{}'::text[]
  constraint duties_pkey PRIMARY KEY (name)
  constraint duty_comes_again CHECK (((every_seconds > 0) AND (failures >= 0)))

table tock.epochs
  number integer not null
  first_position bigint not null
  end_position bigint not null
  made_at timestamp with time zone not null default now()
  writers_at_end text[]
  settled_at timestamp with time zone
  started_at timestamp with time zone
  audited_at timestamp with time zone
  audit_stream integer
  audit_position bigint
  audit_runs bigint
  queues text[] not null default '{}'::text[]
  dead jsonb not null default '{}'::jsonb
  drop_after timestamp with time zone
  drop_tries integer not null default 0
  counted boolean not null default false
  early boolean not null default false
  constraint drops_are_counted CHECK ((drop_tries >= 0))
  constraint epoch_has_a_number CHECK (((number > 0) AND (first_position >= 0)))
  constraint epoch_is_a_range CHECK ((end_position > first_position))
  constraint epochs_do_not_overlap EXCLUDE USING gist (int8range(first_position, end_position) WITH &&)
  constraint epochs_first_position_key UNIQUE (first_position)
  constraint epochs_pkey PRIMARY KEY (number)
  constraint only_what_has_ended_is_settled CHECK (((settled_at IS NULL) OR (writers_at_end IS NOT NULL)))
  constraint only_what_is_settled_is_audited CHECK (((audited_at IS NULL) OR (settled_at IS NOT NULL)))

view tock.findings
  severity text
  finding text
  detail text
  hint text

table tock.fired
  number bigint not null
  fire_at timestamp with time zone not null
  until_at timestamp with time zone
  due_at timestamp with time zone
  fired_at timestamp with time zone not null default clock_timestamp()
  task_id bigint
  schedule text not null
  outcome text not null
  error text
  constraint fired_pkey PRIMARY KEY (number)
  constraint fires_are_left_out_up_to_a_later_one CHECK ((until_at >= fire_at))
  constraint outcome_is_known CHECK ((outcome = ANY (ARRAY['fired'::text, 'run'::text, 'overlapped'::text, 'replaced'::text, 'missed'::text, 'failed'::text])))
  constraint what_failed_says_why CHECK (((error IS NOT NULL) = (outcome = 'failed'::text)))
  constraint what_fired_made_a_task CHECK (((task_id IS NOT NULL) = (outcome = ANY (ARRAY['fired'::text, 'run'::text]))))
  CREATE INDEX fired_by_due ON tock.fired USING btree (due_at, schedule) WHERE (due_at IS NOT NULL)
  CREATE INDEX fired_by_schedule ON tock.fired USING btree (schedule, number)

table tock.fires
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
  constraint fires_pkey PRIMARY KEY (schedule, turn)
  constraint last_fire_is_told_whole CHECK ((num_nulls(last_fire_at, last_fired_at, last_outcome) = ANY (ARRAY[0, 3])))
  constraint only_what_has_no_fire_is_never_due CHECK (((fire_at IS NULL) = (due_at = 'infinity'::timestamp with time zone)))
  constraint outcome_is_known CHECK ((last_outcome = ANY (ARRAY['fired'::text, 'run'::text, 'overlapped'::text, 'replaced'::text, 'missed'::text, 'failed'::text])))
  CREATE INDEX failing_fires ON tock.fires USING btree (schedule) WHERE (failures > 0)
  CREATE INDEX fires_by_due ON tock.fires USING btree (due_at, schedule)

table tock.gates
  queue text not null
  gate text not null
  gate_limit integer
  gate_rate_limit integer
  gate_rate_seconds integer
  gate_rate_burst integer
  paused boolean not null default false
  created_at timestamp with time zone not null default now()
  constraint gate_is_1_to_504_characters CHECK (((length(gate) >= 1) AND (length(gate) <= 504)))
  constraint gate_lets_in_1_to_1000 CHECK (((gate_limit >= 1) AND (gate_limit <= 1000)))
  constraint gate_rate_is_1_to_a_million CHECK ((((gate_rate_limit >= 1) AND (gate_rate_limit <= 1000000)) AND ((gate_rate_burst >= 1) AND (gate_rate_burst <= 1000000))))
  constraint gate_rate_is_by_up_to_a_day CHECK (((gate_rate_seconds >= 1) AND (gate_rate_seconds <= 86400)))
  constraint gates_pkey PRIMARY KEY (queue, gate)

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

table tock.line_marks
  pool text not null
  line text not null
  number bigint not null
  reached bigint not null
  rest_until timestamp with time zone
  made_at timestamp with time zone not null default now()
  constraint line_is_known CHECK ((line = ANY (ARRAY['free'::text, 'waiting'::text])))
  constraint line_marks_pkey PRIMARY KEY (pool, line, number)

table tock.marks -- partition by RANGE ("position")
  "position" bigint not null
  other_id bigint
  created_at timestamp with time zone not null default now()
  stream integer not null
  kind text not null
  changes jsonb
  constraint amending_says_what CHECK (((changes IS NOT NULL) OR (kind <> 'amended'::text)))
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['cancelled'::text, 'superseded'::text, 'amended'::text])))
  constraint marks_pkey PRIMARY KEY (stream, "position", kind)
  constraint superseded_names_the_other CHECK (((other_id IS NOT NULL) = (kind = 'superseded'::text)))

table tock.migrations
  number integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
  constraint migrations_pkey PRIMARY KEY (number)

table tock.minutes
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
  constraint minutes_pkey PRIMARY KEY (queue, at, width_seconds)
  constraint width_is_a_minute_or_an_hour CHECK ((width_seconds = ANY (ARRAY[60, 3600])))
  CREATE INDEX minutes_by_time ON tock.minutes USING btree (width_seconds, at)

table tock.moves
  id bigint not null
  moved_at timestamp with time zone not null default now()
  constraint moves_pkey PRIMARY KEY (id)

table tock.nudges
  number bigint not null
  not_before timestamp with time zone not null default (clock_timestamp() + '00:00:00.5'::interval)
  child bigint
  after_position bigint
  upto bigint
  stream integer
  constraint nudge_names_a_child_or_runs CHECK (((num_nulls(child, stream) = 1) AND (num_nulls(stream, after_position, upto) = ANY (ARRAY[0, 3]))))
  constraint nudges_pkey PRIMARY KEY (number)

table tock.open_counts
  stream integer not null
  after_position bigint not null
  runs integer not null
  counted bigint[] not null default '{}'::bigint[]
  constraint open_counts_pkey PRIMARY KEY (stream, after_position)

table tock.own_leases
  queue text not null
  worker text not null
  token uuid
  claimed_at timestamp with time zone not null default now()
  constraint own_leases_pkey PRIMARY KEY (queue, worker)
  CREATE INDEX own_leases_by_time ON tock.own_leases USING btree (claimed_at)

table tock.places
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
  look_at timestamp with time zone not null default 'infinity'::timestamp with time zone
  constraint places_pkey PRIMARY KEY (number)
  CREATE INDEX free_workers ON tock.places USING btree (pool, turn) WHERE (task IS NULL)
  CREATE INDEX places_by_look ON tock.places USING btree (pool, look_at) WHERE (look_at < 'infinity'::timestamp with time zone)
  CREATE UNIQUE INDEX places_by_task ON tock.places USING btree (pool, task) WHERE (task IS NOT NULL)
  CREATE UNIQUE INDEX places_by_worker ON tock.places USING btree (pool, worker) WHERE (worker IS NOT NULL)
  CREATE INDEX waiting_tasks ON tock.places USING btree (pool, turn) WHERE (worker IS NULL)
  with (fillfactor=80)

table tock.progress
  "position" bigint not null
  told_at timestamp with time zone not null default clock_timestamp()
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
  gate_limit integer not null default 1
  gate_retry text not null default 'keep'::text
  gate_rate_limit integer
  gate_rate_seconds integer not null default 1
  gate_rate_burst integer
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
  constraint dead_webhook_is_an_object CHECK ((jsonb_typeof(dead_webhook) = 'object'::text))
  constraint default_policy_has_no_push CHECK (((name <> '*'::text) OR (push IS NULL)))
  constraint gate_lets_in_1_to_1000 CHECK (((gate_limit >= 1) AND (gate_limit <= 1000)))
  constraint gate_rate_is_1_to_a_million CHECK ((((gate_rate_limit >= 1) AND (gate_rate_limit <= 1000000)) AND ((gate_rate_burst >= 1) AND (gate_rate_burst <= 1000000))))
  constraint gate_rate_is_by_up_to_a_day CHECK (((gate_rate_seconds >= 1) AND (gate_rate_seconds <= 86400)))
  constraint gate_retry_is_known CHECK ((gate_retry = ANY (ARRAY['keep'::text, 'yield'::text])))
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
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['audit'::text, 'guard'::text])))
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
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['rerun'::text, 'redrive'::text])))
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
  options jsonb
  constraint runs_pkey PRIMARY KEY (stream, "position")

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

table tock.turns
  number bigint not null
  last_ticket bigint not null
  alarm bigint
  turned_at timestamp with time zone not null default clock_timestamp()
  looked_at timestamp with time zone
  level double precision
  queue text not null
  gate text not null
  inside bigint[] not null
  constraint turns_pkey PRIMARY KEY (queue, gate, number)

table tock.unique_keys
  number bigint not null
  task_id bigint not null
  until timestamp with time zone
  changed_at timestamp with time zone
  created_at timestamp with time zone not null default clock_timestamp()
  written_at timestamp with time zone not null default clock_timestamp()
  queue text not null
  unique_key text not null
  constraint keys_turns_are_counted CHECK ((number > 0))
  constraint unique_keys_pkey PRIMARY KEY (queue, unique_key, number)
  CREATE INDEX unique_keys_by_age ON tock.unique_keys USING btree (queue, written_at)

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
  options jsonb
  gate text
  ticket bigint
  after_due timestamp with time zone
  constraint child_stands_at_no_gate CHECK (((after_due IS NULL) OR (ticket IS NULL)))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))
  constraint run_was_lost_less_often_than_begun CHECK (((lost >= 0) AND (attempt > lost)))
  constraint ticket_is_for_a_gate CHECK (((ticket IS NULL) OR (gate IS NOT NULL)))
  constraint waiting_pkey PRIMARY KEY ("position")
  CREATE INDEX waiting_at_gates ON tock.waiting USING btree (queue, gate, ticket) WHERE (ticket IS NOT NULL)
  CREATE INDEX waiting_by_due ON tock.waiting USING btree (due_at, "position")
  CREATE INDEX waiting_by_position ON tock.waiting USING btree (queue, "position")
  CREATE INDEX waiting_by_queue ON tock.waiting USING btree (queue, due_at, "position")
  CREATE INDEX waiting_by_task ON tock.waiting USING btree (task_id) WHERE (task_id IS NOT NULL)

table tock.watches
  "position" bigint not null
  child bigint not null
  watched_at timestamp with time zone not null default clock_timestamp()
  stream integer not null
  n integer not null
  held_up boolean not null default false
  constraint watches_pkey PRIMARY KEY (stream, "position", child)
  CREATE INDEX watches_by_child ON tock.watches USING btree (child)
  CREATE INDEX watches_held_up ON tock.watches USING btree (stream, "position") WHERE held_up

sequence tock.act_numbers 1 to 9223372036854775807 cache 1

sequence tock.archived_files_number_seq 1 to 9223372036854775807 cache 1

sequence tock.death_numbers 1 to 9223372036854775807 cache 1

sequence tock.fired_number_seq 1 to 9223372036854775807 cache 1

sequence tock.identity -9223372036854775808 to 9223372036854775807 cache 1

sequence tock.nudges_number_seq 1 to 9223372036854775807 cache 1

sequence tock.place_numbers 1 to 9223372036854775807 cache 1

sequence tock.positions 1 to 8796093022207 cache 1

sequence tock.reports_number_seq 1 to 9223372036854775807 cache 1

sequence tock.stream_numbers 1 to 1048575 cache 1

type tock.allowance (number bigint, taken_at timestamp with time zone, seen_at timestamp with time zone, level double precision, running integer, leases uuid[], allowed integer, after_seconds integer, unwritten boolean)

type tock.archive_rows (count integer, digest text, texts text, last_stream integer, last_position bigint, first_created_at timestamp with time zone, last_created_at timestamp with time zone, queues text[], begun bigint[])

type tock.candidate (stream integer, priority smallint, after_position bigint)

type tock.claim_range (epoch integer, stream integer, after_position bigint, most integer, bytes integer, one boolean, token uuid, worker text, leased_until timestamp with time zone, max_attempts smallint, priority smallint)

type tock.claimed (lease uuid, leased_until timestamp with time zone, id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text, created_at timestamp with time zone, payload jsonb)

type tock.claimed_from (queue text, lease uuid, leased_until timestamp with time zone, id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text, created_at timestamp with time zone, payload jsonb)

type tock.claiming (repeated uuid, allowed integer, bytes integer, leased_until timestamp with time zone, max_attempts smallint, digest bigint, allowance allowance, late boolean)

type tock.completion (good bigint[], ended ending[], spawning leased_run[], fields text[])

type tock.continuation (queue text, waits boolean, payload jsonb, unchanged boolean)

type tock.cron_plan (seconds bigint, minutes bigint, hours bigint, days bigint, months bigint, nearest bigint, weekdays smallint[], last_day boolean, last_workday boolean, any_day boolean, any_weekday boolean, both_days boolean, fixed boolean)

type tock.dependent (position bigint, upto integer, verdict text, parent bigint, current_id bigint, state text)

type tock.depth (queue text, ready bigint, running bigint, waiting bigint, dead bigint, leases bigint, oldest_ready_at timestamp with time zone)

type tock.ending (stream integer, position bigint, state text, result jsonb, error jsonb, again_at timestamp with time zone, attempt smallint, lost smallint, queue text, payload jsonb)

type tock.firing (fires timestamp with time zone[], missed_from timestamp with time zone, missed_until timestamp with time zone, next_fire_at timestamp with time zone, next_due_at timestamp with time zone)

type tock.found_run (id bigint, task_id bigint, queue text, priority smallint, tenant text, attempt smallint, max_attempts smallint, lost smallint, created_at timestamp with time zone, payload jsonb, state text, worker text, started_at timestamp with time zone, ended_at timestamp with time zone, result jsonb, error jsonb, next_id bigint, cancel_requested boolean, options jsonb, leased_until timestamp with time zone, progress real, note text)

type tock.going (n bigint, stream integer, position bigint, task_id bigint, attempt smallint, max_attempts smallint, tenant text, created_at timestamp with time zone, bytes integer, payload_of bigint, queue text, priority smallint, lane smallint, due_at timestamp with time zone, cancelled boolean, lost smallint, stage_after bigint)

type tock.lease_span (stream integer, after_position bigint, last_position bigint, skips bigint[])

type tock.leased_run (n bigint, id bigint, stream integer, position bigint, queue text, attempt smallint, lost smallint, max_attempts smallint, state text, result jsonb, error jsonb, next_id bigint)

type tock.look (epoch integer, due boolean, streams candidate[])

type tock.passed (after_position bigint, skips bigint[], upto bigint, timeout_seconds integer, passed integer)

type tock.place (epoch integer, after_position bigint)

type tock.reaped (runs integer, reached_at timestamp with time zone)

type tock.shown_schedule (name text, state text, queue text, payload jsonb, options jsonb, cron text, every_seconds integer, run_at timestamp with time zone, time_zone text, jitter_seconds integer, starts_at timestamp with time zone, ends_at timestamp with time zone, overlap text, missed text, missed_limit integer, missed_after_seconds integer, fire_as text, paused_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, next_fire_at timestamp with time zone, due_at timestamp with time zone, last_fire_at timestamp with time zone, last_fired_at timestamp with time zone, last_outcome text, last_task_id bigint, last_error text, failures integer)

type tock.whereabout (n bigint, task_id bigint, current_id bigint, state text, queue text)

type tock.wish (id bigint, cancelled boolean, changes jsonb)

function tock.act(p_verb text, p_object text, p_detail jsonb DEFAULT '{}'::jsonb)
  returns void
  -- Writes down who governs what: a verb, what it was done to, and how; never a secret, a payload or what a URL asks for.

function tock.acts(p_key text DEFAULT NULL::text, p_verb text DEFAULT NULL::text, p_object text DEFAULT NULL::text, p_before bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 100)
  returns TABLE(number bigint, at timestamp with time zone, role text, key text, key_name text, verb text, object text, detail jsonb)
  -- Who governed what, the newest first: all, or those of a key's prefix, a verb, an object; the next part is p_before the last number.
  -- for tock_admin, tock_edge

function tock.add_counts(p_one bigint[], p_other bigint[])
  returns bigint[]
  -- Two arrays of counts added up; null is none.

function tock.add_dead_task_events_1(p_ended ending[], p_queues text[])
  returns void
  -- Notes the last runs of tasks of these queues that failed or were lost in this transaction, by their error.

function tock.after_append(p_children bigint[])
  returns void
  -- Called with the positions of tasks that come after others.

function tock.after_claim(p_queue text, p_policy queues, p_asked allowance, p_token uuid, p_started integer)
  returns void
  -- Called when runs of a queue that has a limit have been leased.

function tock.after_complete(p_epoch integer, p_runs leased_run[], p_results jsonb)
  returns void
  -- Called with the runs done by this completion whose results have a spawn.

function tock.after_runs_ended(p_epoch integer, p_ended ending[])
  returns void
  -- Called when runs of a lease with options have ended and the lease has been closed as far as it goes.

function tock.after_sweep()
  returns integer
  -- Makes ready what waits at a feature and was missed: how much.

function tock.ago(p_at timestamp with time zone)
  returns text
  -- How long ago, in words; null of null.

function tock.allowance_of(p_queue text, p_policy queues)
  returns allowance
  -- What a queue's limits allow at this moment, and what is running; allowed is null while that can't be told.

function tock.amend(p_found whereabout[], p_changes jsonb)
  returns void
  -- Notes for the next attempts of tasks what is to be changed; p_found says where they were.

function tock.append_any(p_queue text, p_tasks jsonb, p_policy queues)
  returns bigint[]
  -- Appends tasks with any options, those that are due later to waiting, and returns their ids in order.

function tock.append_keyed(p_queue text, p_tasks jsonb, p_policy queues)
  returns bigint[]
  -- append_unique() for up to 1,000 tasks that may change others; TK503 when somebody holds one of those for longer than is waited.

function tock.append_one(p_queue text, p_payload jsonb)
  returns bigint
  -- Appends one task without options in the epoch in use and returns its id; null where it takes more than that: then append_plain() does it.

function tock.append_plain(p_queue text, p_tasks jsonb, p_policy queues)
  returns bigint[]
  -- Appends tasks that have nothing but a payload, up to 5,000, and returns their ids in order.

function tock.append_round(p_queue text, p_tasks jsonb, p_again boolean[], p_policy queues)
  returns bigint[]
  -- append_unique() for tasks with a different key each, in the order of these; p_again: which keys come again in its call.

function tock.append_unique(p_queue text, p_tasks jsonb, p_policy queues)
  returns bigint[]
  -- Appends tasks of which some have unique keys, unless a task that has the key stands for them; returns the ids in order.

function tock.append_with_keys(p_queue text, p_tasks jsonb, p_policy queues)
  returns bigint[]
  -- Appends tasks of which some have a unique key; calls append_any() for those that are new.

function tock.archive()
  returns TABLE(enabled boolean, prefix text, waiting integer, oldest_waiting_at timestamp with time zone, exported integer, files bigint, rows bigint, bytes bigint, erasures_pending integer, objects_unwanted integer, last_step_at timestamp with time zone, failures integer, failed_at timestamp with time zone, last_error text)
  -- How the archive stands: whether it is on, how many epochs wait for it and lie in it, its files, and how its last step went.
  -- for tock_admin, tock_edge

function tock.archive_abandoned(p_path text)
  returns boolean
  -- Gives up an object that was to become a file; false when it is one.
  -- for tock_admin, tock_edge

function tock.archive_deleted(p_paths text[])
  returns integer
  -- Notes that unwanted objects have been deleted; returns how many.
  -- for tock_admin, tock_edge

function tock.archive_dropped(p_epoch integer)
  returns void
  -- Notes that an epoch is in the archive only, from now on; one that is not there leaves nothing behind.

function tock.archive_emptied(p_options text[])
  returns text[]
  -- What is left of the options of erased runs.
  -- for tock_admin, tock_edge

function tock.archive_epoch_of(p_position bigint)
  returns integer
  -- The number of the epoch that a position lies or lay in; 0 when none is known.

function tock.archive_erased(p_task_id bigint, p_file bigint)
  returns boolean
  -- Notes that none of the files up to one hold more of a task than they may: true when that were all of them.
  -- for tock_admin, tock_edge

function tock.archive_erasing(p_limit integer DEFAULT 4)
  returns TABLE(task_id bigint, files jsonb, erased bigint[])
  -- The task whose turn it is to be erased from the archive, the next files that may hold runs of it, and all tasks that are to be; no row when there is none.
  -- for tock_admin, tock_edge

function tock.archive_part(p_limit integer DEFAULT 10000, p_bytes bigint DEFAULT 4194304)
  returns TABLE(epoch integer, part integer, path text, count integer, digest text, rows text)
  -- The next part of the oldest epoch that is past its retention: its runs as texts, their digest, and the path noted for its file; no row when nothing is due. An epoch whose parts are all there is verified on the way.
  -- for tock_admin, tock_edge

function tock.archive_rewriting(p_path text)
  returns text
  -- The path noted for a file that is to stand for another one; null when that is no file any more.
  -- for tock_admin, tock_edge

function tock.archive_rewritten(p_path text, p_new text, p_bytes bigint, p_sha256 text, p_digest text)
  returns boolean
  -- Puts a file in the place of another from which tasks were erased; TK409 when somebody was first. A repeated call answers the same.
  -- for tock_admin, tock_edge

function tock.archive_rows(p_epoch integer, p_stream integer, p_position bigint, p_last_stream integer, p_last_position bigint, p_limit integer, p_bytes bigint)
  returns archive_rows
  -- The runs of an epoch after a place in it, up to another, up to p_limit and about p_bytes, and what they come to.

function tock.archive_search(p_queue text, p_from timestamp with time zone, p_to timestamp with time zone, p_epoch integer DEFAULT NULL::integer, p_part integer DEFAULT NULL::integer, p_limit integer DEFAULT 4)
  returns TABLE(files jsonb, erased text[], from_micros text, to_micros text)
  -- The newest files of the archive, from a part on, that may have tasks of a queue which were made in a time; the tasks that are to be erased (null when they are too many to name), and that time in microseconds.
  -- for tock_admin, tock_edge

function tock.archive_stepped(p_error text DEFAULT NULL::text)
  returns void
  -- Notes how a step of the archive went: p_error is null when it did.
  -- for tock_admin, tock_edge

function tock.archive_unwanted(p_limit integer DEFAULT 20)
  returns text[]
  -- Objects that are to be deleted: no file of the archive any more, or never one.
  -- for tock_admin, tock_edge

function tock.archived(p_path text, p_bytes bigint, p_sha256 text, p_rows integer, p_digest text)
  returns boolean
  -- Records a part's file that was read back and found whole; TK409 when it isn't what the epoch holds now, or somebody was first. A repeated call answers the same.
  -- for tock_admin, tock_edge

function tock.archived_run(p_archived found_run[], p_id bigint, p_task_id bigint)
  returns found_run
  -- A run among those that were read from the archive, by its id or that of the entry that became it; null when it isn't there.

function tock.archived_runs(p_rows jsonb)
  returns found_run[]
  -- Runs as the archive has them, as runs.

function tock.are_plain(p_tasks jsonb)
  returns boolean
  -- Whether each of these tasks has nothing but a payload.

function tock.arrived_runs_1(p_stream integer, p_runs_to bigint, p_leases_to bigint)
  returns TABLE(runs bigint, leased bigint, last_position bigint)
  -- What came to a stream in the segment since it was counted, up to a million, what was leased of it, and up to where.

function tock.ask_allowance(p_queue text, p_policy queues, p_wait boolean)
  returns allowance
  -- allowance_of(), with the lock of the queue's limit held where it allows something; allowed is null when others have that lock (p_wait: for longer than 50 ms).

function tock.asked_error(p_key text, p_value jsonb, p_options jsonb)
  returns text[]
  -- What is wrong with one of a task's options beside the plain ones: {field, message}, or null.

function tock.asked_options()
  returns TABLE(name text, kind text, low numeric, high numeric, words text[])
  -- The options of a task beside the plain ones, and what each may be.

function tock.assign(p_pool text, p_task text, p_worker text DEFAULT NULL::text, p_lease_seconds integer DEFAULT NULL::integer, p_wait boolean DEFAULT false)
  returns TABLE(state text, worker text, fence bigint, leased_until timestamp with time zone)
  -- Gives a task to the worker that has been free for longest, or to p_worker, whether it has joined or not. State: assigned; held, by whom, when it was before; none when nobody is free (p_worker: it holds another), or waiting, with p_wait until a worker takes it.
  -- for tock_admin, tock_edge, tock_producer

function tock.assign_all(p_pool text, p_tasks text[], p_lease_seconds integer DEFAULT NULL::integer)
  returns TABLE(task text, state text, worker text, fence bigint, leased_until timestamp with time zone)
  -- As assign(), for up to 10,000 tasks at once: each gets a free worker of its own while there are any. In the order given; states assigned, held, waiting, none, and busy for what others are giving away at this moment.
  -- for tock_admin, tock_edge, tock_producer

function tock.audit(p_limit integer DEFAULT 1000000)
  returns integer
  -- Counts the runs of the oldest settled epoch against its leases, about p_limit a call, and goes on from there the next time; returns how many it looked at.
  -- for tock_admin

function tock.authorize(p_key text, p_scope text, p_queue text DEFAULT NULL::text, p_own boolean DEFAULT false, p_again boolean DEFAULT false)
  returns boolean
  -- True when a key has a scope, for a queue if one is named; else raises TK401, TK403, or TK429 where its rate is used up (not where a call that waits looks p_again). A key for some tenants passes only where the caller keeps to their tasks (p_own).
  -- for tock_edge

function tock.authorize_archived(p_key text, p_scope text, p_tenant text, p_queue text, p_options jsonb)
  returns boolean
  -- True when a key may see a task that was read from the archive, false where it is another tenant's; TK403 where it is not for its queue, or a stage of its pipeline.

function tock.authorize_tasks(p_key text, p_tasks jsonb, p_field text)
  returns void
  -- Raises TK403 where a key may not enqueue tasks that lead to these stages, or come after these parents.

function tock.back_at(p_queue text, p_options jsonb)
  returns timestamp with time zone
  -- When a task whose run was lost or given back is ready again: at once, or by way of waiting, to stand at its gate, where that is paused.

function tock.back_off(p_epoch epochs)
  returns void
  -- Leaves an epoch alone for a while: a minute, two, four ... an hour.

function tock.backoff_error(p_backoff jsonb)
  returns text[]
  -- What is wrong with a task's backoff: {field, message}, or null.

function tock.backoff_seconds(p_policy queues, p_failures integer)
  returns double precision
  -- Seconds to wait after the n-th failure: base (fixed), base * n (linear) or base * factor^(n-1) (exponential), capped, less a random share of up to the jitter.

function tock.balance(p_streams integer DEFAULT 1000)
  returns integer
  -- Finds lanes that one tenant fills, among p_streams streams, and gives those back that have been worked off; returns how many changed.
  -- for tock_admin

function tock.beat(p_place places, p_lease_seconds integer, p_joined boolean)
  returns timestamp with time zone
  -- Moves a worker's end, or gives the one it has while somebody else holds its row; null when its place is over or gone.

function tock.before_append(p_queue text, p_tasks jsonb, p_policy queues)
  returns void
  -- Checks what tasks ask of features; TK422 names the field.

function tock.before_claim(p_queue text, p_policy queues, p_wait boolean)
  returns allowance
  -- How many runs of a queue that has a limit may start; called for such queues only.

function tock.before_complete(p_lease uuid, p_results jsonb)
  returns void
  -- Checks what results ask of features; TK422 names the field.

function tock.before_next_attempts(p_again going[], p_fields text[])
  returns void
  -- Checks tasks that go on in another queue with the payload they have.

function tock.before_promotion(p_sweep boolean)
  returns void
  -- Makes due what features have put off until now.

function tock.before_segment_drop(p_epoch epochs)
  returns boolean
  -- Whether nothing of a segment is needed any more by what counts its runs.

function tock.begin_archive(p_epoch epochs)
  returns archives
  -- An epoch's row in the archive, made where there is none.

function tock.begin_claim(p_queue text, p_worker text, p_limit integer, p_lease_seconds integer, p_request_id text, p_bytes integer, p_late boolean)
  returns claiming
  -- What a claim may take: allowed is 0 or less where the queue is paused or at its limit; repeated is the lease that a call with this request_id has had. Raises TK422 for arguments that claim() doesn't take.

function tock.begin_wait(p_position bigint, p_run_id bigint, p_result jsonb, p_field text)
  returns void
  -- Has a task's next entry wait for what its run spawns: its payload is {payload, result} until the children's results are added.

function tock.behind_others(p_positions bigint[], p_from timestamp with time zone)
  returns bigint[]
  -- Those of some waiting entries that are due at a gate which come after one that is not among them.

function tock.being_ended(p_ids bigint[], p_own bigint[])
  returns bigint[]
  -- Which of these runs and waiting entries another transaction may be about to end, or make a run. The rows of p_own are locked by the caller itself.

function tock.bounds()
  returns double precision[]
  -- The upper bounds of the buckets in which waits and runs are counted, in seconds; what is above the last has a bucket of its own.

function tock.bucket_level(p_level double precision, p_at timestamp with time zone, p_now timestamp with time zone, p_limit integer, p_seconds integer, p_burst integer)
  returns double precision
  -- How many a bucket holds that had p_level at p_at and gets p_limit each p_seconds, up to p_burst (p_limit when null); full where it had no level.

function tock.bucket_of(p_seconds double precision)
  returns integer
  -- The number of the bucket for so many seconds, from 1.

function tock.cancel(p_ids bigint[])
  returns TABLE(id bigint, state text, changed boolean)
  -- Cancels up to 10,000 tasks: waiting and ready ones never start (unless a claim that is under way has them); the worker of a running one is asked to stop (extend() says so) and it is not tried again (but once, where its attempt is ending at that very moment). A row a task: the state it is in, and whether this changed anything.
  -- for tock_admin, tock_edge, tock_producer

function tock.cancel_children(p_off dependent[])
  returns bigint[]
  -- Cancels children one of whose parents did not end well, and returns those of their own that are to be looked at, locked.

function tock.cancel_overdue(p_seconds integer DEFAULT 60)
  returns integer
  -- Cancels calls of tick() and run_duty() by this role that have taken longer than p_seconds; returns how many.

function tock.cancel_where(p_queue text, p_filter jsonb DEFAULT '{}'::jsonb, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 1000)
  returns TABLE(matched integer, changed integer, cursor text, looked_at integer)
  -- Cancels up to p_limit tasks of a queue ({state: waiting, ready or running, tenant}; waiting and ready ones without a state), as cancel() does. One row: how many were matched and changed, and the cursor to go on with, null at the end; calls that go on leave out what came since.
  -- for tock_admin, tock_edge, tock_producer

function tock.cancelled_for(p_options jsonb)
  returns jsonb
  -- The error of a task that was cancelled for one of its parents; null of another.

function tock.candidates_anywhere(p_queue text, p_seed integer, p_seen integer[], p_limit integer)
  returns candidate[]
  -- Streams to draw from, whichever epoch they are in.

function tock.change(p_ids bigint[], p_changes jsonb)
  returns TABLE(id bigint, state text, changed boolean)
  -- Changes priority, run_at (or delay_seconds) or payload of up to 10,000 tasks; of a running one, for its next attempt, if there is one (for the one after, where that is being decided on at that very moment). A row a task: the state it was found in, and whether this changed anything: not, when it had ended. Ready tasks are replaced, those of up to 1,000 streams a call: until the transaction ends no claim takes from these streams, so change in a transaction of its own. TK503 when a stream stays claimed for 2 s, TK409 outside read committed.
  -- for tock_admin, tock_edge, tock_producer

function tock.change_held(p_key unique_keys, p_at whereabout, p_task jsonb)
  returns boolean
  -- Gives the task that has a unique key what the new one brings; whether it stands for that one.

function tock.change_waiting(p_found whereabout[], p_changes jsonb)
  returns bigint[]
  -- Changes waiting entries; returns the ids of those that were still waiting.

function tock.changed_payload(p_id bigint)
  returns jsonb
  -- The payload that a task or run is to have from its next attempt on.

function tock.check_after(p_tasks jsonb)
  returns void
  -- Raises TK422 unless what a call's tasks come after is there: names of the call without a cycle, * for all before it, or ids.

function tock.check_changes(p_changes jsonb)
  returns jsonb
  -- The changes in the form they are kept in; TK422 names the field that can't be.

function tock.check_claim(p_queue text, p_worker text, p_limit integer, p_lease_seconds integer)
  returns void
  -- Raises TK422 for arguments that claim() doesn't take.

function tock.check_dead_webhook(p_queue text, p_webhook jsonb)
  returns void
  -- Raises TK422 for a dead_webhook that a queue can't have.

function tock.check_failures(p_failures jsonb, p_all boolean)
  returns void
  -- Raises TK422 for failures that are not as they should be.

function tock.check_filter(p_filter jsonb, p_states text[], p_limit integer, p_most integer, p_names text[])
  returns void
  -- Raises TK422 for a filter or limit that can't be.

function tock.check_gate(p_queue text, p_gate text)
  returns void
  -- Raises TK422 for what can't be a gate.

function tock.check_ids(p_ids bigint[])
  returns bigint[]
  -- The ids, each once, in order: a request id's digest is made of them, and no plan may decide it. TK422 when they are none or too many.

function tock.check_key(p_key keys)
  returns void
  -- Raises TK422 for what no key can be.

function tock.check_new_ids(p_ids bigint[])
  returns void
  -- TK503 when an id that was just given to a waiting entry is another task's.

function tock.check_not_webhooks(p_queue text, p_field text)
  returns void
  -- Raises TK422 where somebody would have Tock sign what Tock didn't say.

function tock.check_own_tasks(p_tenants text[], p_tasks jsonb)
  returns void
  -- Raises TK403 where tasks are of other tenants than these, and TK422 where they come after such, or are a part of one: as if it weren't there.

function tock.check_parents_key(p_key text, p_tasks jsonb, p_field text)
  returns void
  -- Raises TK403 where tasks come after some that a key is not for.

function tock.check_payload_fits(p_changes jsonb, p_queue text, p_tasks integer)
  returns void
  -- Raises TK422 for a payload larger than its queue takes, or than so many tasks may be given at once.

function tock.check_pipelines(p_queue text, p_tasks jsonb)
  returns void
  -- Raises TK422 for the first task that is enqueued into a queue that is none of its stages.

function tock.check_place(p_pool text, p_worker text, p_task text, p_lease_seconds integer)
  returns void
  -- Raises TK422 for what can't be a pool, a worker, a task or a lease's length.

function tock.check_policy(p_policy jsonb)
  returns jsonb
  -- A queue's settings in the form they are kept in; TK422 names the one that can't be.

function tock.check_progress(p_progress jsonb)
  returns bigint[]
  -- The ids of [{id, progress, note}], null for one object for all; TK422 names what can't be.

function tock.check_push(p_tasks jsonb, p_policy queues)
  returns void
  -- Raises TK422 for the first task that has a push_url where nobody pushes, or none where it needs one.

function tock.check_push_policy(p_queue text, p_push jsonb)
  returns void
  -- Raises TK422 for a push that a queue can't have.

function tock.check_queue_name(p_queue text)
  returns void
  -- Raises TK422 for what can't be a queue's name.

function tock.check_queues(p_queues text[], p_weights integer[])
  returns void
  -- Raises TK422 for queues and weights that claim_any() doesn't take.

function tock.check_read_committed(p_verb text)
  returns void
  -- TK409 in a transaction that keeps one snapshot, which claims and changes can't work on.

function tock.check_rows(p_rows jsonb, p_field text, p_allowed text[])
  returns void
  -- Raises TK422 unless p_rows is an array of objects with these keys only, each of a bearable size.

function tock.check_schedule(p_schedule text, p_settings jsonb)
  returns schedules
  -- A schedule's settings as a row, with what is left out; TK422 names what can't be.

function tock.check_schedule_name(p_schedule text)
  returns void
  -- Raises TK422 for what can't be a schedule's name.

function tock.check_schedule_settings(p_settings jsonb)
  returns void
  -- Raises TK422 for the first setting of a schedule that is not as it should be.

function tock.check_schedule_task(p_schedule schedules)
  returns void
  -- Raises TK422 unless the tasks of a schedule could be enqueued.

function tock.check_sequence(p_taken bigint)
  returns void
  -- TK503 when the next position may not be above p_taken: the sequence was set back, or sessions keep some of it.

function tock.check_spawns(p_results jsonb)
  returns void
  -- Raises TK422 for what no run can spawn, TK403 where the caller's role may not enqueue.

function tock.check_stage_takes(p_policy queues, p_payload jsonb, p_field text)
  returns void
  -- Raises TK422 for a result that is too large to be the next stage's payload.

function tock.check_stages_take(p_again going[], p_fields text[])
  returns void
  -- Raises TK422, naming the field, for the first payload that goes on as it is and is too large for the next stage.

function tock.check_tasks(p_tasks text[], p_most integer)
  returns void
  -- Raises TK422 for what can't be a list of tasks.

function tock.check_time_zone(p_zone text)
  returns void
  -- Raises TK422 for what is no name of the time zone database.

function tock.check_waiting_ids()
  returns void
  -- TK503 when an id for a waiting entry might be given out twice.

function tock.claim(p_queue text, p_worker text DEFAULT NULL::text, p_limit integer DEFAULT 1, p_lease_seconds integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text, p_alone boolean DEFAULT false, p_bytes integer DEFAULT 4194304)
  returns SETOF claimed
  -- Leases up to p_limit ready runs to a worker, priorities in order and lanes in turn, and returns them with their payloads; no rows when nothing is ready (claim_state() says why). A call repeated with its request_id gives the same runs while its lease is open (TK409 after). p_alone says that the statement is the whole transaction and does nothing else: then it commits asynchronously and promotes what is due. Until a claim's transaction ends nobody else claims from its streams: claim in a transaction of its own, complete in yours (TK409 outside read committed). p_bytes bounds the payloads of the first stream; when it is given, a larger run stays.
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_any(p_queues text[], p_worker text DEFAULT NULL::text, p_limit integer DEFAULT 1, p_lease_seconds integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text, p_alone boolean DEFAULT false, p_weights integer[] DEFAULT NULL::integer[])
  returns SETOF claimed_from
  -- claim() from several queues, up to 20: from the first what it has, then from the next what is left of p_limit, and so on; with p_weights in an order that each call draws by them, so that over many calls the shares follow the weights while all have work. Each queue's runs have a lease of their own. claim_state() says why nothing came. A call repeated with its request_id gives what is left of the same leases (TK409 when nothing is).
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_one(p_queue text, p_seed integer, p_worker text, p_seconds integer, p_alone boolean)
  returns claimed
  -- Claims one run in the epoch in use; id 0 when nothing is ready, null where it takes more than that: then the slow way.

function tock.claim_own(p_queue text, p_worker text, p_lease_seconds integer DEFAULT NULL::integer)
  returns SETOF claimed
  -- Claims one run for a worker that may hold one of the queue: while its last lease is open it gets that one again, with a later end.
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_state(p_queues text[], OUT state text, OUT retry_after_seconds integer)
  returns record
  -- Why a claim from these queues finds nothing now: empty, paused, limited (as many are running, or were started, as the queue's limits allow), busy (there is something, which others hold, or which has just come) or passing (there are more cancelled runs than the 10,000 that one claim passes over: claim again at once); and when to come back, in seconds: 0 when passing, 1 when busy, those to the next start that a rate allows when limited, else those to the next waiting task, 1 to 30. Of several queues, the best of their states and the soonest time.
  -- for tock_admin, tock_edge, tock_worker

function tock.claim_streams(p_queue text, p_seed integer, p_worker text, p_request_id text, p_alone boolean, p_claim claiming)
  returns SETOF claimed
  -- Leases runs from one stream of a queue after another, until a claim has as many as it may take.

function tock.claimed_of(p_queue text, p_run claimed)
  returns claimed_from
  -- What claim() has returned for a run, with its queue.

function tock.clock_change(p_zone text, p_from bigint, p_to bigint)
  returns bigint
  -- When the clocks of a time zone change between two instants within two days, at the second of which they differ.

function tock.clock_offset(p_zone text, p_at bigint)
  returns integer
  -- By how many seconds the clocks of a time zone are ahead of UTC at an instant.

function tock.close_ended_1(p_lease uuid, p_epoch integer)
  returns boolean
  -- Closes the rows of a lease of one segment whose runs are all accounted for; null when another segment is meant.

function tock.close_ended_current(p_lease uuid, p_epoch integer)
  returns boolean
  -- Closes the rows of a lease of one segment whose runs are all accounted for; null when another segment is meant.

function tock.close_lease(p_lease uuid, p_epoch integer)
  returns void
  -- Closes the rows of a lease whose runs are all accounted for.

function tock.closing_cycles(p_watch dependent[])
  returns dependent[]
  -- Those of children that wait for themselves, and are the youngest of their cycle.

function tock.come_to_gates(p_positions bigint[])
  returns void
  -- Has waiting entries that are due stand at their gates, and lets in whoever there is room for.

function tock.compile_current()
  returns void
  -- Makes the functions of the segment in use under their fixed names.

function tock.compile_segment(p_epoch integer)
  returns void
  -- Makes the functions of a segment: when the segment is made, and at each deploy.

function tock.compile_template(p_template segment_templates, p_epoch epochs, p_suffix text, p_valid_until bigint, p_is_current text)
  returns void
  -- Makes one function of a segment from its template.

function tock.complete(p_lease uuid, p_results jsonb DEFAULT NULL::jsonb)
  returns TABLE(completed integer, refused bigint[])
  -- Ends runs of a lease as done: all that are left, or those in results ([{id, result, stage, spawn}]); a queue without keep_results keeps no result. A task with a pipeline goes on in its next stage, or the one named (null: it ends), the result being its payload. spawn ({queue, tasks, wait, on_failure}) enqueues tasks; with wait the task goes on when those have ended, with their results. Returns how many are done by this call (or the same call before) and the ids that were not this lease's to complete; no row when the lease is over.
  -- for tock_admin, tock_edge, tock_worker

function tock.complete_runs(p_lease uuid, p_results jsonb)
  returns TABLE(completed integer, refused bigint[])
  -- complete() for a lease that is ended by its runs.

function tock.completion_of(p_runs leased_run[], p_results jsonb, p_options jsonb)
  returns completion
  -- What a completion makes of runs of a lease: which are done by it, or were before, what they lead to, and which spawn tasks.

function tock.count_some(p_streams integer[], p_open open_counts[], p_limit integer, OUT unfinished integer[], OUT amount integer)
  returns record
  -- Counts up to p_limit new runs and leases of each of some streams, and what has ended of leases that were open; says which streams have more, and how much it read.

function tock.count_use(p_prefix text)
  returns boolean
  -- Counts one use of a key; true.

function tock.counts(p_task jsonb, p_state text, p_created_at timestamp with time zone, p_now timestamp with time zone)
  returns boolean
  -- Whether a key's last task, of which this is known, still counts for the task that comes.

function tock.create_key(p_name text, p_scopes text[], p_queues text[] DEFAULT NULL::text[], p_tenants text[] DEFAULT NULL::text[], p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_expires_in_seconds double precision DEFAULT NULL::double precision, p_rate_limit integer DEFAULT NULL::integer, p_rate_seconds integer DEFAULT NULL::integer)
  returns TABLE(key text, prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, replaces text)
  -- Makes a key with scopes (enqueue, claim, read, admin) for all queues or those named, for all tenants or those named, until an instant and up to a rate where they are given. The key itself is shown this once; only its hash is kept.
  -- for tock_admin, tock_edge

function tock.cron_after(p_plan cron_plan, p_zone text, p_after timestamp with time zone)
  returns timestamp with time zone
  -- The first instant after another at which a cron expression fires in a time zone; null when none comes.

function tock.cron_days(p_plan cron_plan, p_text text)
  returns cron_plan
  -- A plan with what its expression says of the day of the month.

function tock.cron_days_of(p_plan cron_plan, p_first date)
  returns bigint
  -- The days of a month, by its first, that a cron expression names, as bits.

function tock.cron_field(p_field text, p_text text)
  returns bigint
  -- The numbers that a field of a cron expression stands for, as bits.

function tock.cron_home()
  returns text
  -- The database that pg_cron works in, ? where that may not be known; null where it is not loaded.

function tock.cron_interval(p_seconds integer)
  returns text
  -- A pg_cron schedule for every p_seconds (under 60): by seconds from pg_cron 1.5 on, by minutes before.

function tock.cron_jobs()
  returns TABLE(job text, command text)
  -- The jobs that pg_cron has to have, and what each calls.

function tock.cron_jobs_list()
  returns TABLE(jobname text, schedule text, active boolean, last_status text, last_at timestamp with time zone)
  -- Tock's jobs of pg_cron and how each went last; none where it isn't in this database.
  -- for tock_admin, tock_edge

function tock.cron_names(p_field text, p_item text)
  returns text
  -- A part of a cron field with numbers in place of the names of months and days.

function tock.cron_skipped(p_plan cron_plan, p_change bigint, p_before integer, p_after integer)
  returns boolean
  -- Whether clocks that jump ahead skip a time that a cron expression names, of the day they come to.

function tock.cron_time(p_plan cron_plan, p_from integer)
  returns integer
  -- The first second of a day, from one on, that a cron expression names; null when none is left.

function tock.cron_version()
  returns text
  -- The version of pg_cron in this database; null where it is not there.

function tock.cron_wall(p_plan cron_plan, p_from bigint)
  returns bigint
  -- The first time that clocks show, from one on, that a cron expression names; null when none comes.

function tock.cron_weekdays(p_plan cron_plan, p_text text)
  returns cron_plan
  -- A plan with what its expression says of the day of the week.

function tock.current_epoch()
  returns integer
  -- The epoch in use, while the functions compiled for it are right; else null.

function tock.current_place(p_stream integer)
  returns place
  -- Where a stream's next claim starts, in the epoch in use; null where it takes a closer look.

function tock.cursor_of(p_stream integer)
  returns bigint
  -- Where a stream's next claim starts.

function tock.deactivate_idle_streams_1(p_slot integer, p_limit integer)
  returns integer
  -- Puts streams of a slot to sleep that have nothing above their cursor in the segment in use; returns how many.

function tock.dead_groups(p_queue text, p_limit integer DEFAULT 100, p_look integer DEFAULT 100000)
  returns TABLE(error text, tasks integer, newest_at timestamp with time zone, newest_id bigint, counted_all boolean)
  -- Dead tasks of a queue that were not run again, by what their error says (200 characters), the most frequent first, each with the newest one. Looks at the newest epochs' dead tasks, p_look at most; counted_all says whether that was all of them.
  -- for tock_admin, tock_edge, tock_producer

function tock.dead_groups_1(p_queue text, p_look integer, p_since timestamp with time zone)
  returns TABLE(seen bigint, errors jsonb)
  -- dead_groups() for one segment: how many dead tasks it looked at, and the groups.

function tock.dead_in(p_epoch integer)
  returns jsonb
  -- How many tasks died in an epoch, by queue.

function tock.deaths_due_at()
  returns timestamp with time zone
  -- When the duty deaths has something to tell; null while it has nothing.

function tock.deaths_from()
  returns bigint
  -- Below that number no death is left to tell.

function tock.depths()
  returns SETOF depth
  -- How much there is of each queue as far as it has been counted: a look at each stream that has something, and at each open lease.

function tock.described_session(p_pid integer)
  returns text
  -- Who a session is, what it does, and the first words of its statement, as far as the owner may see.

function tock.deserted_pools()
  returns SETOF places
  -- The oldest tasks of pools, among the first 1,000, where it has waited for over ten minutes while no worker holds any.

function tock.doctor()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What is not as it should be, critical first, then warnings, then notes, which can wait; and what to do about each. No row when all is well.
  -- for tock_admin, tock_edge

function tock.doctor_of_archive()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of the archive: that its steps fail, that epochs have waited for it for a day, and erasures.

function tock.doctor_of_connections()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says when nearly all connections are taken, and by whom most.

function tock.doctor_of_cron()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of pg_cron itself: whether it runs, how old it is, how many jobs it may run.

function tock.doctor_of_cron_jobs()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of pg_cron's jobs: those missing, off or changed, and those that are twice there or left over.

function tock.doctor_of_cron_notes(p_bytes bigint DEFAULT 67108864)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of what pg_cron noted: jobs whose last run failed, or over p_bytes of notes.

function tock.doctor_of_deaths()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of ten dead tasks or more with one error, the newest of them within the hour.

function tock.doctor_of_duties()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of the duties: those that fail, and those that are late, a note while nothing waits for them.

function tock.doctor_of_epochs()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of epochs behind: the oldest that is over for a day and not settled, and the oldest that is not dropped a day past its retention, or by eight tries.

function tock.doctor_of_gates()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of gates, the first twenty of up to 100 queues: full of tasks that are inside for over an hour while others wait.

function tock.doctor_of_horizon(p_transactions integer DEFAULT 5000000)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of whoever keeps old rows from being cleaned: the one that does so for the most transactions.

function tock.doctor_of_keys()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of keys: those in use that end within seven days, and those for tenants that have no rate.

function tock.doctor_of_parents()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of tasks with on_parent_failure wait whose parent died, was cancelled or expired: of up to five parents, up to 1,000 tasks each.

function tock.doctor_of_pools()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of pools, the first 1,000: where a task waits and nobody takes, and whose workers are past their end for longer than the duty should need.

function tock.doctor_of_positions()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of the sequence and the epochs.

function tock.doctor_of_push()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of queues with push whose endpoints are gone, or which the Worker refuses to push to.

function tock.doctor_of_queues()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of queues with tasks that nobody takes, be it to claim or to push them, of tasks that end their workers, and of lanes.

function tock.doctor_of_reports()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of the last day's reports.

function tock.doctor_of_schedules()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of schedules: the first five that fail.

function tock.doctor_of_sessions(p_age interval DEFAULT '00:10:00'::interval)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of sessions: who holds locks of Tock's without a call of Tock's, and the oldest open transactions, where they are of such an age.

function tock.doctor_of_settings()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of settings that lose what was accepted when the server crashes, and of the edge's role without time limits.

function tock.doctor_of_slots()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of replication slots: those that nobody reads, and those whose log is gone.

function tock.doctor_of_vacuum(p_age integer DEFAULT 1000000000)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() says of vacuum: where it is off, and of tables frozen over p_age transactions ago.

function tock.drop_epoch(p_epoch integer)
  returns void
  -- Drops an epoch's leaves: 55P03 when somebody reads and it would have to wait, or the archive was turned on since.

function tock.drop_key_counters(p_prefix text)
  returns void
  -- Drops what counted a key that ended an hour ago, unless somebody holds that.

function tock.drop_queue(p_queue text, p_force boolean DEFAULT false)
  returns TABLE(dropped boolean, ready bigint, running bigint, waiting bigint)
  -- Purges a paused queue (or any, by p_force) and, when nothing in it is unfinished, takes away its policy, gates and keys; says what is left otherwise: call again. Its ended tasks are kept by the default policy. No row when there is no such queue. Whoever names it later makes it anew.
  -- for tock_admin, tock_edge

function tock.drop_schedule(p_schedule text)
  returns boolean
  -- Ends a schedule for good; the tasks that it has fired stay. False when there is none.
  -- for tock_admin, tock_edge

function tock.drop_segment_functions(p_epoch integer)
  returns void
  -- Drops the functions of a segment, with which its tables go.

function tock.due_of(p_schedule schedules, p_fire_at timestamp with time zone)
  returns timestamp with time zone
  -- When a fire of a schedule is due: at its instant, or up to its jitter after it.

function tock.durations(p_counts bigint[], p_seconds double precision)
  returns jsonb
  -- The mean, p50, p95 and p99 of what a histogram counts, which took p_seconds in all.

function tock.duties_list()
  returns TABLE(name text, every_seconds integer, last_started_at timestamp with time zone, last_ok_at timestamp with time zone, late_seconds double precision, last_amount bigint, last_seconds double precision, last_error text, failures integer)
  -- Each duty: when it was last done and how that went; late_seconds where it should have been done long ago.
  -- for tock_admin, tock_edge

function tock.duty_metrics()
  returns text
  -- The metrics of duties.

function tock.each_once(p_ended ending[])
  returns ending[]
  -- What ended, without repeats: a retried run goes by its own id and by its task's, and what was said of the first of them stands.

function tock.each_task(p_ids bigint[])
  returns whereabout[]
  -- whereabouts() with one row a task, in the order of the newest runs and waiting entries.

function tock.end_epoch()
  returns TABLE(epoch integer, settled_at timestamp with time zone, why text)
  -- Ends the epoch in use, so that it goes to the archive and is dropped as soon as nothing in it is unread or running; while one that was so ended is still there, answers that one. TK409 while the archive is off.
  -- for tock_admin, tock_edge

function tock.end_lease_1(p_lease uuid, p_epoch integer)
  returns integer
  -- Closes a whole lease as done and returns how many of its runs are; null when it was closed or never there, -1 when its epoch is another, -2 when some lead on and it has to be ended by its runs.

function tock.end_lease_again(p_lease uuid, p_done integer)
  returns integer
  -- Closes a whole lease that is not in the segment in use, or counts the runs of one that was closed before; -2 when it has to be ended by its runs.

function tock.end_lease_current(p_lease uuid, p_epoch integer)
  returns integer
  -- Closes a whole lease as done and returns how many of its runs are; null when it was closed or never there, -1 when its epoch is another, -2 when some lead on and it has to be ended by its runs.

function tock.end_runs(p_epoch integer, p_ended ending[], p_fields text[] DEFAULT NULL::text[])
  returns integer
  -- Writes the results of runs and, for those that go on, the next run or its waiting entry; returns how many had not ended before. p_fields, in the order of the runs, names what leads on with the payload that the task has, which is then checked.

function tock.ended_gates_1(p_epoch integer, p_ended ending[])
  returns text[]
  -- The queues and gates of runs that ended, in turn; null when another segment is meant.

function tock.ended_gates_current(p_epoch integer, p_ended ending[])
  returns text[]
  -- The queues and gates of runs that ended, in turn; null when another segment is meant.

function tock.ended_so(p_run leased_run, p_stages boolean, p_stage text)
  returns boolean
  -- Whether a run that ended before ended as done and led to this stage, null for none.

function tock.ends_in_order(p_ids bigint[])
  returns whereabout[]
  -- How tasks ended, or what they were run again as: n in their order.

function tock.ends_of(p_ids bigint[], p_lock boolean, p_from bigint[] DEFAULT NULL::bigint[], OUT id bigint, OUT current_id bigint, OUT state text, OUT sure boolean)
  returns SETOF record
  -- How tasks stand, or what they were run again as: the newest run or waiting entry, the state, and whether that is for good where it says cancelled or expired; unknown ones are left out.

function tock.enqueue(p_queue text, p_tasks jsonb, p_request_id text DEFAULT NULL::text)
  returns bigint[]
  -- Adds tasks ({payload, delay_seconds | run_at, priority, tenant, max_attempts}) and returns their ids in order, inside your transaction if you like. A call repeated with its request_id within 24 hours gives the same ids.
  -- for tock_admin, tock_edge, tock_producer

function tock.enqueue_any(p_queue text, p_tasks jsonb, p_request_id text)
  returns bigint[]
  -- enqueue() for any tasks.

function tock.enqueue_spawned(p_runs leased_run[], p_results jsonb)
  returns void
  -- Enqueues what runs leave behind, and notes the ids with each run.

function tock.enqueue_task(p_queue text, p_payload jsonb DEFAULT NULL::jsonb, p_delay_seconds double precision DEFAULT NULL::double precision, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_priority integer DEFAULT NULL::integer, p_tenant text DEFAULT NULL::text, p_max_attempts integer DEFAULT NULL::integer, p_request_id text DEFAULT NULL::text)
  returns bigint
  -- Adds one task and returns its id: enqueue() with plain arguments.
  -- for tock_admin, tock_edge, tock_producer

function tock.epoch_of(p_position bigint)
  returns integer
  -- The number of the epoch that a position lies in; null when there is none, or no more.

function tock.epochs_list(p_limit integer DEFAULT 100)
  returns TABLE(number integer, state text, first_position bigint, end_position bigint, started_at timestamp with time zone, settled_at timestamp with time zone, audited_at timestamp with time zone, bytes bigint, runs bigint)
  -- Epochs, the newest first: their state, size, and about how many runs are stored in each.
  -- for tock_admin, tock_edge

function tock.erase(p_id bigint)
  returns integer
  -- Empties the payload, result, errors, notes, unique key and gate of an ended task and all its runs, for good once vacuum has been by; returns how many runs. TK409 when it has not ended, null when there is none.
  -- for tock_admin, tock_edge

function tock.erase_run_1(p_stream integer, p_position bigint)
  returns bigint[]
  -- Empties a run, its result and its notes; returns what it went on as.

function tock.error_text(p_error jsonb)
  returns text
  -- What an error says, in up to 200 characters: its message, or all of it when it has none.

function tock.examine()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What each part of doctor() says, in no order; bounded by 2 s for the first lock, 50 ms for the next, and 15 s in all.

function tock.expiries(p_ids bigint[], OUT id bigint, OUT expires_at timestamp with time zone)
  returns SETOF record
  -- When runs and waiting entries expire, those that do.

function tock.expiry_of(p_expires_at timestamp with time zone, p_expires_in_seconds double precision)
  returns timestamp with time zone
  -- When a key ends by one of these two; TK422 when that can't be, null without.

function tock.extend(p_lease uuid, p_seconds integer DEFAULT NULL::integer, p_progress jsonb DEFAULT NULL::jsonb)
  returns TABLE(leased_until timestamp with time zone, runs integer, cancel bigint[], refused bigint[])
  -- Moves an open lease's deadline to p_seconds (by default the queue's lease_seconds) from now, never back, and names the tasks that somebody wants cancelled. p_progress says how far its runs are, {progress, note} for all or [{id, progress, note}]; refused are ids that are none of its running ones. No row when the lease is no longer open.
  -- for tock_admin, tock_edge, tock_worker

function tock.extend_lease_1(p_lease uuid, p_until timestamp with time zone, OUT leased_until timestamp with time zone, OUT runs integer, OUT cancel bigint[])
  returns record
  -- Moves the deadline of a lease of one segment, never back: the new deadline (null when it is not open), how many runs it has, and the tasks among them that are cancelled.

function tock.extend_lease_current(p_lease uuid, p_until timestamp with time zone, OUT leased_until timestamp with time zone, OUT runs integer, OUT cancel bigint[])
  returns record
  -- Moves the deadline of a lease of one segment, never back: the new deadline (null when it is not open), how many runs it has, and the tasks among them that are cancelled.

function tock.fail(p_lease uuid, p_failures jsonb DEFAULT NULL::jsonb)
  returns TABLE(failed integer, dead integer, refused bigint[])
  -- Ends runs of a lease as failed: [{id, error, retry_in_seconds | fatal}], or one object without id for all that are left. Each is tried again after its backoff unless it is fatal or was the last attempt: then its task is dead. Ids that were not this lease's to fail are refused; no row when it is over.
  -- for tock_admin, tock_edge, tock_worker

function tock.file_of_run(p_id bigint)
  returns SETOF archived_files
  -- The archive's file in whose range a run lies.

function tock.files_of(p_id bigint, p_task_id bigint)
  returns SETOF archived_files
  -- The archive's files that may hold a run of a task, or what its waiting entry became: 101 where they are more than a look-up reads.

function tock.files_of_begun(p_position bigint)
  returns SETOF archived_files
  -- The archive's files that may hold later runs of what began at a position.

function tock.files_to_erase(p_erasure archive_erasures)
  returns SETOF archived_files
  -- The archive's files that may hold runs of a task that is to be erased, and have not been looked at.

function tock.filter_bits(p_value bigint, p_bits bigint)
  returns SETOF bigint
  -- The bits that stand for a number in a filter of so many.

function tock.filter_of(p_values bigint[])
  returns bytea
  -- A filter that lets through what is among the numbers, and little else.

function tock.filter_time(p_filter jsonb, p_name text)
  returns timestamp with time zone
  -- An instant of a filter; TK422 when it is none.

function tock.find_streams(p_queue text, p_seed integer, p_seen integer[], p_limit integer, p_alone boolean)
  returns look
  -- Streams with something to claim, with their cursors, and whether something that waits is due; null when the epoch in use is another.

function tock.finding_of_left_behind(p_children bigint[])
  returns TABLE(finding text, severity text, detail text, hint text)
  -- What doctor() and why() say of children that left_behind() found.

function tock.finish_claim(p_queue text, p_claim claiming, p_token uuid, p_runs integer, p_request_id text)
  returns void
  -- Records what a claim has taken of its queue's limits, and its lease under its request_id.

function tock.fire_all(p_fires fires[], p_now timestamp with time zone)
  returns void
  -- Fires schedules that are due, all or none: enqueues their tasks, notes what became of each fire, and when they are due next. Their rows are locked by the caller.

function tock.fire_batch(p_fires fires[], p_now timestamp with time zone)
  returns void
  -- Fires schedules that are due, together, or one by one where that fails. Their rows are locked by the caller.

function tock.fire_duty()
  returns integer
  -- fire_schedules(), from the bottom once a minute and where somebody may have left something there; notes who is writing.

function tock.fire_failed(p_fire fires, p_now timestamp with time zone, p_sqlstate text, p_message text)
  returns void
  -- Notes that a schedule could not be fired, and when it is due again.

function tock.fire_schedules(p_limit integer DEFAULT 1000, p_sweep boolean DEFAULT false)
  returns integer
  -- Fires up to p_limit schedules that are due, the earliest first, for up to about 4 s; returns how many. p_sweep reads from the bottom.
  -- for tock_admin

function tock.fires_from()
  returns TABLE(due_at timestamp with time zone, schedule text)
  -- Where firing reads on: at the fiftieth newest that was fired.

function tock.fires_late_at()
  returns timestamp with time zone
  -- When fires are to be swept because of those who were writing at its last sweep, or at a duty since: what they put may lie below where firing reads on. Null when nobody was.

function tock.fires_writers()
  returns text[]
  -- The virtual ids of other transactions that have written to fires or have rows of it locked.

function tock.first_id(p_id bigint)
  returns bigint
  -- The id of the task that a run, or what waited and became one, belongs to; what was given where that is the task's own.

function tock.first_in_line(p_pool text, p_line text)
  returns places
  -- Locks who is first in a line, the task that has waited for longest or a free worker; null when nobody is.

function tock.first_unread(p_stream integer, p_after bigint)
  returns bigint
  -- The position of a stream's first run above its cursor, in whichever epoch; null when there is none.

function tock.follow_runs_1(p_open whereabout[])
  returns SETOF whereabout
  -- The last run of each chain within the segment; one that goes on elsewhere has no state, and current_id says where.

function tock.forget_archive(p_epoch integer)
  returns void
  -- Takes an epoch's files out of the archive.

function tock.forget_progress(p_limit integer)
  returns integer
  -- Deletes what was said of runs older than all epochs there are, up to p_limit rows; returns how many.

function tock.forget_promotions(p_epoch integer, p_limit integer)
  returns integer
  -- Takes away what points into an epoch from promotions, about p_limit rows; returns how many it took.

function tock.free_runs_1(p_ids bigint[], p_oldest integer, p_claiming integer[], p_marking boolean)
  returns SETOF bigint
  -- Which of these runs lie in the segment, have not ended, and are in no other transaction's hands, for being_ended().

function tock.free_worker(p_pool text)
  returns places
  -- Locks the worker that has been free for longest; null when nobody is.

function tock.free_workers(p_pool text, p_limit integer)
  returns places[]
  -- Locks the workers that have been free for longest, up to so many.

function tock.from_micros(p_micros bigint)
  returns timestamp with time zone
  -- The time that micros() wrote.

function tock.gate_key(p_queue text, p_gate text)
  returns integer
  -- Second key of the lock of making a gate: one of 64.

function tock.gates(p_queue text, p_gate text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns TABLE(gate text, paused boolean, gate_limit integer, gate_rate_limit integer, gate_rate_seconds integer, gate_rate_burst integer, inside bigint[], waiting integer)
  -- Gates of a queue that tasks have named or that were set, from after p_after on: their settings, the tasks inside, and how many wait (up to 1,000).
  -- for tock_admin, tock_edge

function tock.gates_at_limit(p_queue text, p_age interval)
  returns TABLE(gate text, waiting bigint, gate_limit integer, paused boolean, id bigint, since timestamp with time zone, inside text)
  -- Of the first twenty gates of a queue that tasks wait at those that are paused, or full for so long, with who has been inside.

function tock.gather(p_children bigint[])
  returns void
  -- Gives children their parents' ids, names, states and results: {payload, parents}; a task that has waited for what it spawned {payload, result, children}.

function tock.gathered(p_row waiting, p_ids bigint[], p_ends whereabout[], p_results boolean)
  returns jsonb
  -- The payload of a waiting entry with what its parents, or children, gave, built anew from its parts.

function tock.give_up_turns(p_ids bigint[])
  returns void
  -- Opens the gates of waiting entries that were inside and are put off, for the next.

function tock.given_tasks(p_tasks places[], p_limit integer)
  returns places[]
  -- The first of a list that are to be had: new ones, and those that still wait, which it locks.

function tock.gives_way(p_key unique_keys, p_at whereabout, p_task jsonb, p_left bigint)
  returns boolean
  -- Whether a ready task that has a key is cancelled for a newer one, or is left to run as its key has been named for long.

function tock.glance_at_queues()
  returns TABLE(queue text, lane integer, ready_run bigint, ready_at timestamp with time zone, ready integer, tenants integer, active_at timestamp with time zone, at_work boolean, lost_id bigint, lost integer)
  -- glance_at_stream() of up to 2,000 streams of the first 1,000 queues that have any awake, with their queue and lane.

function tock.glance_at_stream(p_stream integer)
  returns TABLE(ready_run bigint, ready_at timestamp with time zone, ready integer, tenants integer, active_at timestamp with time zone, at_work boolean, lost_id bigint, lost integer)
  -- Of a stream's next 200 runs, those of its newest lease while that is open among them: the first that is ready and since when, how many, of how many tenants, when last claimed or ended, and one that has lost its workers.

function tock.glance_at_stream_1(p_stream integer, p_after bigint)
  returns TABLE(ready_run bigint, ready_at timestamp with time zone, ready integer, tenants integer, active_at timestamp with time zone, at_work boolean, lost_id bigint, lost integer)
  -- glance_at_stream() for one segment and the stream's cursor.

function tock.guard()
  returns integer
  -- Moves the sequence ahead when it is behind what is stored, or when the server is another than before; notes it in tock.reports and returns 1 then.
  -- for tock_admin

function tock.guard_fences()
  returns void
  -- As guard_now(), where current_epoch() doesn't vouch for this server.

function tock.guard_now()
  returns void
  -- Guards before the first write or claim after a restore or failover; TK503 while another transaction does.

function tock.has_fired()
  returns boolean
  -- Whether this transaction has fired schedules. Then it commits synchronously: a fire that a crash forgets comes again, as another task.

function tock.has_push(p_queue text)
  returns boolean
  -- Whether a queue's tasks are sent to an endpoint.
  -- for tock_admin, tock_edge

function tock.headers_error(p_headers jsonb)
  returns text[]
  -- What is wrong with a task's headers: {field, message}, or null.

function tock.heavy_tenant(p_stream integer)
  returns text
  -- The tenant of at least half of the next or of the newest 200 unread runs of a stream; null when there is none, or fewer are left.

function tock.heed_nudges(p_sweep boolean)
  returns void
  -- Has promotion look at the children that could not be told before.

function tock.heed_wishes(p_again going[])
  returns going[]
  -- The next attempts of runs as they are wanted, those of whom something may be (cancelled null) and the others, in the same order.

function tock.held_back(p_positions bigint[], p_from timestamp with time zone)
  returns bigint[]
  -- Due entries at a gate that have to stay for a later promotion.

function tock.highest_position(p_all boolean DEFAULT true)
  returns bigint
  -- The highest position that is stored: anywhere (p_all), or in a stream that is awake or an entry that waits.

function tock.histogram(p_buckets integer[], p_counts bigint[])
  returns bigint[]
  -- Counts by bucket as one array; null when there are none.

function tock.histogram_form(p_name text)
  returns text
  -- The samples of a histogram as format() takes them: of the queue, what is counted up to each bound, and the sum.

function tock.histogram_samples(p_form text, p_queue text, p_counts bigint[], p_sum double precision)
  returns text
  -- The samples of a histogram of one queue, by histogram_form().

function tock.hold_runs(p_lease uuid, p_epoch integer, p_ids bigint[])
  returns leased_run[]
  -- Locks a lease's rows and reads its runs, all or those with these ids, and how each has ended (state null: still running); none when there is no such lease.

function tock.hold_runs_1(p_lease uuid, p_epoch integer, p_ids bigint[])
  returns leased_run[]
  -- hold_runs() for one segment; null when another is meant.

function tock.hold_runs_current(p_lease uuid, p_epoch integer, p_ids bigint[])
  returns leased_run[]
  -- hold_runs() for one segment; null when another is meant.

function tock.hold_streams(p_streams integer[])
  returns void
  -- Takes the locks of up to 1,000 streams' claims to the end of the transaction, waiting up to 2 s in all; TK503 when that was not enough.

function tock.hours_until()
  returns timestamp with time zone
  -- Up to when what happened is kept by the hour; from then on by the minute.

function tock.how_to_end(p_since timestamp with time zone, p_mild text, p_end text)
  returns text
  -- A hint, with what would end a session or a task only where that has lasted for over 60 seconds.

function tock.http_claimed(p_queue text, p_runs claimed[])
  returns text
  -- POST /v1/queues/:queue/claim: what claim() has returned as the answer's body.
  -- for tock_admin, tock_edge, tock_worker

function tock.http_claimed_any(p_queues text[], p_runs claimed_from[])
  returns text
  -- POST /v1/claim: what claim_any() has returned as the answer's body.
  -- for tock_admin, tock_edge, tock_worker

function tock.http_complete(p_key text, p_lease uuid, p_body jsonb)
  returns text
  -- POST /v1/leases/:lease/complete: authorize() and complete(); the answer's body, null when the lease is over.
  -- for tock_edge

function tock.http_enqueue(p_key text, p_queue text, p_body jsonb, p_request_id text)
  returns text
  -- POST /v1/queues/:queue/tasks: authorize(), for each stage of a pipeline too, and enqueue(); the answer's body.
  -- for tock_edge

function tock.http_erase_archived(p_key text, p_id bigint, p_rows jsonb, p_looked bigint[])
  returns text
  -- DELETE /v1/tasks/:id/payload of a task that only the archive has: notes it, so that nobody reads it from there any more; {erased} or {missing}, null when there is no such task.
  -- for tock_edge

function tock.http_task(p_key text, p_id bigint, p_whole boolean, p_rows jsonb, p_looked bigint[], p_again boolean DEFAULT false)
  returns text
  -- GET /v1/tasks/:id where there is an archive: authorize() and task(), with the runs that were read from there; the answer's body, {missing} when more is to be read, null when there is no such task.
  -- for tock_edge

function tock.id_at(p_position bigint, p_stream bigint)
  returns bigint
  -- The id of what lies at a position in a stream; stream 0 is for what waits.

function tock.ids_left(p_ids bigint[], p_found bigint[], OUT id bigint, OUT n bigint)
  returns SETOF record
  -- Ids and their places, but for the places in p_found.

function tock.in_its_place(p_key unique_keys, p_at whereabout, p_task jsonb)
  returns jsonb
  -- The task that is appended for one that is cancelled, which has its key.

function tock.in_line(p_pool text, p_line text, p_from bigint, p_below bigint, p_limit integer)
  returns places[]
  -- Locks the first of a line between two turns, up to so many.

function tock.in_line_below(p_pool text, p_line text, p_start bigint, p_limit integer)
  returns places[]
  -- Locks the first of those who are below where their line is read, up to so many; none while that search rests.

function tock.insert_key(p_key keys)
  returns text
  -- Keeps a key like this one under a new prefix and hash, with what counts it; returns the secret.

function tock.inside_alone(p_queue text, p_gate text)
  returns bigint
  -- The waiting entry of the task inside a gate that lets in one.

function tock.inside_gate(p_queue text, p_gate text, p_retry text)
  returns bigint[]
  -- The tasks that a gate has let in and that are not over.

function tock.is_above_runs(p_stream integer, p_position bigint)
  returns boolean
  -- Whether the next position is above a stream's runs, as it must be; not true when that takes a closer look.

function tock.is_alone(p_alone boolean, p_context text)
  returns boolean
  -- Whether the calling verb may take itself for the whole transaction; p_context is its PG_CONTEXT.

function tock.is_archiving()
  returns boolean
  -- Whether history is kept until it lies in the archive.

function tock.is_erased(p_id bigint)
  returns boolean
  -- Whether the content of a run or waiting entry has been erased.

function tock.is_id(p_text text)
  returns boolean
  -- Whether a text may be the id of a task.

function tock.is_idle_gate(p_gate gates)
  returns boolean
  -- Whether a gate has no settings and nobody has come to it for a day.

function tock.is_instant(p_text text)
  returns boolean
  -- Whether a text is an ISO 8601 date and time with a zone.

function tock.is_left(p_pool text)
  returns boolean
  -- Whether nobody is in a pool, and nothing.

function tock.is_let_alone(p_pool text, p_task text)
  returns boolean
  -- Whether no assign() is giving away a task at this moment.

function tock.is_of_one(p_lease uuid)
  returns boolean
  -- Whether a lease has one run, and always had, and its token says where it lies: see new_token_of_one().

function tock.is_open(p_lease uuid, p_epoch integer)
  returns boolean
  -- Whether something of a lease is still to be ended.

function tock.is_out_of_time()
  returns boolean
  -- Whether the calling statement has taken as long as statement_timeout lets it, or nearly.

function tock.is_overridden_next(p_stream integer)
  returns boolean
  -- Whether the next run of a stream is cancelled or expired.

function tock.is_past_retention(p_epoch epochs)
  returns boolean
  -- Whether an epoch is audited and the longest retention in it has passed, or it was ended on demand for the archive and no task waits for parents of which one, or a run of one, may lie in it.

function tock.is_paused(p_policy queues)
  returns boolean
  -- Whether claims from a queue find nothing: it is paused, or waits to be resumed after a restore.

function tock.is_paused_gate(p_queue text, p_gate text)
  returns boolean
  -- Whether a gate is paused now.

function tock.is_plain_one(p_tasks jsonb)
  returns boolean
  -- Whether these tasks are one, with nothing but a payload.

function tock.is_whole(p_payload jsonb, p_options jsonb)
  returns boolean
  -- Whether a task's payload is what others gave it with its own payload in it.

function tock.join_pool(p_pool text, p_worker text, p_lease_seconds integer DEFAULT NULL::integer, p_fence bigint DEFAULT NULL::bigint)
  returns TABLE(state text, task text, fence bigint, leased_until timestamp with time zone)
  -- Makes a worker free in a pool, or is its heartbeat: moves its end to p_lease_seconds (60) from now, and says which task it holds. With p_fence it is a heartbeat for that holding alone: state lost, and nothing else is done, when that is over.
  -- for tock_admin, tock_edge, tock_worker

function tock.judged_queue(p_key text, p_id bigint)
  returns text
  -- The queue that a key must be for to reach a task: its own, or a stage of its pipeline that the key is not for; null when it is not there.
  -- for tock_edge

function tock.just_promoted(p_run bigint, p_since timestamp with time zone)
  returns boolean
  -- Whether a run waited before and has been ready only since then.

function tock.keep_allowance(p_queue text, p_policy queues, p_asked allowance, p_token uuid, p_started integer)
  returns void
  -- Writes down what a claim has taken of a queue's limits; 40001 when it went by what isn't so any more.

function tock.keep_fire(p_schedule text, p_fire fires)
  returns void
  -- Writes the row of a schedule's next fire, under the turn after that of the one that was taken away.

function tock.keep_lease_progress_1(p_lease uuid, p_progress jsonb)
  returns void
  -- Keeps how far all runs of a lease are that have not ended.

function tock.keep_lease_progress_current(p_lease uuid, p_progress jsonb)
  returns void
  -- Keeps how far all runs of a lease are that have not ended.

function tock.keep_progress(p_lease uuid, p_epoch integer, p_ids bigint[], p_progress jsonb)
  returns bigint[]
  -- Keeps what a worker says of runs of its open lease, or of all of them; returns the ids that are none that still run.

function tock.keep_to_rate(p_key keys)
  returns void
  -- Counts a call of a key that has a rate, once a transaction; raises TK429 when it has made all it may.

function tock.kept_options(p_task jsonb, p_policy queues, p_due_at timestamp with time zone)
  returns jsonb
  -- What a run keeps of its task's options, with what its queue asks for; null when that is nothing.

function tock.key_changes(p_key unique_keys, p_task jsonb)
  returns jsonb
  -- What a task brings for the one that has its key.

function tock.key_detail(p_key keys)
  returns jsonb
  -- What an act says of a key: all but its secret and the hash.

function tock.key_holders(p_queue text, p_ids bigint[])
  returns SETOF whereabout
  -- whereabouts() as a key's queue sees them: what has gone on to another stage is running, its queue null.

function tock.key_policy(p_task jsonb)
  returns text
  -- How long a task with this key counts for what comes: pending, unfinished or period.

function tock.keyed(p_ids bigint[])
  returns bigint[]
  -- Those of these runs and waiting entries that have a gate, a unique key or a pipeline.

function tock.keys_list(p_prefix text DEFAULT NULL::text)
  returns TABLE(prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, revoked_at timestamp with time zone, replaces text, replaced_by text, last_used_at timestamp with time zone, uses bigint)
  -- All keys, or the one with a prefix, but for their secret part. last_used_at and uses are as a duty saw them within the last minute or so.
  -- for tock_admin, tock_edge

function tock.kin_kept(p_task jsonb)
  returns jsonb
  -- What a run keeps of the tasks that its own comes after, or is a part of.

function tock.known_key(p_key text)
  returns boolean
  -- True when a key is there and has not ended; else raises TK401.
  -- for tock_edge

function tock.label(p_value text)
  returns text
  -- A label's value as OpenMetrics has it.

function tock.lane_in(p_queue text, p_tenant text, p_options jsonb)
  returns smallint
  -- The lane that a task of a tenant has in a queue.

function tock.lane_of(p_policy queues, p_tenant text, p_bulk text[])
  returns smallint
  -- A tenant's lane: hashed to one of the queue's lanes; 64 higher while another tenant fills that one, and so on; 512 higher for what comes in bulk.

function tock.last_fire(p_schedule schedules, p_from timestamp with time zone, p_upto timestamp with time zone)
  returns timestamp with time zone
  -- The last fire of a schedule up to an instant, p_from being one of them.

function tock.last_fires(p_schedule text, p_limit integer DEFAULT 20, p_before bigint DEFAULT NULL::bigint)
  returns TABLE(number bigint, fire_at timestamp with time zone, until_at timestamp with time zone, fired_at timestamp with time zone, outcome text, task_id bigint, error text)
  -- What became of a schedule's fires in the last seven days, the newest first: fired or run (with the task), overlapped, replaced or missed (from fire_at up to before until_at, where there were several), failed (with the error).
  -- for tock_admin, tock_edge, tock_producer

function tock.last_parents(p_after jsonb, p_upto integer, p_count integer, OUT id text, OUT n bigint)
  returns SETOF record
  -- So many ids of a list up to the p_upto-th; one is found without taking the list apart.

function tock.late_from()
  returns timestamp with time zone
  -- From when on promotion looks for tasks with gates whose enqueueing was committed late: the fiftieth newest due time promoted.

function tock.lease_asks(p_lease uuid)
  returns boolean
  -- Whether a lease is of runs with options: see new_token().

function tock.lease_children_1(p_lease uuid)
  returns bigint[]
  -- The waiting entries that watch runs of a lease.

function tock.lease_children_current(p_lease uuid)
  returns bigint[]
  -- The waiting entries that watch runs of a lease.

function tock.lease_epoch(p_lease uuid)
  returns integer
  -- The epoch that a lease and its runs lie in, from the token's last 28 bits; null when it can't be a lease.

function tock.lease_gates_1(p_lease uuid, p_epoch integer)
  returns text[]
  -- The queues and gates of a lease's runs, in turn; null when another segment is meant.

function tock.lease_gates_current(p_lease uuid, p_epoch integer)
  returns text[]
  -- The queues and gates of a lease's runs, in turn; null when another segment is meant.

function tock.lease_has_ended()
  returns void
  -- Raises TK409: what a repeated claim is told when nothing is left of what it was given.

function tock.lease_headers(p_lease uuid)
  returns jsonb
  -- What the runs of a lease were given beside their payloads, by their run_id: {headers, push_url}; those that have neither are left out.
  -- for tock_admin, tock_edge, tock_worker

function tock.lease_overridden_range(p_range claim_range, p_passed passed)
  returns SETOF claimed
  -- lease_overridden_range_N() of the range's segment, with the end of the lease no later than the runs' time limit.

function tock.lease_overridden_range_1(p_range claim_range, p_passed passed)
  returns SETOF claimed
  -- Leases what lies above a stream's cursor in one segment, past what was passed over, and returns it; nothing when another segment is meant.

function tock.lease_overridden_range_current(p_range claim_range, p_passed passed)
  returns SETOF claimed
  -- Leases what lies above a stream's cursor in one segment, past what was passed over, and returns it; nothing when another segment is meant.

function tock.lease_parents_moved(p_lease uuid, p_epoch integer)
  returns void
  -- parents_moved() for all runs of a lease.

function tock.lease_range_1(p_range claim_range)
  returns SETOF claimed
  -- Leases what lies above a stream's cursor in one segment and returns it, in order; nothing when another segment is meant.

function tock.lease_range_current(p_range claim_range)
  returns SETOF claimed
  -- Leases what lies above a stream's cursor in one segment and returns it, in order; nothing when another segment is meant.

function tock.lease_rows_1(p_lease uuid)
  returns SETOF leases
  -- The rows of a lease, whichever of the two kinds it is.

function tock.lease_rows_current(p_lease uuid)
  returns SETOF leases
  -- The rows of a lease, whichever of the two kinds it is.

function tock.leased_runs(p_lease uuid)
  returns SETOF claimed
  -- The runs of an open lease that have not ended, as its claim returned them; none when its time is up.

function tock.leased_runs_1(p_lease uuid)
  returns SETOF claimed
  -- leased_runs() for one segment.

function tock.leased_runs_current(p_lease uuid)
  returns SETOF claimed
  -- leased_runs() for one segment.

function tock.leave_gates_at(p_epoch integer, p_ended ending[])
  returns void
  -- Opens the gates of runs that ended for the next.

function tock.leave_gates_of(p_leases uuid[], p_epoch integer, p_wait boolean)
  returns void
  -- Opens the gates of the runs of leases for the next.

function tock.leave_pool(p_pool text, p_worker text)
  returns boolean
  -- Takes a worker out of a pool, with what it holds: an offered task waits again, another is over. False when it isn't there.
  -- for tock_admin, tock_edge, tock_worker

function tock.leave_round(p_round counting, p_amount integer)
  returns integer
  -- Notes where a round is that was cut short; returns p_amount.

function tock.led_on(p_ids bigint[])
  returns bigint[]
  -- Those of some runs and waiting entries that an earlier run of their task led on to: in a stage, or after what it spawned.

function tock.led_to(p_next_id bigint)
  returns text
  -- The queue where a task went on with its next run or waiting entry; null when it didn't.

function tock.left_behind(p_children bigint[] DEFAULT NULL::bigint[])
  returns bigint[]
  -- Of these children, or of 200 that wait, those whose watched parent has ended or gone on, and that look at it again no sooner than in two seconds.

function tock.left_behind_in(p_pool text)
  returns integer
  -- How many workers of a pool, of the first 1,000 to be looked at, are past their end and have not been let go.

function tock.let_go(p_epoch integer, p_limit integer DEFAULT 100000)
  returns integer
  -- Prepares an epoch for being dropped, about p_limit rows a call: 0 when it is ready.

function tock.let_go_from(p_pool text, p_turn bigint)
  returns void
  -- Takes out those who have vanished among the next 1,000 in the line of free workers.

function tock.let_go_of(p_places places[])
  returns boolean
  -- Ends those of a list that are held by workers that have vanished; whether there were any.

function tock.lets_in(p_key text, p_scope text, p_queue text)
  returns boolean
  -- True when a key without rate and tenants has a scope for a queue, * for all of them. Whoever hears anything else asks authorize(), which says why, or knows of a queue that isn't there.

function tock.lets_through(p_filter bytea, p_value bigint)
  returns boolean
  -- Whether a number may be among those of a filter.

function tock.limits(p_queue text DEFAULT NULL::text)
  returns TABLE(queue text, max_running integer, running integer, rate_limit integer, rate_seconds integer, rate_burst integer, level double precision)
  -- Queues with a limit, or the one that is named: what is running of max_running, and what is left in the bucket of their rate (level). running is null where there is no max_running, or while it can't be told.
  -- for tock_admin, tock_edge

function tock.line_start(p_pool text, p_line text)
  returns bigint
  -- From which turn on a line is read.

function tock.line_up(p_pool text, p_worker text, p_task text, p_lease_seconds integer, p_until timestamp with time zone)
  returns boolean
  -- Puts a free worker, or a task that waits, at the end of its line; false when it is somewhere in the pool already.

function tock.list_below(p_cursor text)
  returns bigint
  -- Below which position a listing goes on; TK422 for what is no cursor.

function tock.list_keyed(p_filter jsonb, p_limit integer)
  returns jsonb
  -- The task that had a unique key last, or those at a gate, first who is inside, then the line.

function tock.list_leases_1(p_until timestamp with time zone, p_stream integer, p_after bigint, p_queue text, p_worker text, p_limit integer)
  returns TABLE(leases jsonb, looked_at integer, last jsonb)
  -- running() for one segment, after a place in it: leases, how many were looked at, and the last of 2,000.

function tock.list_runs_1(p_streams integer[], p_below bigint, p_look integer, p_filter jsonb, p_limit integer, p_state text)
  returns TABLE(tasks jsonb, looked_at integer, horizon bigint, waiting_horizon bigint)
  -- Tasks in the segment and of what waits, the newest first: how many rows were looked at, and below which position there may be more of either.

function tock.list_source_1(p_stream integer, p_after bigint, p_last bigint, p_below bigint, p_state text, p_limit bigint)
  returns TABLE("position" bigint)
  -- The newest runs of a stream in a range and below a position that may be in a state: dead ones by their own index.

function tock.list_tasks(p_filter jsonb, p_cursor text, p_limit integer, p_look integer DEFAULT 10000, OUT tasks jsonb, OUT cursor text, OUT looked_at integer)
  returns record
  -- Tasks that a checked filter lets through, the newest first: up to p_limit of some p_look rows looked at, and the cursor to go on with, null at the end.

function tock.list_unended(p_filter jsonb, p_cursor text, p_limit integer, OUT ids bigint[], OUT cursor text, OUT looked_at integer)
  returns record
  -- Ids of up to p_limit tasks of a queue for a change by filter, in a state or waiting and then ready, and the cursor to go on with, null at the end.

function tock.list_waiting(p_filter jsonb, p_below bigint, p_limit integer, p_look integer)
  returns TABLE(tasks jsonb, looked_at integer, horizon bigint)
  -- What waits, for list_runs_N(): in the snapshot of the statement that asks.

function tock.listed_epoch(p_filter jsonb, p_below bigint)
  returns epochs
  -- In which epoch a listing goes on; null when none is left.

function tock.listed_streams(p_queue text, p_first bigint)
  returns integer[]
  -- In which streams a listing looks.

function tock.live_key(p_key text)
  returns keys
  -- The row of a key; TK401 where there is none, or it has ended.

function tock.lock_archive(p_alone boolean)
  returns void
  -- Keeps who records a part of the archive (p_alone) and who erases tasks apart.

function tock.lock_children(p_children bigint[])
  returns bigint[]
  -- Locks up to a thousand children to be looked at, with up to 1 MiB of options, and returns them; the others promotion looks at in a moment.

function tock.lock_gates(p_queues text[], p_gates text[], p_wait boolean)
  returns gates[]
  -- Locks gates and returns those it got: waiting up to 100 ms for each and else for none, or without waiting.

function tock.lock_lease(p_lease uuid)
  returns void
  -- Locks the rows of a lease against every other call that ends part of it.

function tock.lock_lease_1(p_lease uuid)
  returns void
  -- Locks the rows of a lease against every other call that ends part of it.

function tock.lock_lease_current(p_lease uuid)
  returns void
  -- Locks the rows of a lease against every other call that ends part of it.

function tock.lock_space()
  returns integer
  -- First key of every advisory lock: the schema's oid. Second keys: a stream's number (its claim; -1 - number beside a stranger's lock), 2^30 + slot, named_key().

function tock.look_again(p_children bigint[])
  returns void
  -- Has children look at their parents.

function tock.look_at_parents(p_children bigint[], p_lock boolean DEFAULT false)
  returns integer
  -- Has children whose parents are over come next, and the others watch one that isn't; returns how many came to their turn.

function tock.look_soon(p_children bigint[])
  returns void
  -- Has promotion look at children in a moment, also at those whose row somebody has.

function tock.make_epoch(p_first bigint, p_end bigint)
  returns void
  -- Makes the epoch after the newest: one leaf each of runs, leases, results and marks.

function tock.make_epochs_to(p_position bigint)
  returns void
  -- Makes epochs until there is one for a position; TK503 while another transaction does.

function tock.make_gates(p_queues text[], p_gates text[])
  returns void
  -- Makes gates that were named for the first time, but for those that another transaction is making.

function tock.make_key_counters(p_prefix text, p_rated boolean)
  returns void
  -- Makes the sequences that count a key's uses, and what it did in a window of its rate.

function tock.make_queue(p_queue text)
  returns void
  -- Makes a queue named for the first time, with the default policy.

function tock.make_ready(p_positions bigint[], p_cancelled boolean DEFAULT false)
  returns void
  -- Turns waiting entries into runs, at the ends of their streams; p_cancelled ones are marked and never handed out.

function tock.make_room()
  returns void
  -- Makes an epoch when the last one is nearly used up; TK503 when it is used up while another transaction does.

function tock.mark_line(p_pool text, p_line text, p_reached bigint, p_marks integer, p_rest_until timestamp with time zone)
  returns void
  -- Notes how far a line has come; four marks have it read from there on.

function tock.may_be_dropped(p_epoch integer)
  returns boolean
  -- Whether the archive has nothing against an epoch's drop: it is off, or has all of it, verified.

function tock.may_be_late(p_writers text[])
  returns boolean
  -- Whether some of those who were writing to waiting at its last sweep have ended since.

function tock.metric(p_name text, p_type text, p_help text, p_samples text)
  returns text
  -- A family of metrics: its description, type and unit before its samples.

function tock.metrics()
  returns text
  -- What Prometheus reads, in OpenMetrics text: every queue as of the last round of the duty minutes, and duties as they are.
  -- for tock_admin, tock_edge

function tock.micros(p_at timestamp with time zone)
  returns text
  -- A time in microseconds since 1970, as the archive has it; null for infinity.

function tock.minutes(p_limit integer DEFAULT 100000, p_seconds double precision DEFAULT 2)
  returns integer
  -- Counts what has happened since the last call into tock.minutes and tock.totals, in batches of p_limit for up to p_seconds; returns how many runs, leases and open leases it read. What is left the next call goes on with.
  -- for tock_admin

function tock.minutes_to_hours()
  returns void
  -- Makes an hour of the oldest minutes that are past two days, and deletes hours older than 400 days.

function tock.missing_run(p_id bigint, p_task_id bigint)
  returns jsonb
  -- What is to be read from the archive next, and the files that may have it, oldest first; null when none does.

function tock.missing_runs_1(p_stream integer)
  returns TABLE(missing ending[], in_leases bigint)
  -- The runs of a stream that nobody was handed and that have no result, as lost ones; and how many of them lie in leases.

function tock.move(p_ids bigint[], p_queue text)
  returns TABLE(id bigint, state text, changed boolean)
  -- Moves up to 10,000 waiting and ready tasks to another queue, as they are and at its end. It holds the streams of ready ones as change() does, and waits as long. A row a task: the state it is in, and whether it was moved: not when it is running or has ended, is in that queue already, or has a gate or unique key, which are its queue's, or a pipeline, whose stages are its queues.
  -- for tock_admin, tock_edge, tock_producer

function tock.move_start(p_pool text, p_line text)
  returns void
  -- Has a line read from where it begins, where that is elsewhere than its marks say.

function tock.move_up(p_limit integer DEFAULT 1000)
  returns integer
  -- Moves streams' start_after up to the epoch they have come to; returns how many.

function tock.named_key(p_kind text, p_name text)
  returns integer
  -- Second key of the lock of a duty, of making a queue or a gate, of a queue's limit, or of a window of a key's rate (p_kind): apart from each other, so that no queue's name can stop a duty.

function tock.never_starts(p_id bigint, p_lock boolean)
  returns boolean
  -- Whether a run or waiting entry that is not to start any more is in nobody's hands: false as well where that can't be told now.

function tock.new_token(p_epoch integer, p_after bigint, p_version text DEFAULT '4'::text)
  returns uuid
  -- A lease's token: 31 bits of the cursor it was claimed at, random bits, the epoch in its last 28. Version 5 says that its runs have options.

function tock.new_token_of_one(p_epoch integer, p_stream integer, p_after bigint)
  returns uuid
  -- The token of a lease of one run: the first bit 1, 31 bits of the cursor, version 8, random bits, the stream in 20 bits, the epoch in the last 28.

function tock.newest_epoch()
  returns integer
  -- The epoch that the sequence is in, or the last there is when it has run out of them. Runs of a later one may be there by the time this is used: within a stream, what is read without them is a prefix.

function tock.newest_run(p_stream integer)
  returns bigint
  -- A stream's newest run, as far as it can lie above the next position: in the epoch in use or a later one. Null when there is none.

function tock.news_epochs()
  returns integer[]
  -- The epochs that may hold something that has not been counted.

function tock.next_attempt_at(p_policy queues, p_options jsonb, p_attempt integer, p_lost integer, p_max_attempts integer, p_seconds double precision DEFAULT NULL::double precision)
  returns timestamp with time zone
  -- When a task whose run failed is tried again: in p_seconds, or after its backoff; null when that was the last attempt.

function tock.next_attempts_1(p_epoch integer, p_ended ending[])
  returns going[]
  -- What goes on of runs of one segment that ended; null when another segment is meant.

function tock.next_attempts_current(p_epoch integer, p_ended ending[])
  returns going[]
  -- What goes on of runs of one segment that ended; null when another segment is meant.

function tock.next_bit(p_bits bigint, p_from integer)
  returns integer
  -- The lowest bit from one on that is set; null when none is.

function tock.next_fire(p_schedule schedules, p_after timestamp with time zone)
  returns timestamp with time zone
  -- The first instant after another at which a schedule fires; null when none comes.

function tock.next_fires(p_schedule text DEFAULT NULL::text, p_cron text DEFAULT NULL::text, p_time_zone text DEFAULT NULL::text, p_count integer DEFAULT 5, p_after timestamp with time zone DEFAULT NULL::timestamp with time zone)
  returns TABLE(fire_at timestamp with time zone, local_time text)
  -- The next fires after an instant (now), of a schedule or of any cron expression in a time zone (UTC), with what the clocks show there; no rows when none comes or there is no such schedule. Of a paused schedule they are those that would be.
  -- for tock_admin, tock_edge, tock_producer

function tock.next_parents(p_open dependent[], p_count integer, p_lock boolean)
  returns dependent[]
  -- Looks at the next p_count parents of children, from the end of their lists: which one is in the way, or how many are left.

function tock.next_place(p_stream integer, p_current integer, p_alone boolean)
  returns place
  -- Where a stream's next claim starts; null when nothing is unread. p_current is the segment in use, where that is known.

function tock.next_stage(p_options jsonb, p_queue text, p_item jsonb, p_field text)
  returns text
  -- The queue where a task goes on whose run in p_queue is done: the stage that is named, or else the next; null when it ends. TK422 for one that is none of its.

function tock.next_wake_at()
  returns timestamp with time zone
  -- When time must next do something: the earliest waiting task, lease deadline or schedule that no sweep has passed yet, at once where a sweep may have passed one that was committed late; null when nothing is pending.
  -- for tock_admin, tock_edge, tock_worker

function tock.note_deaths(p_epoch integer, p_ended ending[])
  returns void
  -- Notes which of the runs that ended were the last of tasks of queues with a dead_webhook.

function tock.note_depth()
  returns void
  -- Keeps how much there is now, in all and for this minute.

function tock.note_erasure(p_task_id bigint, p_queue text)
  returns void
  -- Notes that a task is to be erased from the archive.

function tock.note_key_uses(p_limit integer DEFAULT 500)
  returns integer
  -- Writes down which of up to p_limit keys were used since it was there last, and makes and drops what counts them; returns how many were.

function tock.nudged_from(p_count integer)
  returns bigint
  -- After which number the newest p_count nudges lie.

function tock.offer(p_pool text, p_tasks text[])
  returns integer
  -- Puts tasks into a pool for workers to take, in this order; those that are in it already stay as they are. Returns how many it put in.
  -- for tock_admin, tock_edge, tock_producer

function tock.oldest_in_line(p_pool text)
  returns places
  -- The task that has waited for longest in a pool, as take() reads them, and locks nothing.

function tock.oldest_ready_1(p_stream integer, p_cursor bigint)
  returns TABLE(marked bigint, oldest timestamp with time zone)
  -- How many runs of the segment above a stream's cursor are cancelled or replaced, and since when the first is ready.

function tock.on_children_due(p_positions bigint[])
  returns integer
  -- Called with entries that are to look whether their parents have ended; returns how many became ready.

function tock.on_completing(p_run leased_run, p_item jsonb, p_options jsonb)
  returns continuation
  -- Where the task of a run that is done goes on, if it does: in the next stage, or where it is, once those have ended that it spawns.

function tock.on_gated_due(p_positions bigint[])
  returns void
  -- Called with entries that have a gate and are due: makes ready those that it lets in.

function tock.on_leases_ended(p_leases uuid[], p_epoch integer, p_wait boolean)
  returns void
  -- Called when whole leases with options have ended; p_wait false: no lock may be waited for.

function tock.on_made_ready(p_positions bigint[], p_cancelled boolean, p_queues text[], p_gates text[])
  returns void
  -- Called when waiting entries have become runs, with the queues and gates of those that are cancelled.

function tock.on_runs_ended(p_epoch integer, p_ended ending[])
  returns void
  -- Called when results of runs have been written.

function tock.on_runs_moved(p_ids bigint[])
  returns void
  -- Called when runs or waiting entries have ended, or have gone on as others.

function tock.on_runs_skipped(p_stream integer, p_after bigint, p_upto bigint, p_gates text[])
  returns void
  -- Called when a claim has passed over cancelled or expired runs of a stream, with the gates that these had.

function tock.on_segment_dropped(p_epoch integer)
  returns void
  -- Called when the tables of a segment have gone.

function tock.on_tasks_put_off(p_ids bigint[])
  returns void
  -- Called when waiting tasks have been given a later time.

function tock.on_watched_lease_ended(p_lease uuid, p_epoch integer)
  returns void
  -- Called when a whole lease has ended that has a run for which other tasks wait, or may have.

function tock.one_at_a_time(p_pool text, p_side text, p_name text)
  returns void
  -- Waits for who is pairing the same task, or the same worker.

function tock.open_gates(p_queues text[], p_gates text[], p_wait boolean DEFAULT true)
  returns integer
  -- Lets in whoever there is room for at these gates; returns how many.

function tock.open_leases(p_queue text)
  returns uuid[]
  -- All open leases of a queue, read without a record of them; null while somebody else is claiming from it.

function tock.open_named_gates(p_names text[], p_wait boolean)
  returns void
  -- open_gates() for what gates_statement() names.

function tock.open_standing(p_queue text, p_limit integer DEFAULT 1000)
  returns integer
  -- Looks at the gates of a queue that somebody stands at, and lets in whoever there is room for; returns how many.

function tock.open_stream(p_queue text, p_priority integer, p_lane integer, p_slot integer)
  returns integer
  -- The stream of a queue, priority, lane and slot: registered when new, woken when asleep. TK503 when the sequence is behind it.

function tock.open_tasks(p_pool text, p_tasks text[])
  returns places[]
  -- Those of a list that nobody holds who is there, or is giving away, in its order, each once.

function tock.open_webhooks()
  returns queues
  -- The queue from which webhooks are pushed, made or mended where it can't.

function tock.option_error(p_options jsonb)
  returns text[]
  -- What is wrong with a task's options: {field, message}, or null.

function tock.options_again(p_options jsonb, p_policy queues, p_now timestamp with time zone)
  returns jsonb
  -- The options of a task that runs again in a queue, from those it had.

function tock.options_at(p_id bigint)
  returns jsonb
  -- The options of a run or waiting entry.

function tock.options_in(p_options jsonb, p_queue text, p_after bigint)
  returns jsonb
  -- The options of a task that goes on in another queue, after the run at this position: its own, and what that queue asks for.

function tock.options_of(p_epoch integer, p_runs leased_run[])
  returns jsonb
  -- The options of runs of an epoch, by their positions.

function tock.overview()
  returns TABLE(name text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamp with time zone, counted_at timestamp with time zone, enqueued_per_second double precision, started_per_second double precision, done_per_second double precision, failed_per_second double precision, wait_p95 double precision, run_p95 double precision, spark jsonb)
  -- Each queue as of the last round of the duty minutes: how much there is, rates of five minutes, p95 of waits and runs, and by the minute, oldest first, what was ready and done in the last 30 (nothing where nothing was).
  -- for tock_admin, tock_edge

function tock.own_name(p_tenant text, p_name jsonb)
  returns text
  -- The name that a tenant's key gives a gate or a unique key: its own, which no other's task meets.

function tock.own_payload(p_payload jsonb, p_options jsonb)
  returns jsonb
  -- A task's own payload, without what its parents or children gave.

function tock.own_policy(p_policy queues, p_options jsonb)
  returns queues
  -- A queue's policy as it is for a task that asks for a backoff of its own.

function tock.own_request_id(p_key text, p_request_id text)
  returns text
  -- A request id as it counts for a key: apart for keys of other tenants, so that none is given another's ids.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.own_tasks(p_key text, p_body jsonb)
  returns jsonb
  -- What a key enqueues, as it is for the key's tenants: the only one is filled in, and gates and unique keys are theirs.

function tock.own_tenant(p_key text, p_tenant text)
  returns text
  -- The tenant that a key's filter goes by: the only one that it is for, where none is named. TK403 names the field where it is another's.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.pair(p_pool text, p_worker text, p_task text, p_free places, p_waiting places, p_lease_seconds integer)
  returns places
  -- Gives a task to a worker; all null when one of them has been paired by somebody else.

function tock.pair_all(p_pool text, p_tasks places[], p_lease_seconds integer)
  returns bigint[]
  -- Gives each task a free worker, as far as there are any; the fences of those that it paired.

function tock.pair_parts(p_pool text, p_tasks places[], p_lease_seconds integer, p_until timestamp with time zone, OUT pairs bigint[], OUT tried text[])
  returns record
  -- As pair_all(); where somebody else has one of the tasks, each half by itself, down to the single one that is left out, or until that takes too long.

function tock.pairing_key(p_pool text, p_side text, p_name text)
  returns bigint
  -- The advisory lock of a task or a worker in a pool.

function tock.parents(p_id bigint, p_limit integer DEFAULT 1000, p_after integer DEFAULT 0)
  returns TABLE(n integer, id bigint, name text, state text, result jsonb)
  -- The tasks that a task comes after, in their order, from the p_after-th on: each one's state and result (of one that was run again, that one's); gone where its history is.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.parents_counted(p_ids bigint[])
  returns TABLE(said text, unfinished bigint, failed bigint)
  -- How tasks stand that others come after, in words: 1,372 of 2,000 done, 3 dead, 625 ready; how many have not ended, and how many did not end well.

function tock.parents_made_ready(p_positions bigint[], p_cancelled boolean)
  returns void
  -- Has those that watch waiting entries watch the runs that these have become.

function tock.parents_moved(p_ids bigint[])
  returns void
  -- Has those that watch these runs or waiting entries look at their parents: they have ended, or gone on as others.

function tock.parents_passed(p_stream integer, p_after bigint, p_upto bigint)
  returns void
  -- Has promotion look at those that watch what was passed over in a stream, up to 10,000.

function tock.parse_cron(p_cron text)
  returns cron_plan
  -- A cron expression of 5 or 6 fields as sets of bits; TK422 says which part can't be.

function tock.parse_ids(p_rows jsonb, p_field text)
  returns bigint[]
  -- The ids of an array of {id, ...}; TK422 names the one that is no id or stands twice.

function tock.part(p_place places, p_again boolean, p_vanished boolean)
  returns boolean
  -- Ends a pair, of one whose worker has vanished only where it still has: the task waits again or is gone, the worker is free again if it had joined and is there.

function tock.pass_overridden(p_range claim_range, p_most integer)
  returns passed
  -- pass_overridden_N() of the range's segment.

function tock.pass_overridden_1(p_range claim_range, p_most integer)
  returns passed
  -- Passes over the cancelled and expired runs at a stream's cursor, in one segment: where the cursor is then, which of the next runs are to be skipped, up to where that is known, and how many were passed. Null when another segment is meant.

function tock.pass_overridden_current(p_range claim_range, p_most integer)
  returns passed
  -- Passes over the cancelled and expired runs at a stream's cursor, in one segment: where the cursor is then, which of the next runs are to be skipped, up to where that is known, and how many were passed. Null when another segment is meant.

function tock.pause_schedule(p_schedule text)
  returns SETOF shown_schedule
  -- Stops a schedule from firing until it is resumed; no row when there is none.
  -- for tock_admin, tock_edge

function tock.payload_of(p_id bigint)
  returns jsonb
  -- A task's own payload as it is now: of a running one, as its next attempt has it.

function tock.percentile(p_counts bigint[], p_share double precision)
  returns double precision
  -- What a share of what a histogram counts was at most, to about a quarter: the middle of its bucket, and the last bound (a day) where it is above that; null of nothing.

function tock.piggyback_maintenance()
  returns boolean
  -- Does what is due for everybody, before a claim looks for itself; whether there was anything to do.

function tock.pipeline_continuation(p_run leased_run, p_item jsonb, p_options jsonb)
  returns continuation
  -- Where a task with a pipeline goes on whose run is done; queue null when it ends. TK422 for a stage that is none of its, or that can't take the payload.

function tock.pipeline_error(p_pipeline jsonb, p_options jsonb)
  returns text[]
  -- What is wrong with a task's pipeline: {field, message}, or null.

function tock.place_of(p_stream integer, p_alone boolean)
  returns place
  -- The epoch of a stream's next run, and the cursor to claim it from; null when nothing is unread.

function tock.place_of_task(p_pool text, p_task text)
  returns places
  -- Where a task is in a pool, whether it is over or not.

function tock.place_of_worker(p_pool text, p_worker text)
  returns places
  -- Where a worker is in a pool, whether it is over or not.

function tock.plan_firing(p_schedule schedules, p_fire_at timestamp with time zone, p_now timestamp with time zone)
  returns firing
  -- What a schedule whose next fire is p_fire_at comes to now, by its rule for missed fires.

function tock.plan_for(p_ids integer)
  returns void
  -- Has the calling function, which sets plan_cache_mode, plan anew for many ids.

function tock.plan_next(p_schedule schedules)
  returns void
  -- Counts a schedule's next fire from now; none where it is paused.

function tock.policy(p_queue text)
  returns queues
  -- The policy a queue follows: its own row, or the default row '*'.

function tock.pool(p_pool text, p_worker text DEFAULT NULL::text, p_task text DEFAULT NULL::text, p_waiting boolean DEFAULT false, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 1000)
  returns TABLE(worker text, task text, state text, fence bigint, since timestamp with time zone, leased_until timestamp with time zone)
  -- Who is where in a pool: workers by name, free and holding; with p_waiting the tasks that wait; or the one that is named. On from p_after, up to p_limit. Who is past its end is left out.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.pools()
  returns TABLE(pool text, free bigint, held bigint, waiting bigint)
  -- All pools with how many workers are free and hold a task, and how many tasks wait; counts 100,000 of each pool's workers and tasks at most.
  -- for tock_admin, tock_edge

function tock.position_of(p_id bigint)
  returns bigint
  -- The position that an id holds.

function tock.promote(p_limit integer DEFAULT 1000, p_sweep boolean DEFAULT false)
  returns integer
  -- Makes up to p_limit waiting tasks whose time has come ready, earliest first; returns how many. p_sweep reads from the bottom.
  -- for tock_admin

function tock.purge_queue(p_queue text, p_state text DEFAULT NULL::text, p_limit integer DEFAULT 1000000)
  returns TABLE(ready bigint, waiting integer, busy integer, more boolean)
  -- Cancels what is ready and waiting in a queue, or one of the two, for good: up to p_limit ready runs by one row a stream, and 10,000 waiting tasks. Says how many, how many streams others were claiming from (call again), and whether there is more of what was there when it began. Until its transaction ends nobody claims from those streams.
  -- for tock_admin, tock_edge

function tock.purge_range_1(p_stream integer, p_after bigint, p_limit bigint, p_token uuid, OUT passed bigint, OUT purged bigint)
  returns record
  -- Passes over what lies above a stream's cursor in the segment, as purged: how many runs, and how many of them had not been cancelled or replaced.

function tock.purge_stream(p_stream integer, p_limit bigint, OUT passed bigint, OUT purged bigint)
  returns record
  -- Purges up to p_limit unread runs of a stream; how many were passed over, and how many of them had not been cancelled or replaced before. Null when somebody is claiming from it.

function tock.push_error(p_push jsonb)
  returns text[]
  -- What is wrong with a queue's push: {field, message}, or null.

function tock.push_queues(p_queue text DEFAULT NULL::text, p_limit integer DEFAULT 20)
  returns TABLE(queue text, push jsonb, generation integer, previous_until timestamp with time zone)
  -- The queues with push, or the one named, that may have something to send, and which generation of secret signs for each; the one before it too until previous_until.
  -- for tock_admin, tock_edge

function tock.push_secret(p_queue text)
  returns TABLE(queue text, generation integer, previous_until timestamp with time zone)
  -- Which generation of a queue's secret signs, and until when the one before it does too; no row when there is no such queue.
  -- for tock_admin, tock_edge

function tock.put_archive(p_settings jsonb)
  returns TABLE(enabled boolean, prefix text)
  -- Turns the archive on or off, and says under which prefix its files lie from now on ({enabled, prefix}; what is left out stays).
  -- for tock_admin, tock_edge

function tock.put_gate(p_queue text, p_gate text, p_settings jsonb DEFAULT '{}'::jsonb)
  returns gates
  -- Sets gate_limit, gate_rate_limit, gate_rate_seconds, gate_rate_burst and paused of a gate, those that are named; null goes by the queue's setting again. Lets in whoever there is room for then.
  -- for tock_admin, tock_edge

function tock.put_in_order(p_ids bigint[], p_ends whereabout[])
  returns whereabout[]
  -- The whereabouts of tasks in the order of these ids.

function tock.put_queue(p_queue text, p_policy jsonb DEFAULT '{}'::jsonb)
  returns queues
  -- Makes a queue or changes the options named; the others stay. '*' is the default policy. TK422 names the option that is out of range.
  -- for tock_admin, tock_edge

function tock.put_schedule(p_schedule text, p_settings jsonb)
  returns shown_schedule
  -- Makes a schedule, or gives it these settings; what is left out is as by default. Its next fire stays where its timing is as it was, and is counted from now otherwise; what it has fired stays on record. TK422 names the setting that can't be.
  -- for tock_admin, tock_edge

function tock.queue(p_queue text)
  returns SETOF queues
  -- A queue's policy; no row when nobody has named it yet. paused says true as well while it waits to be resumed after a restore.
  -- for tock_admin, tock_edge

function tock.queue_claim_state(p_queue text, OUT state text, OUT retry_after_seconds integer)
  returns record
  -- claim_state() of one queue.

function tock.queue_of_lease(p_lease uuid)
  returns text
  -- The queue that a lease was claimed from; null when there is no such lease.
  -- for tock_admin, tock_edge, tock_worker

function tock.queue_of_schedule(p_schedule text)
  returns text
  -- The queue that a schedule fires into; null when there is none.
  -- for tock_admin, tock_edge

function tock.queue_of_task(p_id bigint)
  returns text
  -- The queue a task's id belongs to, where it is now; null when there is none.
  -- for tock_admin, tock_edge, tock_producer

function tock.queue_settings()
  returns TABLE(name text, kind text, low integer, high integer, words text[], nullable boolean)
  -- The settings of a queue, and what each may be.

function tock.queue_stats(p_queue text DEFAULT NULL::text)
  returns TABLE(queue text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamp with time zone)
  -- How many tasks of each queue are ready, running, waiting and dead, and since when the oldest ready one is; waiting is counted up to a million.
  -- for tock_admin, tock_edge

function tock.queues_of_key(p_key text)
  returns text[]
  -- The queues that a key is for; null for all of them.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.queues_with_dead()
  returns text[]
  -- Up to 20 queues in which tasks have died lately, by 200 streams of the two newest epochs.

function tock.reach(p_key text, p_id bigint)
  returns bigint
  -- This id, but null where a key is for some tenants and the task is of another, or for some tenants or queues and there is no such task.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.read_on_from(p_positions bigint[])
  returns void
  -- Has promotion read on from these waiting entries, which stay there and are due at another time from now on.

function tock.readable(p_key text, p_ids bigint[])
  returns bigint[]
  -- The ids, among these, of tasks that a key may read, with what each was run again as.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.readable_links(p_key text, p_options jsonb, p_error jsonb, p_rerun_of bigint, p_reruns jsonb, OUT options jsonb, OUT error jsonb, OUT rerun_of text, OUT reruns jsonb)
  returns record
  -- What a task says of others, its options, error and reruns, without those that a key may not read.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.ready_since(p_stream integer, p_position bigint, p_task_id bigint)
  returns timestamp with time zone
  -- Since when a run of a task that waited, or that goes on, has been ready or due; null when that can't be seen.

function tock.ready_statement(p_epochs integer[])
  returns text
  -- The statement that says how much of each stream is ready, and since when; up to a million that came since the last count a stream.

function tock.reap(p_limit integer DEFAULT 10000, p_sweep boolean DEFAULT NULL::boolean)
  returns integer
  -- Takes back the runs of leases past their deadline, about p_limit a call: each is lost and its task ready again, or dead after max_lost. Returns how many. p_sweep reads from the bottom, by itself once a minute.
  -- for tock_admin

function tock.reap_pool(p_pool text, p_from timestamp with time zone, p_now timestamp with time zone, p_limit integer)
  returns integer
  -- Lets go of the workers of one pool that have vanished, among p_limit whose time to look has come; returns how many it looked at.

function tock.reap_pools(p_limit integer DEFAULT 10000, p_sweep boolean DEFAULT NULL::boolean)
  returns integer
  -- Lets go of workers past their end in all pools: tasks that were offered wait again, others are over. Looks at p_limit places a call and returns how many. p_sweep reads from the bottom, by itself once a minute.
  -- for tock_admin

function tock.reap_segment_1(p_from timestamp with time zone, p_now timestamp with time zone, p_limit integer)
  returns reaped
  -- Reaps what lies in the segment: how many runs, and up to which deadline when that was not all.

function tock.redrive(p_queue text, p_filter jsonb DEFAULT '{}'::jsonb, p_limit integer DEFAULT 1000, p_cursor text DEFAULT NULL::text, p_request_id text DEFAULT NULL::text, p_to_queue text DEFAULT NULL::text, p_again boolean DEFAULT false, p_reason text DEFAULT NULL::text)
  returns TABLE(redriven integer, ids bigint[], cursor text, looked_at integer)
  -- Runs up to p_limit dead tasks of a queue again ({tenant, error}: what dead_groups() says), as new tasks, in p_to_queue if named; those that were run again before are left out unless p_again. One row: how many, their new ids, and the cursor to go on with, null when all have been looked at; what dies after the first call is left out by those that go on from it. A call repeated with its request_id within 24 hours gives the same.
  -- for tock_admin, tock_edge, tock_producer

function tock.refuse(p_status integer, p_message text, p_field text DEFAULT NULL::text, p_hint text DEFAULT NULL::text)
  returns void
  -- Raises a caller's mistake: SQLSTATE TK and the HTTP status, DETAIL the field's name, HINT what to do next.

function tock.refuse_bad_tasks(p_tasks jsonb, p_max_payload_bytes integer)
  returns void
  -- Raises TK422 for the first task that is not as it should be; DETAIL is like tasks[3].priority.

function tock.refuse_cron(p_field text, p_item text)
  returns void
  -- Raises TK422 for a part of a cron expression, with what may stand there.

function tock.refuse_cycle(p_children integer[], p_parents integer[], p_tasks integer)
  returns void
  -- Raises TK422 when these edges between so many tasks have a cycle; it names a task that is in it or behind it.

function tock.refuse_large_payloads(p_queue text, p_body jsonb, p_request_id text)
  returns void
  -- Raises TK422 where a task of an enqueue has a larger payload than its queue takes, unless its request id was seen before.

function tock.refuse_named_keys(p_tasks jsonb, p_field text)
  returns void
  -- Raises TK422 where tasks of which some have unique keys name each other.

function tock.refuse_twice(p_runs leased_run[])
  returns void
  -- Raises TK422 for a run that is named by both its ids.

function tock.refuse_waiting_for_itself(p_position bigint, p_ids bigint[], p_tasks jsonb, p_field text)
  returns void
  -- Raises TK422 for what a task leaves behind and would wait for while that waits for the task.

function tock.release(p_lease uuid, p_ids bigint[] DEFAULT NULL::bigint[])
  returns TABLE(released integer, refused bigint[])
  -- Gives runs of a lease back unharmed (all that are left, or those named): they are ready again at once, at the end of their stream, and it counts as no attempt. Ids that were not this lease's to release are refused; no row when it is over.
  -- for tock_admin, tock_edge, tock_worker

function tock.release_vanished(p_pool text)
  returns boolean
  -- Lets the offered tasks of workers that have just vanished wait again, or of all that have, where the duty is late; whether there was anything to do.

function tock.replace_runs_1(p_found whereabout[], p_changes jsonb, p_due timestamp with time zone, p_slot integer)
  returns whereabout[]
  -- Marks ready runs as superseded and has changed ones, or waiting entries where p_slot is -1, take their places.

function tock.reprioritize(p_ids bigint[], p_priority integer)
  returns TABLE(id bigint, state text, changed boolean)
  -- Gives tasks another priority, 0 (first) to 9: change() with plain arguments.
  -- for tock_admin, tock_edge, tock_producer

function tock.reprioritize_where(p_queue text, p_filter jsonb, p_priority integer, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 1000)
  returns TABLE(matched integer, changed integer, cursor text, looked_at integer)
  -- Gives another priority to up to p_limit tasks of a queue that have not that one ({state: waiting, ready or running, tenant}; waiting and ready ones without a state), as reprioritize() does. One row: how many were matched and changed, and the cursor to go on with, null at the end; calls that go on leave out what came since.
  -- for tock_admin, tock_edge, tock_producer

function tock.request_seen(p_verb text, p_queue text, p_request_id text, p_digest bigint)
  returns requests
  -- What a call with this request id was given before, all null when it is new. TK422 when the call has changed since.

function tock.requeue_missing(p_epoch integer, p_stream integer, p_runs bigint, p_leased bigint)
  returns integer
  -- Makes runs of a settled epoch ready again that nobody was handed and that have no result, and reports the difference; returns how many.

function tock.rerun(p_ids bigint[], p_request_id text DEFAULT NULL::text, p_reason text DEFAULT NULL::text)
  returns TABLE(id bigint, state text, rerun_id bigint, refused text)
  -- Runs up to 10,000 ended tasks again, each as a new task with the payload, priority, tenant, max_attempts and options it had at last. A row a known task: the state it is in, and the new task's id, or why there is none (unfinished, erased). A call repeated with its request_id, which counts in each of their queues, within 24 hours gives the same, once it has run any again.
  -- for tock_admin, tock_edge, tock_producer

function tock.reschedule(p_ids bigint[], p_run_at timestamp with time zone)
  returns TABLE(id bigint, state text, changed boolean)
  -- Lets tasks run at another time, now if that is past: change() with plain arguments.
  -- for tock_admin, tock_edge, tock_producer

function tock.reset_gate(p_queue text, p_gate text)
  returns boolean
  -- Has a gate go by its queue's settings again, not paused and its bucket full, and looks anew who may come in; false when there is no such gate.
  -- for tock_admin, tock_edge

function tock.reset_limits(p_queue text)
  returns TABLE(queue text, max_running integer, running integer, rate_limit integer, rate_seconds integer, rate_burst integer, level double precision)
  -- Fills the bucket of a queue's rate again and counts anew what is running; no row when there is no queue of this name with a limit.
  -- for tock_admin, tock_edge

function tock.rest(p_limit integer DEFAULT 20000)
  returns integer
  -- Puts streams with nothing above their cursor to sleep, so that claims don't look at them; returns how many.
  -- for tock_admin

function tock.results_fit(p_ends whereabout[], p_bytes bigint)
  returns boolean
  -- Whether the results of these tasks are up to so many bytes of JSON.

function tock.results_of(p_ids bigint[], p_ends whereabout[], p_results boolean, OUT n bigint, OUT id bigint, OUT state text, OUT result jsonb)
  returns SETOF record
  -- How tasks ended and with which results, n in their order: of one that was run again, how that did.

function tock.resume_schedule(p_schedule text)
  returns SETOF shown_schedule
  -- Lets a paused schedule go on with its next fire from now; those that fell into the pause are not missed. No row when there is none.
  -- for tock_admin, tock_edge

function tock.retain()
  returns integer
  -- Drops the oldest epoch that is audited and whose longest retention has passed, one a call, while the archive is on only one that lies there, verified; returns 1 when it did something.
  -- for tock_admin

function tock.revoke_key(p_prefix text)
  returns boolean
  -- Ends a key at once; false when there is none with this prefix.
  -- for tock_admin, tock_edge

function tock.ride_along()
  returns boolean
  -- What a claim does for everybody before it looks for itself: fire and promote what is due, and do duties that are late: the sweep of waiting after 5 s, reaping and epochs after 15 times their interval, the sweep of schedules after 75 s. Whether there was anything to do.

function tock.rotate(p_ahead integer DEFAULT 2, p_width bigint DEFAULT NULL::bigint)
  returns integer
  -- Makes epochs until p_ahead lie ahead of the one in use (p_width positions each), up to 100 a call, ends the one in use when it is old, and settles those that are over; returns how many it made, 0 while another transaction does so.
  -- for tock_admin

function tock.rotate_key(p_prefix text, p_overlap_seconds integer DEFAULT 86400)
  returns TABLE(key text, prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, replaces text)
  -- Makes a new key that may do what one with a prefix may, for as long as that was made for, and ends the old one after so many seconds. TK409 when a key that lives has replaced it before; no row when there is none.
  -- for tock_admin, tock_edge

function tock.rotate_push_secret(p_queue text, p_overlap_seconds integer DEFAULT 86400)
  returns TABLE(queue text, generation integer, previous_until timestamp with time zone)
  -- Makes the next generation of a queue's secret sign, and for so long the one before it too; while that lasts it is not rotated again, unless p_overlap_seconds is 0: then the one before is void at once.
  -- for tock_admin, tock_edge

function tock.run_again_1(p_found whereabout[], p_queue text, p_slot integer, p_kind text, p_again boolean, p_reason text)
  returns whereabout[]
  -- Makes new tasks of ended ones, in a queue, and notes what they are reruns of; returns them, current_id being the new one. p_again also of those that were run again before.

function tock.run_all_again(p_found whereabout[], p_queue text, p_kind text, p_again boolean, p_reason text)
  returns whereabout[]
  -- run_again() wherever the tasks are, to p_queue or each to its own.

function tock.run_at(p_id bigint)
  returns found_run
  -- A run and how it stands, by its id; null when there is none.

function tock.run_at_1(p_id bigint)
  returns SETOF found_run
  -- run_at() for one segment.

function tock.run_duty(p_duty text, p_seconds integer DEFAULT 5)
  returns integer
  -- Does one duty now, in batches for up to p_seconds (0: one batch), and records how it went in tock.duties; returns how much it did, null when it failed or is being done elsewhere.
  -- for tock_admin

function tock.run_headers_1(p_lease uuid, p_epoch integer)
  returns jsonb
  -- The headers and push_url of a lease's runs, by their ids; null when another segment is meant.

function tock.run_headers_current(p_lease uuid, p_epoch integer)
  returns jsonb
  -- The headers and push_url of a lease's runs, by their ids; null when another segment is meant.

function tock.run_schedule(p_schedule text, p_request_id text DEFAULT NULL::text)
  returns SETOF bigint
  -- Fires a schedule now, also a paused one, whatever its last task does; its next fire stays. Returns the task's id, no row when there is no such schedule. A call repeated with its request_id within 24 hours gives the same id.
  -- for tock_admin, tock_edge

function tock.run_state_1(p_stream integer, p_position bigint, p_options jsonb)
  returns TABLE(state text, next_id bigint, ended_at timestamp with time zone, cancel_requested boolean, result jsonb, error jsonb, worker text, claimed_at timestamp with time zone, leased_until timestamp with time zone, lease_after bigint)
  -- How a run of the segment stands, with its result and the lease that holds it; no lease where it was passed over.

function tock.running(p_queue text DEFAULT NULL::text, p_worker text DEFAULT NULL::text, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns TABLE(leases jsonb, cursor text, looked_at integer)
  -- Who runs what: open leases, of a queue or worker if one is named, the one that ends first at the top (one over several streams once for each), each with the ids of up to ten of its tasks that have not ended. Looks at up to 2,000 of an epoch, and may find none among them: go on while there is a cursor.
  -- for tock_admin, tock_edge

function tock.running_leases_1(p_tokens uuid[], OUT runs integer, OUT tokens uuid[])
  returns record
  -- How many runs of some leases of one segment are still running, and of which leases they are.

function tock.running_leases_current(p_tokens uuid[], OUT runs integer, OUT tokens uuid[])
  returns record
  -- How many runs of some leases of one segment are still running, and of which leases they are.

function tock.runs_to_archive_1(p_stream integer, p_position bigint, p_last_stream integer, p_last_position bigint, p_limit integer)
  returns TABLE(stream integer, "position" bigint, begun bigint, created_at timestamp with time zone, queue text, texts text[])
  -- Runs of the segment as the archive has them, after a place in it and up to another, in the order of stream and position.

function tock.schedule(p_schedule text)
  returns SETOF shown_schedule
  -- A schedule: its settings, its next fire, and how the last one went; no row when there is none.
  -- for tock_admin, tock_edge, tock_producer

function tock.schedule_is_held()
  returns void
  -- Raises TK503 for who has waited in vain for a schedule that somebody else has locked.

function tock.schedule_settings()
  returns TABLE(name text, kind text, low integer, high integer, words text[])
  -- The settings of a schedule, and what each may be.

function tock.schedules(p_queue text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns SETOF shown_schedule
  -- Schedules by name, of a queue or all, from after a name on.
  -- for tock_admin, tock_edge, tock_producer

function tock.seconds_to_next_waiting(p_queue text)
  returns integer
  -- Seconds to a queue's next waiting task, 1 to 30.

function tock.sees_all()
  returns boolean
  -- Whether each statement of the transaction has a snapshot of its own.

function tock.send_on_1(p_limit integer)
  returns integer
  -- Notes in promotions what the runs of the segment became, where they went on; returns how many rows it looked at.

function tock.series(p_queue text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_step_seconds integer DEFAULT NULL::integer)
  returns TABLE(step_seconds integer, at timestamp with time zone, enqueued bigint, started bigint, done bigint, failed bigint, lost bigint, dead bigint, ready bigint, running bigint, waiting bigint, oldest_ready_seconds double precision, wait jsonb, run jsonb)
  -- What happened in a queue, or in all together, from p_from (an hour ago) to before p_to, in points of p_step_seconds: up to 1,500, by the hour where it is more than two days ago. Depths are the highest in each, null where nobody counted.
  -- for tock_admin, tock_edge

function tock.server_identity()
  returns bigint
  -- Stands for this server and its timeline: it changes with a restore, a failover or a branch.

function tock.set_free(p_children bigint[])
  returns void
  -- Lets children whose parents are over come next: ready, or to their gates, or to wait for their time.

function tock.set_paused(p_schedule text, p_paused_at timestamp with time zone)
  returns shown_schedule
  -- Pauses or resumes a schedule, unless it is; null when there is none.

function tock.settle()
  returns integer
  -- Marks epochs as settled that have ended, whose writers are gone, and in which nothing is unread or running; returns how many.

function tock.shown_schedule(p_schedule schedules)
  returns shown_schedule
  -- A schedule with its next fire and its last one.

function tock.shown_since(p_queue text)
  returns timestamp with time zone
  -- Tasks of a queue that ended before this are not shown any more.

function tock.skip_to(p_stream integer, p_after bigint, p_last bigint, p_skipped integer)
  returns void
  -- Moves a stream's cursor without handing anything out: a closed lease that holds no runs but p_skipped that were passed over.

function tock.some(p_count bigint, p_one text, p_more text DEFAULT NULL::text)
  returns text
  -- How many of something, in words: 1 task, 2 tasks.

function tock.some_tasks(p_count bigint, p_one text, p_more text)
  returns text
  -- How many tasks, with the verb that goes with it.

function tock.somebody_leases(p_queue text)
  returns boolean
  -- Whether a queue has an open lease, among the next 1,000 of each epoch to end.

function tock.somebody_works(p_pool text)
  returns boolean
  -- Whether one of a pool's workers, among the first 1,000 by name, holds a task.

function tock.spawn_all(p_epoch integer, p_runs leased_run[], p_results jsonb)
  returns void
  -- Enqueues what runs that were done leave behind, once, and has those wait that are to go on after it.

function tock.spawn_parts(p_runs leased_run[], p_results jsonb, OUT queue text, OUT tasks jsonb, OUT places jsonb)
  returns SETOF record
  -- What runs leave behind as calls of enqueue() in their order; places has for each task which of the runs it is of, and which of its tasks.

function tock.spawned_field(p_field text, p_places jsonb, p_runs leased_run[])
  returns text
  -- Where in a completion the field stands that enqueue() refused.

function tock.spawned_ids(p_run leased_run)
  returns bigint[]
  -- The ids of the tasks that a run left behind, in order.

function tock.spawned_so(p_run leased_run, p_spawn jsonb)
  returns boolean
  -- Whether a run that ended before left these tasks behind, or none.

function tock.stage_policy(p_queue text)
  returns queues
  -- The policy of a stage's queue, which is made if it is new.

function tock.stages_kept(p_task jsonb, p_due_at timestamp with time zone)
  returns jsonb
  -- What a run keeps of a task's pipeline.

function tock.stages_of_task(p_id bigint)
  returns jsonb
  -- The stages of a task's pipeline, none of another's; null when it is not there.

function tock.step_of(p_from timestamp with time zone, p_to timestamp with time zone, p_step_seconds integer)
  returns integer
  -- The seconds between the points of a series.

function tock.still_inside(p_queue text, p_keep boolean, p_states whereabout[], p_lock boolean, OUT inside bigint[], OUT back bigint[])
  returns record
  -- The tasks inside a gate, of those it has let in, and the waiting entries of those whose next attempt is due.

function tock.still_wanted(p_children bigint[])
  returns bigint[]
  -- Children without those that somebody cancelled while what they had run was being completed: these are ended.

function tock.stored_task_1(p_current_id bigint)
  returns TABLE(priority smallint, tenant text, max_attempts smallint, bytes integer, payload jsonb, options jsonb)
  -- What is kept of a task with a run of the segment, or with a waiting entry.

function tock.stores_elsewhere()
  returns boolean
  -- Whether this is a server whose log is kept elsewhere: Neon's, or Aurora.

function tock.strangers()
  returns TABLE(pid integer, locks integer)
  -- Processes that hold advisory locks of Tock's outside of any transaction, or in one that has read no table of Tock's, and how many.

function tock.stream_asks(p_stream integer)
  returns boolean
  -- Whether a stream is of runs with options.

function tock.stream_of(p_id bigint)
  returns integer
  -- The stream that an id holds; 0 for what started out waiting.

function tock.streams_to_claim(p_queue text, p_seed integer, p_seen integer[], p_late boolean)
  returns look
  -- The next streams of a queue that have something to claim, besides those seen; at the first look it does maintenance that is late.

function tock.sum_counts(p_counts bigint[])
  returns bigint[]
  -- Arrays of counts, one after the other in one, added up; null when there are none.

function tock.supersede(p_found whereabout[], p_changes jsonb)
  returns whereabout[]
  -- Replaces ready runs by changed ones; returns those that had not started or been cancelled, n being the id of what replaces them. Until the transaction ends no claim takes from their streams.

function tock.sweep_gates(p_limit integer DEFAULT 500)
  returns integer
  -- Looks at gates that somebody stands at, up to p_limit a call, and lets in whoever was missed; returns how many.

function tock.take(p_pool text, p_worker text, p_lease_seconds integer DEFAULT NULL::integer)
  returns TABLE(state text, task text, fence bigint, leased_until timestamp with time zone)
  -- Gives a worker, joined or not, the task that has waited for longest in the pool. State: taken; held, its own again with a later end, when it has one; empty when none waits, which is a heartbeat for one that has joined; busy while somebody is giving it one.
  -- for tock_admin, tock_edge, tock_worker

function tock.take_fire(p_schedule text)
  returns fires
  -- Takes away the row of a schedule's next fire and returns it; who calls it writes the next.

function tock.take_request(p_prefix text, p_limit integer, p_seconds integer)
  returns integer
  -- Counts a request in the window of a key's rate; null when it may go on, else the seconds until it may come again.

function tock.take_slot(p_from integer DEFAULT NULL::integer)
  returns integer
  -- The writer slot of this transaction, locked to its end: one writer a slot makes commit order and position order agree in each of its streams.

function tock.take_stream(p_stream integer)
  returns boolean
  -- Takes the lock of a stream's claim by trying, or its second key where the first is held by a session outside of any transaction.

function tock.task(p_id bigint)
  returns TABLE(id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer, lost integer, created_at timestamp with time zone, run_at timestamp with time zone, ended_at timestamp with time zone, payload jsonb, result jsonb, error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint, reruns jsonb)
  -- A task by its id or any of its runs' ids: its state, and all its runs in order with queue, worker, times, progress, result and error. No row when there is none, or it ended longer than its queue's retention ago.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.task_of(p_schedule schedules, p_fire_at timestamp with time zone)
  returns jsonb
  -- The task that a schedule enqueues for a fire; fire_as is the payload's key for which fire it is.

function tock.task_with(p_id bigint, p_archived found_run[] DEFAULT NULL::found_run[], p_looked bigint[] DEFAULT '{}'::bigint[])
  returns TABLE(id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer, lost integer, created_at timestamp with time zone, run_at timestamp with time zone, ended_at timestamp with time zone, payload jsonb, result jsonb, error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint, reruns jsonb, missing jsonb)
  -- task(), which may go on with runs that were read from the archive: `missing` is the next of them that it needs.

function tock.task_with_trace(p_task jsonb, p_trace jsonb)
  returns jsonb
  -- A task with the trace context of the request that enqueues it, unless it has one of its own.

function tock.tasks(p_filter jsonb DEFAULT '{}'::jsonb, p_cursor text DEFAULT NULL::text, p_limit integer DEFAULT 100)
  returns TABLE(tasks jsonb, cursor text, looked_at integer)
  -- One row: tasks of a queue or of all, without their payloads, the newest first by their newest run or entry, that a filter lets through ({queue, state, tenant, error, worker, rerun, from, to}; with queue also unique_key or gate), the cursor to go on with (null at the end), and how many rows were looked at, some 10,000 a call: it may find none among them. Ready, running and dead ones are found by an index. rerun true or false: only those that have been run again, or have not.
  -- for tock_admin, tock_edge, tock_producer

function tock.tell_deaths(p_limit integer DEFAULT 50000)
  returns integer
  -- Tells the endpoints of queues with a dead_webhook what died since, one message a queue and minute at most, by tasks in tock-webhooks; returns how many notes it took.

function tock.tenant_of_task(p_id bigint)
  returns text
  -- The tenant of a task; null when it has none, or is not there.
  -- for tock_edge

function tock.tenants_of_key(p_key text)
  returns text[]
  -- The tenants that a key is for; null for all of them.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.tick()
  returns timestamp with time zone
  -- Does every duty that is due and returns next_wake_at(): what pg_cron calls, and an external wake can.
  -- for tock_admin, tock_edge

function tock.tick_by()
  returns timestamp with time zone
  -- By when an alarm ticks even if nothing that it knows of is due: five seconds from now where pg_cron knows no seconds, else null.
  -- for tock_admin, tock_edge, tock_worker

function tock.tidy(p_limit integer DEFAULT 10000)
  returns integer
  -- Deletes request ids older than a day, what pg_cron noted about Tock's jobs a day ago, unique keys and gates that nobody has used for long, workers that have claimed nothing of their own for two days (1,000 at most), what became of fires seven days ago, and acts older than a year, up to p_limit of each.
  -- for tock_admin

function tock.tidy_acts(p_limit integer)
  returns integer
  -- Deletes acts older than a year, up to p_limit of them; returns how many.

function tock.tidy_gates(p_limit integer)
  returns integer
  -- Forgets gates without settings that nobody has come to for a day, among p_limit of them; returns how many.

function tock.tidy_keys(p_limit integer)
  returns integer
  -- Forgets unique keys whose tasks are over for longer than their queue keeps them, among p_limit of that age; returns how many.

function tock.tidy_lines()
  returns void
  -- Has lines read from where they begin, keeps the four newest marks of each, and none of 500 a call whose pool everybody has left.

function tock.tidy_own(p_limit integer)
  returns void
  -- Forgets workers that have claimed nothing of their own for two days, but for those that still hold it.

function tock.token_cursor(p_lease uuid, p_first bigint)
  returns bigint
  -- The after_position of a lease of one run, from its token and the first position of its epoch, which is at most 2^30 wide.

function tock.token_epoch(p_lease uuid)
  returns integer
  -- The epoch that a lease's token names; lease_epoch() says whether there is one.

function tock.token_stream(p_lease uuid)
  returns integer
  -- The stream of a lease of one run, from its token.

function tock.told_of(p_lease uuid, p_epoch integer)
  returns jsonb
  -- The headers and push_url of a lease's runs, by their ids, in whatever epoch.

function tock.tried_again(p_queue text)
  returns TABLE(id bigint, failed integer)
  -- Tasks of a queue that have failed twice and more, and are to run again.

function tock.turn_gates(p_locked gates[], p_sweep boolean DEFAULT false)
  returns integer
  -- Lets in through locked gates whoever there is room for, first come, first served; returns how many.

function tock.unassign(p_pool text, p_task text, p_fence bigint DEFAULT NULL::bigint, p_again boolean DEFAULT false)
  returns boolean
  -- Takes a task out of a pool, or with p_again lets it wait there for another worker; its worker is free again. With p_fence only while that holding goes on. False when there was nothing to end.
  -- for tock_admin, tock_edge, tock_producer, tock_worker

function tock.unchanged_fields(p_ended ending[], p_runs leased_run[], p_all boolean)
  returns text[]
  -- The fields of what leads on to another stage without a result, in the order of p_ended, null for the others; p_all: they were completed as a whole lease.

function tock.uncounted(p_after integer, p_limit integer)
  returns integer[]
  -- The next streams in which something may have happened since they were counted.

function tock.unended_tasks(p_fires fires[])
  returns bigint[]
  -- Of the last tasks of schedules that may not overlap, those that have not ended.

function tock.unread_stream(p_queue text)
  returns integer
  -- A stream of a queue with runs that were not claimed, cancelled ones among them; null when there is none.

function tock.unsettled_epochs()
  returns integer[]
  -- The epochs in which something is still unread or running, oldest first.

function tock.update_key(p_prefix text, p_changes jsonb)
  returns TABLE(prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone, revoked_at timestamp with time zone, replaces text, replaced_by text, last_used_at timestamp with time zone, uses bigint)
  -- Changes a key's name, expiry and rate, those that are named; null takes away. No row when there is none with this prefix.
  -- for tock_admin, tock_edge

function tock.url_error(p_url jsonb)
  returns text
  -- What is wrong with the URL of an endpoint; null when it may be one.

function tock.utc(p_at timestamp with time zone)
  returns text
  -- An instant to be read by people.

function tock.verify_archive(p_archive archives)
  returns void
  -- Calls an epoch verified whose files hold all of its runs, and begins anew with one of which that can't be said.

function tock.wait_for(p_position bigint, p_ids bigint[], p_spawn jsonb, p_field text)
  returns void
  -- Has a task's next entry come after others; TK422 where these wait for it.

function tock.wait_for_lock(p_key integer)
  returns boolean
  -- Takes the lock of a stream's claim, a slot or a duty, waiting up to 50 ms; false when that was not enough.

function tock.waited_for(p_positions bigint[])
  returns bigint[]
  -- The waiting entries that some wait for, by their parents or at their gates, and what those wait for in turn, through up to a thousand.

function tock.waiting_writers(p_age interval DEFAULT '00:00:00'::interval)
  returns text[]
  -- The virtual ids of other transactions that have rows of waiting locked, or have written there and are so old.

function tock.waits_on(p_position bigint)
  returns bigint
  -- The waiting entry that a waiting entry waits for, by its parents or at its gate.

function tock.want_archive()
  returns boolean
  -- Whoever has a store calls this before history is dropped: it turns the archive on where nobody has turned it on or off. Whether it is on.
  -- for tock_admin, tock_edge

function tock.was_completed_so(p_run leased_run, p_item jsonb, p_next continuation, p_pipeline boolean)
  returns boolean
  -- Whether a run that ended before was completed by the same call: it led to the same queue, and left the same tasks behind.

function tock.watch(p_watch dependent[])
  returns void
  -- Has children watch the parents that are in their way, and look at them again in a while.

function tock.watched_runs(p_parents bigint[], p_children bigint[])
  returns bigint[]
  -- Which runs of these parents children watch; null for the others, or in place of all.

function tock.whereabouts(p_ids bigint[])
  returns SETOF whereabout
  -- For ids of tasks or runs, n in their order: the task's id, the id of its newest run or waiting entry, its state and queue. Unknown ones are left out.

function tock.whoami(p_key text)
  returns TABLE(prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer, rate_seconds integer, created_at timestamp with time zone, expires_at timestamp with time zone)
  -- What a key may: its scopes, queues, tenants, rate and end. TK401 when it is none.
  -- for tock_edge

function tock.why(p_queue text, p_sessions boolean DEFAULT true)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- Why tasks of a queue are late at this moment, what explains it best first, and what to do about each: paused, no worker, a limit, what is due and not made ready, an open transaction, parents, gates, tasks that fail, or time that stands still. No row when nothing holds it up. Without p_sessions whose sessions those are is left out.
  -- for tock_admin, tock_edge

function tock.why_of_duties()
  returns TABLE(finding text, severity text, detail text, hint text)
  -- Whether time does what it must: pg_cron, and late duties.

function tock.why_of_gates(p_queue text, p_age interval DEFAULT '00:00:05'::interval)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- One note of all gates of a queue that tasks wait at because they are paused, or full of tasks that are inside for long.

function tock.why_of_hidden(p_seconds double precision DEFAULT 0.3)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- why_of_transactions() for those whose beginning the owner may not see: by several looks.

function tock.why_of_parents(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- One note of the tasks of a queue that wait for their parents: how many, and how the parents stand of the one that has waited for longest.

function tock.why_of_poison(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- Tasks of a queue that fail, end their workers or die, again and again.

function tock.why_of_takers(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- Why ready tasks of a queue are not handed out: paused, a limit, no worker, or too few; or why they are not pushed.

function tock.why_of_time(p_queue text)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- Whether tasks of a queue are due and still wait, and where pg_cron comes by the minute, that it does.

function tock.why_of_transactions(p_age interval DEFAULT '00:00:05'::interval)
  returns TABLE(finding text, severity text, detail text, hint text)
  -- Transactions that have written to Tock and have been open, or prepared, for so long.

function tock.why_unsettled(p_epoch epochs)
  returns TABLE(why text, hint text)
  -- Who or what keeps an epoch that is over from being settled, the first there is, and what to do.

function tock.wishes(p_ids bigint[])
  returns wish[]
  -- What is wanted of tasks, by the ids of their first or other runs: that they aren't tried again, or what is changed (of a payload its bytes only). Others are left out.

function tock.wishes_1(p_ids bigint[])
  returns wish[]
  -- What is wanted of tasks, as marked in one segment.

function tock.wishes_current(p_ids bigint[])
  returns wish[]
  -- What is wanted of tasks, as marked in one segment.

function tock.wishes_in_use(p_ids bigint[])
  returns wish[]
  -- wishes() where all ids lie in the segment in use; null when one does not.

function tock.with_own_payload(p_payload jsonb, p_options jsonb, p_own jsonb)
  returns jsonb
  -- A task's payload with another of its own, beside what its parents or children gave.

function tock.with_parents(p_options jsonb, p_after jsonb, p_n bigint, p_ids bigint[], p_names jsonb)
  returns jsonb
  -- A task's options with the ids of those it comes after.

function tock.with_trace(p_body jsonb, p_trace jsonb)
  returns jsonb
  -- The body of POST /v1/queues/:queue/tasks with the trace context that came in the headers of its request.
  -- for tock_edge

function tock.without_query(p_push jsonb)
  returns jsonb
  -- A queue's push as an act shows it: what a URL asks for may be a secret.

function tock.without_secrets(p_options jsonb)
  returns jsonb
  -- What is left of a run's options when its task is erased.

function tock.without_trace(p_tasks jsonb)
  returns jsonb
  -- Tasks as they are compared when a call is repeated: the same whatever trace each try is part of.

function tock.write_cursor(p_at jsonb)
  returns text
  -- A place in a listing, as callers get it.

function tock.write_results_1(p_epoch integer, p_ended ending[], p_again going[], p_streams integer[])
  returns integer
  -- Writes the results of one segment's runs and, where some go on (p_again), the next runs and waiting entries; null when another segment is meant.

function tock.write_results_current(p_epoch integer, p_ended ending[], p_again going[], p_streams integer[])
  returns integer
  -- Writes the results of one segment's runs and, where some go on (p_again), the next runs and waiting entries; null when another segment is meant.

function tock.writers()
  returns text[]
  -- The virtual ids of other transactions that hold a writer slot.
