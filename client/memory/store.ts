import type { ClaimOptions, NewTask, Run, Task } from '../types.ts';
import { Refused } from './problem.ts';

export type Stored = Omit<Task, 'runs' | 'rerun_of' | 'reruns' | 'options'> & {
  /** Each attempt that was begun, then the one that is ready. */
  runs: Run[];
  /** Its place among those that are ready. */
  order: number;
  due: number;
  unique_key: string | undefined;
  headers: Record<string, string> | null;
  cancel_requested: boolean;
  /** How often it has. */
  failed: number;
};

export type StoredLease = { lease: string; queue: string; until: number; runs: Map<string, Held> };
/** A run of a lease: how it ended, as JSON, so that the same call again is known. */
export type Held = { task: Stored; run: Run; ended: string | undefined };

/** As a queue is when nobody has said otherwise, but that waits have no jitter. */
const policy = { lease_seconds: 60, max_attempts: 10, max_lost: 10, priority: 5 };
export const backoffSeconds = (attempt: number) => Math.min(3600, 5 * 2 ** (attempt - 1));

const known = new Set([
  'payload',
  'delay_seconds',
  'run_at',
  'priority',
  'tenant',
  'max_attempts',
  'unique_key',
  'headers',
]);

export type Store = ReturnType<typeof createStore>;

const ended = new Set(['done', 'dead', 'cancelled', 'expired']);

/** Tasks and leases in memory, by a clock that others move. */
export function createStore(now: () => number) {
  const tasks = new Map<string, Stored>();
  const leases = new Map<string, StoredLease>();
  const paused = new Set<string>();
  let last = 0;
  const next = () => String(++last);
  const instant = (ms: number) => new Date(ms).toISOString();

  /** Ready, or when its time has come: then it has a run. */
  function ready(task: Stored, due: number): void {
    task.due = due;
    task.progress = task.note = null;
    task.attempt = task.failed + task.lost + 1;
    task.state = due > now() ? 'waiting' : 'ready';
    task.run_at = task.state === 'waiting' ? instant(due) : null;
    if (task.state === 'ready') begin(task);
  }

  function begin(task: Stored): void {
    task.order = ++last;
    task.state = 'ready';
    task.run_at = null;
    const id = task.runs.length === 0 ? task.id : next();
    const nothing = { worker: null, started_at: null, leased_until: null, ended_at: null };
    const { queue, attempt } = task;
    const rest = { cancel_requested: false, progress: null, note: null, result: null, error: null };
    task.runs.push({ id, queue, attempt, state: task.state, ...nothing, ...rest });
  }

  function end(task: Stored, state: Stored['state']): void {
    task.state = state;
    task.ended_at = instant(now());
    task.progress = task.note = null;
    task.cancel_requested = false;
  }

  function check(given: NewTask): void {
    const name = Object.keys(given).find((key) => !known.has(key));
    if (name) {
      const hint = 'Test what depends on it with a Tock of npm start.';
      throw new Refused(422, `${name}: the in-memory Tock does not know this option`, name, hint);
    }
    const { priority = 5 } = given;
    if (!(Number.isInteger(priority) && priority >= 0 && priority <= 9)) {
      throw new Refused(422, 'priority: a whole number from 0 to 9', 'priority');
    }
  }

  function add(queue: string, given: NewTask): string {
    const { unique_key } = given;
    const same = [...tasks.values()].find(
      (one) =>
        unique_key !== undefined &&
        one.queue === queue &&
        one.unique_key === unique_key &&
        !ended.has(one.state),
    );
    if (same) return same.id;
    const id = next();
    const { priority = policy.priority, max_attempts = policy.max_attempts } = given;
    const task: Stored = {
      id,
      queue,
      priority,
      max_attempts,
      state: 'ready',
      tenant: given.tenant ?? null,
      attempt: 1,
      lost: 0,
      created_at: instant(now()),
      run_at: null,
      ended_at: null,
      payload: given.payload ?? null,
      result: null,
      error: null,
      progress: null,
      note: null,
      runs: [],
      order: 0,
      due: 0,
      unique_key,
      headers: given.headers ?? null,
      cancel_requested: false,
      failed: 0,
    };
    const at = given.run_at ? Date.parse(given.run_at) : now() + (given.delay_seconds ?? 0) * 1000;
    tasks.set(id, task);
    ready(task, at);
    return id;
  }

  /** Whose time has come is ready; whose lease has run out is ready again. */
  function settle(): void {
    for (const lease of leases.values()) if (lease.until <= now()) reap(lease);
    for (const task of tasks.values()) {
      if (task.state === 'waiting' && task.due <= now()) begin(task);
    }
  }

  function reap(lease: StoredLease): void {
    leases.delete(lease.lease);
    for (const { task, run, ended } of lease.runs.values()) {
      if (ended !== undefined) continue;
      const message = `the lease ran out at ${instant(lease.until).slice(0, 19)}Z`;
      const error = { name: 'LeaseExpired', message };
      Object.assign(run, { state: 'lost', ended_at: instant(now()), error });
      task.lost += 1;
      if (task.cancel_requested) end(task, 'cancelled');
      else if (task.lost < policy.max_lost) ready(task, now());
      else {
        task.error = error;
        end(task, 'dead');
      }
    }
  }

  function claim(queue: string, options: ClaimOptions): StoredLease | null {
    const { limit = 1, worker = null, lease_seconds = policy.lease_seconds } = options;
    const found = [...tasks.values()]
      .filter((task) => task.queue === queue && task.state === 'ready')
      .sort((a, b) => a.priority - b.priority || a.order - b.order)
      .slice(0, limit);
    if (found.length === 0 || paused.has(queue)) return null;
    const until = now() + lease_seconds * 1000;
    const lease = { lease: crypto.randomUUID(), queue, until, runs: new Map<string, Held>() };
    for (const task of found) {
      task.state = 'running';
      const run = task.runs.at(-1) as Run;
      const times = { started_at: instant(now()), leased_until: instant(until) };
      Object.assign(run, { state: 'running', worker, attempt: task.attempt, ...times });
      lease.runs.set(task.id, { task, run, ended: undefined });
    }
    leases.set(lease.lease, lease);
    return lease;
  }

  return { tasks, leases, paused, now, instant, settle, check, add, claim, ready, end };
}
