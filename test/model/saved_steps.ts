import { expect } from 'vitest';
import * as sql from '../sql/verbs.ts';
import { pickLease } from './leases.ts';
import { come, goOn, type Model, type SavedStep, type Task, tasksOf } from './model.ts';
import type { ModelDatabase } from './real.ts';
import type { SaveItem, Step } from './steps.ts';

type Of<Do extends Step['do']> = Extract<Step, { do: Do }>;

const kindOf = ({ is }: SaveItem): SavedStep['kind'] =>
  is === 'sleep' || is === 'nap' ? 'sleep' : is === 'event' || is === 'look' ? 'event' : 'step';
const nameOf = (item: SaveItem) => `${kindOf(item)} ${item.n}`;
const eventOf = ({ queues }: Pick<Model, 'queues'>, n: number) => `${queues[0]}/${n}`;

/** An item as save_steps() takes it. `nap` and `look` wait for no time. */
export function sqlItem(queues: string[], id: string, item: SaveItem): object {
  const what = {
    result: { result: { n: item.payload } },
    error: { error: { n: item.payload } },
    retry: { error: { n: item.payload }, retry_in_seconds: 3600 },
    sleep: { sleep_seconds: 3600, keep_concurrency_key: item.keep },
    nap: { sleep_seconds: 0 },
    event: { event: eventOf({ queues }, item.n), keep_concurrency_key: item.keep },
    look: { event: eventOf({ queues }, item.n), timeout_seconds: 0 },
  };
  return { id, name: nameOf(item), ...what[item.is] };
}

const isFinal = ({ state }: SavedStep) => ['done', 'failed', 'timed_out'].includes(state);

/** Saves an item in the model. `ending` has the steps of this call that end the run: their names take no more. */
function save(model: Model, task: Task, item: SaveItem, ending: Set<SavedStep>): SavedStep {
  const name = nameOf(item);
  const kind = kindOf(item);
  const event = kind === 'event' ? eventOf(model, item.n) : null;
  const fresh = { name, kind, state: 'waiting', result: null, error: null, event, failures: 0 };
  const old = task.steps.get(name);
  if (old && (isFinal(old) || (kind === 'step' && ending.has(old)))) return old;
  const step: SavedStep = old ?? { ...fresh, isDue: false, isRegistered: false };
  task.steps.set(name, step);
  const isOver = old ? old.isDue : item.is === 'nap' || item.is === 'look';
  const payload = { n: item.payload };
  if (item.is === 'result') Object.assign(step, { state: 'done', result: payload, error: null });
  else if (item.is === 'error') Object.assign(step, { state: 'failed', error: payload });
  else if (item.is === 'retry')
    Object.assign(step, { state: 'retrying', error: payload, failures: step.failures + 1 });
  else if (event !== null && model.events.has(event))
    Object.assign(step, { state: 'done', result: model.events.get(event) });
  else if (isOver) step.state = kind === 'sleep' ? 'done' : 'timed_out';
  step.isRegistered = kind === 'event' && step.state === 'waiting';
  if (!isFinal(step)) ending.add(step);
  return step;
}

/** A step as the verbs show it: a sleep is done when its time has come. */
export function shownSteps({ steps }: Task) {
  return [...steps.values()]
    .map(({ isDue, isRegistered, ...step }) => ({
      ...step,
      state: step.kind === 'sleep' && isDue ? 'done' : step.state,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function doSave(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'save'>,
): Promise<void> {
  const picked = pickLease(model, step.lease);
  // A key counts a task that has slept as started, which the model does not.
  const open = picked?.running.filter(({ isKeyed }) => !isKeyed) ?? [];
  const task = open[step.task % open.length];
  if (!picked || !task) return;
  const { token, lease } = picked;
  type Shown = ReturnType<typeof shownSteps>[number] & { due_at: string | null };
  const values = [token, task.id];
  const read = await sql.value<Shown[]>(client, 'select tock.lease_steps($1, $2)', values);
  // The model invokes no children, and its workers have no versions.
  const known = shownSteps(task).map((each) => ({ ...each, child_id: null, version: null }));
  expect(
    read.map(({ due_at, ...each }) => each).sort((a, b) => (a.name < b.name ? -1 : 1)),
  ).toEqual(known);
  const ending = new Set<SavedStep>();
  const expected = step.items.map((item) => {
    const { name, state, result, error } = save(model, task, item, ending);
    const cancel_requested = task.pending.cancelled;
    return { id: task.id, name, state, result, error, cancel_requested };
  });
  const answer = await sql.rows(
    client,
    'select id, name, state, result, error, cancel_requested from tock.save_steps($1, $2)',
    [token, JSON.stringify(step.items.map((item) => sqlItem(model.queues, task.id, item)))],
  );
  expect(answer).toEqual(expected);
  if (ending.size === 0) return;
  lease.touched = true;
  // It has started, so it no longer expires.
  Object.assign(task, { expires: false, late: false });
  goOn(task, 'superseded', true, {});
  if (task.state !== 'waiting') return;
  task.isSuspended = true;
  // The queues of the model keep the key of a failure.
  const keeps = (item: SaveItem) =>
    item.is === 'retry' || ((item.is === 'sleep' || item.is === 'event') && item.keep);
  const names = new Set([...ending].map(({ name }) => name));
  task.admitted &&= step.items.some((item) => names.has(nameOf(item)) && keeps(item));
}

export async function doSignal(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'signal'>,
): Promise<void> {
  const event = eventOf(model, step.event);
  const accepted = !model.events.has(event);
  if (accepted) model.events.set(event, step.payload);
  let woken = 0;
  for (const task of tasksOf(model)) {
    for (const saved of task.steps.values()) {
      if (saved.event !== event || !saved.isRegistered) continue;
      saved.isRegistered = false;
      if (task.state !== 'waiting' || !task.isSuspended) continue;
      Object.assign(saved, { state: 'done', result: model.events.get(event) });
      woken++;
      if (task.waits === 'time') {
        task.delayed = false;
        come(model, task);
      }
    }
  }
  const answer = await sql.row(client, 'select * from tock.signal($1, $2)', [
    event,
    JSON.stringify(step.payload),
  ]);
  expect(answer).toEqual({ accepted, woken });
}

/** The time of all steps of these tasks comes: sleeps are over, and waits for events time out when they are asked for. */
export async function stepsFallDue(tasks: Task[], { client }: ModelDatabase): Promise<void> {
  const ids = tasks.filter(({ steps }) => steps.size > 0).map(({ id }) => id);
  if (ids.length === 0) return;
  await client.query(
    "update tock.steps set due_at = now() - interval '1 second' where task_id = any ($1) and due_at is not null",
    [ids],
  );
  for (const { steps } of tasks) for (const step of steps.values()) step.isDue ||= !isFinal(step);
}
