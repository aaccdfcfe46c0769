import { expect } from 'vitest';
import { rows, value } from '../sql/verbs.ts';
import { cancel, come, end, type Model, ready, type Task, tasksOf } from './model.ts';
import type { ModelDatabase } from './real.ts';

/** The task that counts as parent: of a task that did not end as done, its last rerun. */
function standing(model: Model, id: string): Task {
  const task = model.tasks.get(id) as Task;
  const last = task.reruns.at(-1);
  return last && ['dead', 'cancelled', 'expired'].includes(task.state)
    ? standing(model, last)
    : task;
}

/** Checks a child's parents. Returns true if the child became ready, waits for something else, or was cancelled. */
function checkParents(model: Model, child: Task): boolean {
  for (; child.upto > 0; child.upto--) {
    const { state } = standing(model, child.depends_on[child.upto - 1] as string);
    if (['waiting', 'ready', 'running'].includes(state)) return false;
    if (state === 'done' || child.onFailure === 'run') continue;
    if (child.onFailure === 'wait') return false;
    cancel(child);
    return true;
  }
  come(model, child);
  return true;
}

function lookAtAllParents(model: Model): void {
  const children = () => tasksOf(model).filter((task) => task.waits === 'parents');
  while (children().some((child) => checkParents(model, child)));
}

const concurrencyKeyOf = (task: Task) => `${task.queue} ${task.concurrency_key}`;

/**
 * Takes over which waiters SQL has admitted, and checks two rules: no more holders than the limit, and no waiters
 * below the limit.
 */
async function lookAtConcurrencyKeys(model: Model, { client }: ModelDatabase): Promise<void> {
  const line = tasksOf(model).filter((task) => task.waits === 'concurrency_key');
  if (line.length === 0) return;
  const states = await rows<{ id: string; state: string }>(
    client,
    'select t.id, t.state from unnest($1::bigint[]) i cross join lateral tock.task(p_id => i) t',
    [line.map(({ id }) => id)],
  );
  const inNow = new Set(states.filter(({ state }) => state === 'ready').map(({ id }) => id));
  for (const concurrency_key of new Set(line.map(concurrencyKeyOf))) {
    const here = line.filter((task) => concurrencyKeyOf(task) === concurrency_key);
    const came = here.filter(({ id }) => inNow.has(id));
    const left = here.filter(({ id }) => !inNow.has(id));
    for (const task of came) ready(task);
    const holders = tasksOf(model).filter(
      (task) => task.admitted && concurrencyKeyOf(task) === concurrency_key,
    ).length;
    const limit = model.limits.get(concurrency_key) ?? 1;
    if (came.length > 0)
      expect(holders, `holders of ${concurrency_key}`).toBeLessThanOrEqual(limit);
    if (left.length > 0)
      expect(holders, `holders of ${concurrency_key}, while others wait`).toBeGreaterThanOrEqual(
        limit,
      );
  }
}

/** Makes the check of parents due for all children, also for those without a notification. */
async function look(model: Model, { client }: ModelDatabase): Promise<void> {
  await client.query(
    `update tock.waiting set due_at = now() - interval '1 second'
     where queue = any ($1) and due_after_parents is not null`,
    [model.queues],
  );
}

/** Checks parents and promotes due tasks until nothing changes. No other time passes. */
export async function settleDue(model: Model, real: ModelDatabase): Promise<void> {
  const { client } = real;
  for (let promoted = 1, round = 0; promoted > 0; round++) {
    if (round > 50) throw new Error('Promotion found due tasks in 50 rounds.');
    if (tasksOf(model).some((task) => task.waits === 'parents')) await look(model, real);
    promoted = await value<number>(client, 'select tock.promote(p_limit => 1000, p_sweep => true)');
  }
  lookAtAllParents(model);
  await lookAtConcurrencyKeys(model, real);
}

/** Makes all delayed tasks of a queue due. */
export function timePasses(model: Model, queue: string): void {
  for (const task of tasksOf(model)) {
    if (task.queue !== queue) continue;
    if (task.waits === 'time') {
      task.delayed = false;
      come(model, task);
    }
  }
}

export function expire(task: Task): void {
  task.late = true;
  if (task.state === 'waiting' || task.state === 'ready') end(task, 'expired');
}
