// What the routes answer, as far as the pages show it. GET /openapi.json has the whole.

export type Scope = 'enqueue' | 'claim' | 'read' | 'admin';

export type Who = {
  prefix: string;
  name: string;
  scopes: Scope[];
  /** Null: all. */
  queues: string[] | null;
  tenants: string[] | null;
  expires_at: string | null;
};

/** How a queue stands at this moment. */
export type Depth = Pick<
  Overview,
  'name' | 'paused' | 'ready' | 'running' | 'waiting' | 'dead' | 'oldest_ready_at'
>;

export type Overview = {
  name: string;
  paused: boolean;
  ready: number;
  running: number;
  waiting: number;
  dead: number;
  oldest_ready_at: string | null;
  counted_at: string | null;
  enqueued_per_second: number;
  started_per_second: number;
  done_per_second: number;
  failed_per_second: number;
  wait_p95: number | null;
  run_p95: number | null;
  /** Of 30 minutes, or empty where nothing was. */
  spark: { ready: number[]; done: number[] };
};

export type Percentiles = { p50: number | null; p95: number | null; p99: number | null };

export type Point = {
  at: string;
  enqueued: number;
  started: number;
  done: number;
  failed: number;
  lost: number;
  dead: number;
  ready: number | null;
  running: number | null;
  waiting: number | null;
  oldest_ready_seconds: number | null;
  wait: Percentiles;
  run: Percentiles;
};

export type Finding = {
  finding: string;
  severity: string;
  detail: string | null;
  hint: string | null;
};

export type Listed = {
  id: string;
  queue: string;
  state: string;
  priority: number;
  tenant: string | null;
  attempt: number;
  created_at: string;
  run_at: string | null;
  ended_at: string | null;
  worker: string | null;
  error: string | null;
};

export type Run = {
  id: string;
  queue: string;
  attempt: number;
  state: string;
  worker: string | null;
  started_at: string | null;
  leased_until: string | null;
  ended_at: string | null;
  cancel_requested: boolean;
  progress: number | null;
  note: string | null;
  result: unknown;
  error: unknown;
};

export type Task = {
  id: string;
  queue: string;
  state: string;
  priority: number;
  tenant: string | null;
  attempt: number;
  max_attempts: number;
  lost: number;
  created_at: string;
  run_at: string | null;
  ended_at: string | null;
  payload: unknown;
  result: unknown;
  error: unknown;
  options: Record<string, unknown> | null;
  progress: number | null;
  note: string | null;
  runs: Run[];
  rerun_of: string | null;
  reruns: { id: string; kind: string; reason: string | null; created_at: string }[];
};

export type Lease = {
  queue: string;
  worker: string | null;
  claimed_at: string;
  leased_until: string;
  runs: number;
  unfinished: number;
  late: boolean;
  tasks: string[];
};

export type Gate = {
  gate: string;
  paused: boolean;
  gate_limit: number;
  inside: string[];
  waiting: number;
};

export type Limits = {
  queue: string;
  max_running: number | null;
  running: number | null;
  rate_limit: number | null;
  rate_seconds: number;
  rate_burst: number | null;
  level: number | null;
};

export type Group = { error: string | null; tasks: number; newest_at: string; newest_id: string };

export type Schedule = {
  name: string;
  state: string;
  queue: string;
  cron: string | null;
  every_seconds: number | null;
  run_at: string | null;
  time_zone: string;
  next_fire_at: string | null;
  last_fire_at: string | null;
  last_outcome: string | null;
  last_task_id: string | null;
  last_error: string | null;
  failures: number;
};

export type Duty = {
  name: string;
  every_seconds: number;
  last_started_at: string | null;
  last_ok_at: string | null;
  late_seconds: number | null;
  last_amount: number | null;
  last_seconds: number | null;
  last_error: string | null;
  failures: number;
};

export type Job = {
  jobname: string;
  schedule: string;
  active: boolean;
  last_status: string | null;
  last_at: string | null;
};

export type Epoch = {
  number: number;
  state: string;
  first_position: string | number;
  end_position: string | number;
  started_at: string | null;
  settled_at: string | null;
  bytes: number | null;
  runs: number | null;
};
