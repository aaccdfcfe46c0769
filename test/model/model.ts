export type SavedStep = {
  name: string;
  kind: 'step' | 'sleep' | 'event';
  state: string;
  result: unknown;
  error: unknown;
  event: string | null;
  failures: number;
  /** True once its time has come. */
  isDue: boolean;
  /** True while a signal of its event looks for the task. */
  isRegistered: boolean;
};

/**
 * The model with which SQL's verbs are compared. It has tasks as plain objects, without streams, ranges of leases
 * or overrides. A time is either now or later, and a step of the test makes later become now.
 */
export type Task = {
  id: string;
  queue: string;
  state: 'waiting' | 'ready' | 'running' | 'done' | 'dead' | 'cancelled' | 'expired';
  /**
   * The first thing that a waiting task waits for. When the time comes, a task with a concurrency key joins its
   * wait list.
   */
  waits: 'parents' | 'time' | 'concurrency_key' | null;
  priority: number;
  payload: unknown;
  result: unknown;
  maxAttempts: number;
  attempt: number;
  lost: number;
  runs: { queue: string; attempt: number; state: string }[];
  concurrency_key: string | null;
  admitted: boolean;
  /** The place in the key's wait list, if it is known. */
  ticket: number | null;
  expires: boolean;
  /** True once the time before which the task must start has passed. */
  late: boolean;
  depends_on: string[];
  /** The number of parents, from the first on, that a check may still find unfinished. */
  upto: number;
  onFailure: 'cancel' | 'run' | 'wait';
  delayed: boolean;
  pipeline: string[] | null;
  /** The pending changes for the next attempt. */
  pending: { cancelled: boolean; payload?: unknown; priority?: number; later: boolean };
  lease: string | null;
  reruns: string[];
  /** The saved steps of the present stage. */
  steps: Map<string, SavedStep>;
  /** True while it sleeps or waits for an event. */
  isSuspended: boolean;
  /** True for a task with a unique key. */
  isKeyed: boolean;
};

export type Lease = { queue: string; ids: string[]; touched: boolean; lost: boolean };

export type Model = {
  queues: string[];
  paused: Set<string>;
  tasks: Map<string, Task>;
  leases: Map<string, Lease>;
  limits: Map<string, number>;
  keys: Map<string, string>;
  /** The payloads of events. */
  events: Map<string, unknown>;
  tickets: number;
  steps: number;
};

/** In the second queue one lost run makes a task dead. */
export const policyOf = (queue: string) => ({
  max_attempts: 2,
  max_lost: queue.endsWith('-1') ? 1 : 2,
});

export function newModel(queues: string[]): Model {
  return {
    queues,
    paused: new Set(),
    tasks: new Map(),
    leases: new Map(),
    limits: new Map(),
    keys: new Map(),
    events: new Map(),
    tickets: 0,
    steps: 0,
  };
}

export const tasksOf = (model: Model) => [...model.tasks.values()];
export const runningIn = (model: Model, token: string) =>
  tasksOf(model).filter((task) => task.lease === token);
export const isUnended = ({ state }: Task) => ['waiting', 'ready', 'running'].includes(state);

/** A new task, before the model knows what it waits for. */
export function fresh(id: string, queue: string): Task {
  return {
    id,
    queue,
    state: 'waiting',
    waits: null,
    priority: 5,
    payload: null,
    result: null,
    maxAttempts: policyOf(queue).max_attempts,
    attempt: 1,
    lost: 0,
    runs: [],
    concurrency_key: null,
    admitted: false,
    ticket: null,
    expires: false,
    late: false,
    depends_on: [],
    upto: 0,
    onFailure: 'cancel',
    delayed: false,
    pipeline: null,
    pending: { cancelled: false, later: false },
    lease: null,
    reruns: [],
    steps: new Map(),
    isSuspended: false,
    isKeyed: false,
  };
}

function endRun(task: Task, state: string): void {
  const last = task.runs.at(-1);
  if (!last) throw new Error(`Task ${task.id} has no run to end.`);
  last.state = state;
  task.lease = null;
}

