import type { ClaimOptions, NewTask, Run, SavedStep, Task } from '../types.ts';

export type StoredTask = Omit<Task, 'runs' | 'rerun_of' | 'reruns' | 'schedule' | 'options'> & {
  /** Every attempt that started, then the ready run. */
  runs: Run[];
  /** The task's place among the ready tasks. */
  order: number;
  due: number;
  unique_key: string | undefined;
  headers: Record<string, string> | null;
  cancel_requested: boolean;
  /** Number of failed attempts. */
  failed: number;
  steps: Map<string, SavedStep>;
  /** The names of steps for which a later handler has not asked. */
  unused: Set<string>;
};

export type StoredLease = {
  lease: string;
  queue: string;
  until: number;
  runs: Map<string, LeasedRun>;
};
/** A run of a lease. `ended` is its outcome as JSON, so that a repeated call is recognized. */
export type LeasedRun = { task: StoredTask; run: Run; ended: string | undefined };

/** The default queue policy, but with backoff without jitter. */
const policy = { lease_seconds: 60, max_attempts: 10, max_lost: 10, priority: 5 };
export const backoffSeconds = (attempt: number) => Math.min(3600, 5 * 2 ** (attempt - 1));

export type Store = ReturnType<typeof createStore>;

const ended = new Set(['done', 'dead', 'cancelled', 'expired']);

/** Tasks and leases in memory, with an injected clock. */
export function createStore(now: () => number) {
  const tasks = new Map<string, StoredTask>();
  const leases = new Map<string, StoredLease>();
  const paused = new Set<string>();
  let last = 0;
  const next = () => String(++last);
  const instant = (ms: number) => new Date(ms).toISOString();

  /** Makes a task ready, or waiting until it is due. */
  function schedule(task: StoredTask, due: number): void {
    task.due = due;
    task.progress = task.note = null;
    task.attempt = task.failed + task.lost + 1;
    task.state = due > now() ? 'waiting' : 'ready';
    task.run_at = task.state === 'waiting' ? instant(due) : null;
    if (task.state === 'ready') makeReady(task);
  }

  function makeReady(task: StoredTask): void {
    task.order = ++last;
    task.state = 'ready';
    task.run_at = null;
    const id = task.runs.length === 0 ? task.id : next();
    const unclaimed = { worker: null, started_at: null, leased_until: null, ended_at: null };
    const { queue, attempt } = task;
    const empty = {
      cancel_requested: false,
      cancel_requested_at: null,
      progress: null,
      note: null,
      result: null,
      error: null,
    };
    task.runs.push({ id, queue, attempt, state: task.state, ...unclaimed, ...empty });
  }

  function end(task: StoredTask, state: StoredTask['state']): void {
    task.state = state;
    task.ended_at = instant(now());
    task.progress = task.note = null;
    task.cancel_requested = false;
  }

  const unfinishedTask = (queue: string, key: string) =>
    [...tasks.values()].find(
      (task) => task.queue === queue && task.unique_key === key && !ended.has(task.state),
    );

  function add(queue: string, options: NewTask): string {
    const { unique_key } = options;
    const existing = unique_key === undefined ? undefined : unfinishedTask(queue, unique_key);
    if (existing) return existing.id;
    const id = next();
    const { priority = policy.priority, max_attempts = policy.max_attempts } = options;
    const task: StoredTask = {
      id,
      queue,
      priority,
      max_attempts,
      state: 'ready',
      tenant: options.tenant ?? null,
      attempt: 1,
      lost: 0,
      created_at: instant(now()),
      run_at: null,
      ended_at: null,
      payload: options.payload ?? null,
      result: null,
      error: null,
      progress: null,
      note: null,
      runs: [],
      order: 0,
      due: 0,
      unique_key,
      headers: options.headers ?? null,
      cancel_requested: false,
      failed: 0,
      steps: new Map(),
      unused: new Set(),
    };
    const due_ms = options.run_at
      ? Date.parse(options.run_at)
      : now() + (options.delay_seconds ?? 0) * 1000;
    tasks.set(id, task);
    schedule(task, due_ms);
    return id;
  }

  /** Makes due tasks ready, and reaps expired leases. */
  function advance(): void {
    for (const lease of leases.values()) if (lease.until <= now()) reap(lease);
    for (const task of tasks.values()) {
      if (task.state === 'waiting' && task.due <= now()) makeReady(task);
    }
  }

  function reap(lease: StoredLease): void {
    leases.delete(lease.lease);
    for (const { task, run, ended } of lease.runs.values()) {
      if (ended !== undefined) continue;
      const message = `the lease expired at ${instant(lease.until).slice(0, 19)}Z`;
      const error = { name: 'LeaseExpired', message };
      Object.assign(run, { state: 'lost', ended_at: instant(now()), error });
      task.lost += 1;
      if (task.cancel_requested) end(task, 'cancelled');
      else if (task.lost < policy.max_lost) schedule(task, now());
      else {
        task.error = error;
        end(task, 'dead');
      }
    }
  }

  function claim(queue: string, options: ClaimOptions): StoredLease | null {
    const { limit = 1, worker = null, lease_seconds = policy.lease_seconds } = options;
    const readyTasks = [...tasks.values()]
      .filter((task) => task.queue === queue && task.state === 'ready')
      .sort((a, b) => a.priority - b.priority || a.order - b.order)
      .slice(0, limit);
    if (readyTasks.length === 0 || paused.has(queue)) return null;
    const until = now() + lease_seconds * 1000;
    const lease = { lease: crypto.randomUUID(), queue, until, runs: new Map<string, LeasedRun>() };
    for (const task of readyTasks) {
      task.state = 'running';
      const run = task.runs.at(-1) as Run;
      const times = { started_at: instant(now()), leased_until: instant(until) };
      Object.assign(run, { state: 'running', worker, attempt: task.attempt, ...times });
      lease.runs.set(task.id, { task, run, ended: undefined });
    }
    leases.set(lease.lease, lease);
    return lease;
  }

  return { tasks, leases, paused, now, instant, advance, add, claim, ready: schedule, end };
}
