/** For each table: a valid row, and for each constraint the changes that make the row break it. */
export type ConstraintViolation = { table: string; row: object; broken: Record<string, object> };

const at = '2030-01-01T00:00:00Z';
const before = '2029-01-01T00:00:00Z';

const policy = {
  name: 'a',
  lease_seconds: 60,
  max_attempts: 10,
  max_lost: 10,
  backoff_base_seconds: 5,
  backoff_factor: 2,
  backoff_cap_seconds: 3600,
  backoff_jitter: 0.2,
  lanes: 8,
  max_payload_bytes: 262144,
  paused: false,
  created_at: at,
  retention_seconds: 604800,
  pause_after_restore: false,
  heavy: {},
  backoff_kind: 'fixed',
  concurrency_limit: 1,
  concurrency_retry: 'keep',
  concurrency_rate_seconds: 1,
  rate_seconds: 1,
  keep_results: true,
  push_generation: 1,
};

const schedule = {
  name: 's',
  queue: 'a',
  options: {},
  every_seconds: 60,
  time_zone: 'UTC',
  jitter_seconds: 0,
  overlap: 'queue',
  missed: 'one',
  missed_limit: 100,
  missed_after_seconds: 60,
  created_at: at,
  updated_at: at,
  anchor_at: at,
};

const waiting = {
  position: 1,
  due_at: at,
  created_at: at,
  bytes: 0,
  priority: 5,
  lane: 0,
  attempt: 1,
  lost: 0,
  queue: 'a',
};

const mark = { position: 1, stream: 1, created_at: at, kind: 'cancelled' };
const result = { position: 1, stream: 1, ended_at: at, state: 'failed' };
const fire = { schedule: 's', turn: 1, due_at: at, fire_at: at, failures: 0 };
const fired = { number: 1, schedule: 's', fire_at: at, fired_at: at, outcome: 'missed' };