export function ready(task: Task): void {
  task.state = 'ready';
  task.waits = null;
  task.ticket = null;
  task.isSuspended = false;
  task.admitted = task.concurrency_key !== null;
  task.runs.push({ queue: task.queue, attempt: task.attempt, state: 'ready' });
}

/** Moves on a task whose parents have ended: to waiting or to ready. */
export function come(model: Model, task: Task): void {
  task.state = 'waiting';
  if (task.delayed) task.waits = 'time';
  else if (task.concurrency_key && !task.admitted) {
    task.waits = 'concurrency_key';
    task.ticket = ++model.tickets;
  } else ready(task);
}

export function end(task: Task, state: 'done' | 'dead' | 'cancelled' | 'expired'): void {
  task.state = state;
  task.waits = null;
  task.admitted = false;
  task.lease = null;
}

/** Ends a run whose task gets another one, unless the task has a pending cancel. */
export function goOn(task: Task, ended: string, later: boolean, counts: Partial<Task>): void {
  if (task.pending.cancelled) {
    endRun(task, 'cancelled');
    end(task, 'cancelled');
    return;
  }
  endRun(task, ended);
  Object.assign(task, counts);
  if ('payload' in task.pending) task.payload = task.pending.payload;
  task.priority = task.pending.priority ?? task.priority;
  if (task.pending.later) task.admitted = false;
  if (later || task.pending.later) {
    task.state = 'waiting';
    task.waits = 'time';
  } else ready(task);
  if (task.late) end(task, 'expired');
}

export function fail(task: Task, fatal: boolean, later: boolean): void {
  if (fatal || task.attempt - task.lost >= task.maxAttempts) {
    endRun(task, 'failed');
    end(task, 'dead');
  } else goOn(task, 'failed', later, { attempt: task.attempt + 1 });
}

export function lose(task: Task): void {
  if (task.lost + 1 >= policyOf(task.queue).max_lost) {
    endRun(task, 'lost');
    task.lost++;
    end(task, 'dead');
  } else goOn(task, 'lost', false, { attempt: task.attempt + 1, lost: task.lost + 1 });
}

export function complete(task: Task, result: unknown): void {
  const stage = task.pipeline?.[task.pipeline.indexOf(task.queue) + 1];
  if (stage) {
    const payload = result ?? task.payload;
    if (task.pending.cancelled) task.result = result;
    goOn(task, 'done', false, { queue: stage, attempt: 1, lost: 0, payload });
    if (task.state !== 'cancelled') task.steps.clear();
  } else {
    endRun(task, 'done');
    task.result = result;
    end(task, 'done');
  }
}

/** Cancels a task. Returns true if this changed anything. */
export function cancel(task: Task): boolean {
  if (task.state === 'running') {
    const first = !task.pending.cancelled;
    task.pending.cancelled = true;
    return first;
  }
  if (!isUnended(task)) return false;
  if (task.state === 'waiting') {
    task.runs.push({ queue: task.queue, attempt: task.attempt, state: 'ready' });
  }
  endRun(task, 'cancelled');
  end(task, 'cancelled');
  return true;
}

export type Change = { payload?: unknown; priority?: number; later?: boolean };

export function change(task: Task, changes: Change): boolean {
  if (!isUnended(task)) return false;
  const { payload, priority, later } = changes;
  task.pending = { ...task.pending, ...('payload' in changes && { payload }) };
  task.pending.priority = priority ?? task.pending.priority;
  task.pending.later = later ?? task.pending.later;
  if (task.state === 'running') return true;
  if ('payload' in changes) task.payload = payload;
  task.priority = priority ?? task.priority;
  if (task.state === 'ready') {
    endRun(task, 'superseded');
    if (later) {
      task.state = 'waiting';
      task.waits = 'time';
      task.admitted = false;
    } else ready(task);
  } else if (task.waits === 'parents') task.delayed = later ?? task.delayed;
  else if (later) {
    task.waits = 'time';
    task.ticket = null;
    task.admitted = false;
  } else if (later === false && task.waits === 'time') {
    if (task.concurrency_key) task.waits = 'concurrency_key';
    else ready(task);
  }
  return true;
}
