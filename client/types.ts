/** Queues by name, with what their tasks' payloads are: `type Queues = { email: { to: string } }`. */
export type AnyQueues = Record<string, unknown>;
export type Name<Q> = keyof Q & string;

export type TaskState = 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';

export type Backoff = {
  kind?: 'fixed' | 'linear' | 'exponential';
  base_seconds?: number;
  factor?: number;
  cap_seconds?: number;
  jitter?: number;
};

/** What a task can ask for; the README says what each does. */
export type TaskOptions = {
  delay_seconds?: number;
  /** An ISO 8601 instant, like the next ones. */
  run_at?: string;
  priority?: number;
  tenant?: string;
  max_attempts?: number;
  gate?: string;
  expires_at?: string;
  expires_in_seconds?: number;
  timeout_seconds?: number;
  unique_key?: string;
  unique_policy?: 'pending' | 'unfinished' | 'period';
  unique_seconds?: number;
  on_conflict?: 'keep' | 'replace' | 'merge' | 'debounce' | 'throttle' | 'rerun';
  debounce_max_seconds?: number;
  changed_at?: string;
  backoff?: Backoff;
  name?: string;
  after?: (string | number)[];
  on_parent_failure?: 'cancel' | 'run' | 'wait';
  gather?: boolean;
  parent?: string;
  pipeline?: string[];
  /** Such as traceparent: up to 20 lower-case names, given back with each of its runs. */
  headers?: Record<string, string>;
  /** Where a queue with push sends it, instead of its own URL. */
  push_url?: string;
};

export type NewTask<P = unknown> = TaskOptions & { payload: P };

/** Said again within 24 hours, a call gives the same answer and does nothing twice. */
export type Repeatable = { request_id?: string };

/** A task as a claim gives it. */
export type Claimed<P = unknown> = {
  id: string;
  run_id: string;
  queue: string;
  /** From 1. */
  attempt: number;
  max_attempts: number;
  priority: number;
  tenant: string | null;
  created_at: string;
  payload: P;
  headers: Record<string, string> | null;
  push_url: string | null;
};

export type ClaimState = 'found' | 'empty' | 'paused' | 'limited' | 'busy' | 'passing';

export type ClaimOptions = Repeatable & {
  worker?: string;
  limit?: number;
  lease_seconds?: number;
  wait_seconds?: number;
};

export type LeasedTasks<P = unknown> = {
  queue: string;
  lease: string;
  leased_until: string;
  tasks: Claimed<P>[];
};

export type ClaimAnswer<P = unknown> = {
  leases: LeasedTasks<P>[];
  state: ClaimState;
  retry_after_seconds: number;
};

export type Completed = { completed: number; refused: string[] };
export type Failed = { failed: number; dead: number; refused: string[] };
export type Released = { released: number; refused: string[] };
export type Extended = { leased_until: string; runs: number; cancel: string[]; refused: string[] };

/** Tasks that a task leaves behind; with `wait` it goes on when those have ended. */
export type Spawn = {
  queue?: string;
  tasks: NewTask[];
  wait?: boolean;
  on_failure?: 'run' | 'cancel' | 'wait';
};

/** `stage` of a pipeline: where the task goes on; null ends it. */
export type Result = { id: string; result?: unknown; stage?: string | null; spawn?: Spawn };

export type Outcome = { error?: unknown; retry_in_seconds?: number; fatal?: boolean };
export type Failure = Outcome & { id: string };

export type Progress = { progress?: number; note?: string };
export type ProgressOf = Progress & { id: string };

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
  state: TaskState;
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
  reruns: { id: string; kind: 'rerun' | 'redrive'; reason: string | null; created_at: string }[];
};

export type Parent = { n: number; id: string; name: string | null; state: string; result: unknown };

export type Changes<P = unknown> = {
  priority?: number;
  delay_seconds?: number;
  run_at?: string;
  payload?: P;
};

/** `state` as it was found, or after a cancel: cancelled. */
export type Changed = { id: string; state: TaskState; changed: boolean };
export type Rerun = {
  id: string;
  state: TaskState;
  rerun_id: string | null;
  refused: 'unfinished' | 'erased' | null;
};

/** Tasks of one queue or of all, the newest first. `from` and `to` are instants in ISO 8601. */
export type Filter = {
  queue?: string;
  state?: TaskState;
  tenant?: string;
  error?: string;
  worker?: string;
  rerun?: boolean;
  from?: string;
  to?: string;
  unique_key?: string;
  gate?: string;
  cursor?: string;
  limit?: number;
};
export type Listed = Pick<
  Task,
  | 'id'
  | 'queue'
  | 'state'
  | 'priority'
  | 'tenant'
  | 'attempt'
  | 'created_at'
  | 'run_at'
  | 'ended_at'
> & { run_id: string; worker: string | null; error: string | null; rerun: boolean };
/** `cursor` is where the next call goes on; null when nothing is left to look at. */
export type Page = { tasks: Listed[]; cursor: string | null; looked_at: number };

export type Archived = Omit<Filter, 'gate' | 'rerun'>;
/** Of the archive. */
export type Found = Omit<Page, 'tasks'> & { tasks: Omit<Listed, 'rerun'>[] };

/** An open lease, without its token, or what is of one stream of it; `tasks` are up to ten of those that have not ended. */
export type Running = {
  queue: string;
  worker: string | null;
  claimed_at: string;
  leased_until: string;
  late: boolean;
  runs: number;
  unfinished: number;
  tasks: string[];
};
/** Why tasks of a queue are late, and what to do. */
export type Reason = {
  finding: string;
  severity: 'critical' | 'warning' | 'note';
  detail: string | null;
  hint: string | null;
};

export type Redrive = Repeatable & {
  error?: string;
  tenant?: string;
  limit?: number;
  cursor?: string;
  to_queue?: string;
  again?: boolean;
  reason?: string;
};
export type Redriven = {
  redriven: number;
  ids: string[];
  cursor: string | null;
  looked_at: number;
};

export type Where = {
  state?: 'waiting' | 'ready' | 'running';
  tenant?: string;
  cursor?: string;
  limit?: number;
};
export type Part = { matched: number; changed: number; cursor: string | null; looked_at: number };