export const constraintViolations: ConstraintViolation[] = [
  {
    table: 'queues',
    row: policy,
    broken: {
      attempts_are_1_to_1000: { max_attempts: 0 },
      backoff_base_is_up_to_a_day: { backoff_base_seconds: -1 },
      backoff_cap_is_up_to_a_month: { backoff_cap_seconds: 2678401 },
      backoff_factor_is_1_to_10: { backoff_factor: 0.5 },
      backoff_jitter_is_a_share: { backoff_jitter: 1.1 },
      backoff_kind_is_known: { backoff_kind: 'none' },
      dead_webhook_is_an_object: { dead_webhook: [] },
      default_policy_has_no_push: { name: '*', push: {} },
      concurrency_limit_is_1_to_1000: { concurrency_limit: 0 },
      concurrency_rate_is_1_to_a_million: { concurrency_rate_limit: 0 },
      concurrency_rate_is_by_up_to_a_day: { concurrency_rate_seconds: 0 },
      concurrency_retry_is_known: { concurrency_retry: 'no' },
      heavy_is_an_object: { heavy: [] },
      lanes_are_1_to_64: { lanes: 65 },
      lease_lasts_up_to_a_day: { lease_seconds: 0 },
      lost_runs_are_1_to_1000: { max_lost: 1001 },
      max_running_is_1_to_10000: { max_running: 0 },
      max_wait_is_up_to_ten_years: { max_wait_seconds: 0 },
      name_is_short_and_plain: { name: 'a b' },
      payload_is_up_to_4_mib: { max_payload_bytes: 4194305 },
      push_generation_is_positive: { push_generation: 0 },
      push_is_an_object: { push: [] },
      rate_is_1_to_a_million: { rate_limit: 0 },
      rate_is_by_up_to_a_day: { rate_seconds: 0 },
      retention_is_a_minute_to_ten_years: { retention_seconds: 59 },
      timeout_is_up_to_a_month: { timeout_seconds: 0 },
    },
  },
  {
    table: 'schedules',
    row: schedule,
    broken: {
      cron_has_its_plan: { cron: '* * * * *', every_seconds: null, anchor_at: null },
      jitter_is_up_to_a_day: { jitter_seconds: -1 },
      missed_after_is_up_to_a_day: { missed_after_seconds: 86401 },
      missed_is_known: { missed: 'some' },
      missed_limit_is_1_to_1000: { missed_limit: 0 },
      overlap_is_known: { overlap: 'wait' },
      period_has_its_anchor: { anchor_at: null },
      period_is_up_to_ten_years: { every_seconds: 0 },
      schedule_ends_after_it_starts: { starts_at: at, ends_at: before },
      schedule_has_one_timing: { run_at: at },
    },
  },
  {
    table: 'schedule_next_fires',
    row: fire,
    broken: {
      fire_failed_for_a_reason: { failures: 1 },
      last_fire_is_told_whole: { last_fire_at: at },
      only_what_has_no_fire_is_never_due: { due_at: 'infinity' },
      outcome_is_known: { last_fire_at: at, last_fired_at: at, last_outcome: 'lost' },
    },
  },
  {
    table: 'schedule_history',
    row: fired,
    broken: {
      fires_are_left_out_up_to_a_later_one: { until_at: before },
      outcome_is_known: { outcome: 'lost' },
      what_failed_says_why: { outcome: 'failed' },
      what_fired_made_a_task: { outcome: 'fired' },
    },
  },
  {
    table: 'waiting',
    row: waiting,
    broken: {
      dependent_has_no_ticket: { concurrency_key: 'g', ticket: 1, due_after_parents: at },
      priority_is_0_to_9: { priority: 10 },
      run_was_lost_less_often_than_begun: { lost: 1 },
      ticket_is_for_a_concurrency_key: { ticket: 1 },
    },
  },
  {
    table: 'run_overrides',
    row: mark,
    broken: {
      pending_change_has_changes: { kind: 'amended' },
      kind_is_known: { kind: 'done' },
      superseded_names_the_other: { kind: 'superseded' },
    },
  },
  {
    table: 'results',
    row: result,
    broken: {
      state_is_known: { state: 'ready' },
      the_cancelled_and_expired_end: { state: 'expired', next_id: 1048577 },
    },
  },
  {
    table: 'segments',
    row: {
      number: 99,
      first_position: 9e12,
      end_position: 9e12 + 10,
      made_at: at,
      queues: [],
      dead: {},
      drop_tries: 0,
      counted: false,
      early: false,
    },
    broken: {
      drops_are_counted: { drop_tries: -1 },
      segment_has_a_number: { number: 0 },
      segment_is_a_range: { end_position: 9e12 },
      segments_do_not_overlap: { first_position: 1 },
      only_what_has_ended_is_closed: { closed_at: at },
      only_what_is_closed_is_verified: { verified_at: at },
    },
  },
  {
    table: 'segment_templates',
    row: { name: 'a', kind: 'segment', file: 'kernel/a.segment.sql', body: 'select 1' },
    broken: { template_is_of_a_kind: { kind: 'other' } },
  },
  {
    table: 'streams',
    row: { number: 9, queue: 'a', priority: 5, lane: 0, slot: 0, start_after: 0, awake: true },
    broken: { priority_is_0_to_9: { priority: -1 } },
  },
  {
    table: 'requests',
    row: { verb: 'redrive', queue: 'a', request_id: 'r', digest: 1, ids: [], created_at: at },
    broken: {
      answer_is_of_ids: { ids: null, token: '00000000-0000-4000-8000-000000000000', answer: [] },
      request_gave_something: { ids: null },
    },
  },
  {
    table: 'reruns',
    row: { of_id: 1, id: 2, created_at: at, number: 1, kind: 'rerun' },
    broken: {
      kind_is_known: { kind: 'retry' },
      rerun_is_another_task: { id: 1 },
      reruns_are_counted: { number: 0 },
    },
  },
  {
    table: 'unique_keys',
    row: { number: 1, task_id: 1, created_at: at, written_at: at, queue: 'a', unique_key: 'k' },
    broken: { admissions_are_counted: { number: 0 } },
  },
  {
    table: 'concurrency_keys',
    row: { queue: 'a', concurrency_key: 'g', paused: false, created_at: at },
    broken: {
      concurrency_key_is_1_to_504_characters: { concurrency_key: '' },
      concurrency_limit_is_1_to_1000: { concurrency_limit: 1001 },
      concurrency_rate_is_1_to_a_million: { concurrency_rate_burst: 0 },
      concurrency_rate_is_by_up_to_a_day: { concurrency_rate_seconds: 0 },
    },
  },
  {
    table: 'keys',
    row: {
      prefix: 'p',
      hash: `\\x${'00'.repeat(32)}`,
      name: 'k',
      scopes: ['read'],
      created_at: at,
    },
    broken: {
      key_rate_is_in_range: { rate_limit: 0, rate_seconds: 1 },
      key_rate_is_whole: { rate_limit: 1 },
      key_with_tenants_enqueues_and_reads: { scopes: ['claim'], tenants: ['t'] },
      tenants_are_some: { tenants: [] },
      hash_is_a_sha256: { hash: '\\x00' },
      key_is_for_all_queues_or_some: { queues: [] },
      scopes_are_known: { scopes: [] },
    },
  },
  {
    table: 'queue_metrics',
    row: {
      queue: 'a',
      at,
      width_seconds: 60,
      ...Object.fromEntries(
        'enqueued started passed done failed lost dead cancelled returned wait_seconds run_seconds'
          .split(' ')
          .map((name) => [name, 0]),
      ),
    },
    broken: { width_is_a_minute_or_an_hour: { width_seconds: 61 } },
  },
  {
    table: 'maintenance_jobs',
    row: { name: 'd', every_seconds: 1, failures: 0, writers: [] },
    broken: { job_comes_again: { every_seconds: 0 } },
  },
  {
    table: 'wait_list_cursors',
    row: { pool: 'p', line: 'free', number: 1, reached: 1, made_at: at },
    broken: { list_is_known: { line: 'held' } },
  },
  {
    table: 'progress',
    row: { position: 1, stream: 1, reported_at: at, of_all: false },
    broken: { progress_is_0_to_100: { progress: 101 } },
  },
  {
    table: 'reports',
    row: { number: 999, reported_at: at, kind: 'verify_segments', detail: {} },
    broken: { kind_is_known: { kind: 'news' } },
  },
  {
    table: 'bulk_changes',
    row: {
      id: 999,
      change: 'cancel',
      queue: 'q',
      filter: {},
      options: {},
      role: 'tock',
      created_at: at,
      cursor: 'a',
      matched: 0,
      changed: 0,
      state: 'running',
      due_at: at,
      failures: 0,
    },
    broken: {
      change_is_known: { change: 'purge' },
      bulk_change_state_is_known: { state: 'paused', ended_at: at },
      bulk_change_ends_once: { ended_at: at },
      bulk_change_without_cursor_is_done: { cursor: null },
    },
  },
  {
    table: 'archive',
    row: { single: true, enabled: true, prefix: 'a/b', changed_at: at, failures: 0 },
    broken: { archive_is_one: { single: false }, prefix_is_a_plain_path: { prefix: 'a/../b' } },
  },
  {
    table: 'archives',
    row: {
      segment: 1,
      first_position: 0,
      end_position: 1,
      state: 'exporting',
      stream: 0,
      position: 0,
      parts: 0,
      rows: 0,
      replaced: 0,
      started_at: at,
    },
    broken: {
      archive_state_is_known: { state: 'gone' },
      archive_is_a_range: { end_position: 0 },
    },
  },
  {
    table: 'archived_files',
    row: {
      number: 1,
      segment: 1,
      part: 1,
      path: 'p',
      bytes: 1,
      sha256: 's',
      digest: 'd',
      rows: 1,
      first_stream: 0,
      first_position: 0,
      last_stream: 1,
      last_position: 1,
      first_created_at: at,
      last_created_at: at,
      queues: ['q'],
      archived_at: at,
    },
    broken: { file_has_rows: { rows: 0 } },
  },
  {
    table: 'archive_objects',
    row: { path: 'p', state: 'writing', noted_at: at, segment: 1, part: 1 },
    broken: { object_state_is_known: { state: 'kept' } },
  },
  {
    table: 'dead_task_events',
    row: { number: 999, queue: 'a', deaths: 1, ids: [1], died_at: at },
    broken: { dead_tasks_are_counted: { deaths: 0 } },
  },
  {
    table: 'dependency_rechecks',
    row: { number: 999, child: 1, not_before: '2026-01-01T00:00:00Z' },
    broken: { recheck_names_a_child_or_runs: { stream: 1 } },
  },
];
