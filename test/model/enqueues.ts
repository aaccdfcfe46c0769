import { expect } from 'vitest';
import { enqueue } from '../sql/verbs.ts';
import { cancel, change, come, fresh, isUnended, type Model, type Task, tasksOf } from './model.ts';
import type { ModelDatabase } from './real.ts';
import type { Step, StepOptions } from './steps.ts';

const picked = (model: Model, numbers: number[]) => {
  const ids = [...model.tasks.keys()];
  return ids.length === 0 ? [] : [...new Set(numbers.map((n) => ids[n % ids.length] as string))];
};

/** The options of a task as enqueue() takes them. */
export function sqlOptions(
  model: Model,
  chosen: StepOptions,
  queue: string,
): Record<string, unknown> {
  const { kind } = chosen;
  const later = model.queues[model.queues.indexOf(queue) + 1];
  const alone = kind.is !== 'plain' && kind.is !== 'concurrency_key';
  return {
    payload: kind.is === 'key' ? [chosen.payload] : chosen.payload,
    priority: chosen.priority ?? undefined,
    tenant: chosen.tenant ?? undefined,
    max_attempts: chosen.max_attempts ?? undefined,
    ...(chosen.delayed && { delay_seconds: 7200 }),
    ...(chosen.expires && !alone && { expires_in_seconds: 86400 }),
    ...(kind.is === 'concurrency_key' && { concurrency_key: kind.concurrency_key }),
    ...(kind.is === 'pipeline' && later && { pipeline: [queue, later] }),
    ...(kind.is === 'after' &&
      model.tasks.size > 0 && {
        depends_on: picked(model, kind.parents),
        on_parent_failure: kind.on,
        ...(kind.concurrency_key && { concurrency_key: kind.concurrency_key }),
      }),
    ...(kind.is === 'key' && {
      unique_key: kind.key,
      unique_policy: kind.policy,
      on_conflict: kind.conflict,
      ...(kind.policy === 'period' && { unique_seconds: 86400 }),
    }),
  };
}

type Given = ReturnType<typeof sqlOptions>;

/** Adds a task to the model, with the options of its enqueue. */
export function newTask(model: Model, id: string, queue: string, task: Given): Task {
  expect(model.tasks.has(id), `${id} is new`).toBe(false);
  const after = (task.depends_on ?? []) as string[];
  const added: Task = {
    ...fresh(id, queue),
    payload: task.payload,
    priority: (task.priority ?? 5) as number,
    delayed: 'delay_seconds' in task,
    expires: 'expires_in_seconds' in task,
    concurrency_key: (task.concurrency_key ?? null) as string | null,
    pipeline: (task.pipeline ?? null) as string[] | null,
    depends_on: after,
    upto: after.length,
    onFailure: (task.on_parent_failure ?? 'cancel') as Task['onFailure'],
  };
  added.isKeyed = task.unique_key !== undefined;
  added.maxAttempts = (task.max_attempts ?? added.maxAttempts) as number;
  model.tasks.set(id, added);
  if (after.length > 0) added.waits = 'parents';
  else come(model, added);
  return added;
}

const counts = (policy: unknown, { state }: Task) =>
  state === 'waiting' ||
  state === 'ready' ||
  (policy !== 'pending' && state === 'running') ||
  (policy === 'period' && (state === 'done' || state === 'dead'));

function merged(holder: Task, task: Given): unknown {
  const before =
    holder.state === 'running' && 'payload' in holder.pending
      ? holder.pending.payload
      : holder.payload;
  const both = task.on_conflict === 'merge' && Array.isArray(before) && Array.isArray(task.payload);
  return both ? [...(before as unknown[]), ...(task.payload as unknown[])] : task.payload;
}

/** Applies on_conflict in the model. `id` is the id that enqueue() returned for the key. */
function keyed(model: Model, id: string, queue: string, task: Given): void {
  const key = `${queue} ${task.unique_key}`;
  const holder = model.tasks.get(model.keys.get(key) ?? '');
  if (holder && counts(task.unique_policy, holder)) {
    if (task.on_conflict === 'keep') {
      expect(id).toBe(holder.id);
      return;
    }
    const brought = {
      payload: merged(holder, task),
      ...(task.priority !== undefined && { priority: task.priority as number }),
    };
    const late = 'delay_seconds' in task && task.on_conflict === 'replace' ? { later: true } : {};
    if (task.unique_policy !== 'pending' || holder.state === 'waiting') {
      expect(id).toBe(holder.id);
      change(holder, { ...brought, ...late });
      return;
    }
    // With the policy pending the holder may start at any moment, so SQL cancels it and adds a new task.
    const delayed = 'later' in late;
    cancel(holder);
    const { delay_seconds: _, ...plain } = task;
    const instead = {
      ...plain,
      priority: holder.priority,
      ...brought,
      ...(delayed && { delay_seconds: 1 }),
    };
    newTask(model, id, queue, instead);
  } else newTask(model, id, queue, task);
  model.keys.set(key, id);
}

export async function doEnqueue(
  model: Model,
  { client }: ModelDatabase,
  step: Extract<Step, { do: 'enqueue' }>,
) {
  const queue = model.queues[step.queue] as string;
  const tasks = step.tasks.map((chosen) => sqlOptions(model, chosen, queue));
  const ids = await enqueue(client, queue, tasks);
  expect(ids).toHaveLength(tasks.length);
  for (const [n, task] of tasks.entries()) {
    const id = ids[n] as string;
    if (task.unique_key) keyed(model, id, queue, task);
    else newTask(model, id, queue, task);
  }
}

/** Picks tasks by numbers; unfinished ones with twice the probability. */
export function someTasks(model: Model, numbers: number[]): Task[] {
  const all = tasksOf(model);
  const from = [...all, ...all.filter(isUnended)];
  return from.length === 0 ? [] : [...new Set(numbers.map((n) => from[n % from.length] as Task))];
}
