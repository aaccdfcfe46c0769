import type { NewStep, SavedStep, Signalled, StepOutcome } from '../types.ts';
import { checkQueue, checkTasks } from './checks.ts';
import { leaseEnded, RefusedError } from './problem.ts';
import type { LeasedRun, Store, StoredTask } from './store.ts';

const DEFAULT_TIMEOUT_SECONDS = 315_360_000;
const hasEnded = ({ state }: SavedStep) => ['done', 'failed', 'timed_out'].includes(state);
const hasTaskEnded = ({ state }: StoredTask) =>
  ['done', 'dead', 'cancelled', 'expired'].includes(state);
const isDue = ({ due_at }: SavedStep, now: number) => due_at !== null && Date.parse(due_at) <= now;

/** The steps of a task as a worker gets them: a sleep whose time has come is done. */
export const stepsOf = (task: StoredTask, now: number): SavedStep[] =>
  [...task.steps.values()].map((step) =>
    step.kind === 'sleep' && isDue(step, now) ? { ...step, state: 'done' } : step,
  );

/** Steps and events. As in the database, the first outcome of a step counts, and the first payload of an event. */
export function stepVerbs(store: Store) {
  const links = new Map<string, { event: string; until: number; isUsed: boolean }>();
  const { now, instant } = store;
  const events = new Map<string, { payload: unknown; request_id: string | undefined }>();
  const after = (seconds: number) => instant(now() + seconds * 1000);

  /** How a child has ended; empty if it has not. */
  function childOutcome(id: string): Partial<SavedStep> {
    const child = store.tasks.get(id);
    if (!child || !hasTaskEnded(child)) return {};
    const { state, result, error } = child;
    if (state === 'done') return { state: 'done', result, due_at: null };
    const failure = {
      name: 'ChildFailed',
      message: `the task ${id} is ${state}`,
      id,
      state,
      error,
    };
    return { state: 'failed', error: failure, due_at: null };
  }

  function invoked({ queue, ...options }: NonNullable<NewStep['invoke']>): string {
    checkQueue(queue);
    checkTasks([options as never], null);
    return store.add(queue, options as never);
  }

  function begun(step: NewStep, old: SavedStep | undefined): SavedStep {
    const { name, event, result = null, error = null } = step;
    const version = old?.version ?? step.version ?? null;
    const failures = old?.failures ?? 0;
    const common = { name, result, error, event: event ?? null, child_id: null, version, failures };
    if (step.invoke) {
      const child_id = old?.child_id ?? invoked(step.invoke);
      const due_at = old?.due_at ?? after(DEFAULT_TIMEOUT_SECONDS);
      const waiting = { ...common, kind: 'child', state: 'waiting', child_id, due_at } as const;
      return { ...waiting, ...childOutcome(child_id) };
    }
    if (event !== undefined) {
      const due_at = old?.due_at ?? after(step.timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS);
      return { ...common, kind: 'event', state: 'waiting', due_at };
    }
    if (step.link)
      return { ...common, result: step.link, kind: 'link', state: 'done', due_at: null };
    if ('result' in step) return { ...common, kind: 'step', state: 'done', due_at: null };
    if ('error' in step) {
      const { retry_in_seconds } = step;
      if (retry_in_seconds === undefined)
        return { ...common, kind: 'step', state: 'failed', due_at: null };
      const due_at = after(retry_in_seconds);
      return { ...common, kind: 'step', state: 'retrying', due_at, failures: failures + 1 };
    }
    const due_at = old?.due_at ?? step.sleep_until ?? after(step.sleep_seconds as number);
    return { ...common, kind: 'sleep', state: 'waiting', due_at };
  }

  function saveStep({ task }: LeasedRun, step: NewStep): SavedStep {
    const old = task.steps.get(step.name);
    if (step.unused) {
      task.unused.add(step.name);
      return old ?? begun({ ...step, result: null }, old);
    }
    if (old && hasEnded(old)) return old;
    const saved = begun(step, old);
    const event = events.get(step.event ?? '');
    if (event) Object.assign(saved, { state: 'done', result: event.payload, due_at: null });
    else if (saved.state === 'waiting' && isDue(saved, now()))
      Object.assign(saved, { state: saved.kind === 'event' ? 'timed_out' : 'done', due_at: null });
    task.steps.set(step.name, saved);
    return saved;
  }

  /** Ends the run of a task that sleeps or waits; it comes back when the first of its steps is due. */
  function suspend(held: LeasedRun, due: number): void {
    const { task, run } = held;
    held.ended = 'suspended';
    Object.assign(run, { state: 'superseded', ended_at: instant(now()) });
    if (task.cancel_requested) store.end(task, 'cancelled');
    else store.ready(task, due);
  }

  function save(token: string, steps: NewStep[]): StepOutcome[] {
    const runs = store.leases.get(token)?.runs;
    const dues = new Map<LeasedRun, number>();
    const outcomes = steps.map((step): StepOutcome => {
      const held = runs?.get(step.id);
      const { id, name } = step;
      if (held?.ended !== undefined || !held)
        return {
          id,
          name,
          state: 'lost',
          result: null,
          error: null,
          due_at: null,
          cancel_requested: false,
        };
      const { state, result, error, due_at } = saveStep(held, step);
      if (due_at && !step.unused)
        dues.set(held, Math.min(dues.get(held) ?? Number.POSITIVE_INFINITY, Date.parse(due_at)));
      const { cancel_requested } = held.task;
      return { id, name, state, result, error, due_at, cancel_requested };
    });
    if (outcomes.every(({ state }) => state === 'lost')) throw leaseEnded();
    for (const [held, due] of dues) suspend(held, due);
    return outcomes;
  }

  function leased(token: string, id: string): SavedStep[] {
    const held = store.leases.get(token)?.runs.get(id);
    if (!held || held.ended !== undefined) throw leaseEnded();
    return stepsOf(held.task, now());
  }

  /** Makes ready the tasks whose children have all ended. */
  function settleChildren(): void {
    for (const task of store.tasks.values()) {
      const waits = [...task.steps.values()].filter(
        ({ child_id, state }) => child_id !== null && state === 'waiting',
      );
      const ends = waits.map(({ child_id }) => childOutcome(child_id as string));
      if (task.state !== 'waiting' || waits.length === 0 || ends.some(({ state }) => !state))
        continue;
      for (const [n, step] of waits.entries()) Object.assign(step, ends[n]);
      store.ready(task, now());
    }
  }

  function createLink(event: string, valid_seconds = 604_800) {
    const token = (crypto.randomUUID() + crypto.randomUUID()).replaceAll('-', '');
    links.set(token, { event, until: now() + valid_seconds * 1000, isUsed: false });
    return { token, expires_at: after(valid_seconds) };
  }

  function signalByLink(token: string, payload: unknown): { accepted: boolean } {
    const link = links.get(token);
    if (!link || link.until <= now())
      throw new RefusedError(404, 'There is no such link, or its time is over.');
    if (link.isUsed) throw new RefusedError(409, 'The link was used before.');
    link.isUsed = true;
    return { accepted: signal(link.event, payload).accepted };
  }

  /** A copy of an ended task with the steps that were saved before a step. */
  function rerun(id: string, from_step?: string) {
    const task = store.tasks.get(id);
    if (!task) return [];
    const { state, queue, payload, priority, max_attempts, headers } = task;
    if (!hasTaskEnded(task)) return [{ id, state, rerun_id: null, refused: 'unfinished' as const }];
    if (from_step !== undefined && !task.steps.has(from_step))
      throw new RefusedError(422, 'the task has no step of this name', 'from_step');
    const options = { priority, max_attempts, ...(headers && { headers }) };
    const rerun_id = store.add(queue, { payload, ...options });
    const names = [...task.steps.keys()];
    const kept = from_step === undefined ? [] : names.slice(0, names.indexOf(from_step));
    for (const step of stepsOf(task, now()).filter((s) => kept.includes(s.name) && hasEnded(s)))
      store.tasks.get(rerun_id)?.steps.set(step.name, step);
    return [{ id, state, rerun_id, refused: null }];
  }

  function signal(event: string, payload: unknown, request_id?: string): Signalled {
    const first = events.get(event);
    if (first)
      return { accepted: request_id !== undefined && first.request_id === request_id, woken: 0 };
    events.set(event, { payload, request_id });
    let woken = 0;
    for (const task of store.tasks.values()) {
      const waits = [...task.steps.values()].filter(
        (step) => step.event === event && step.state === 'waiting',
      );
      if (task.state !== 'waiting' || waits.length === 0) continue;
      for (const step of waits)
        Object.assign(step, { state: 'done', result: payload, due_at: null });
      store.ready(task, now());
      woken++;
    }
    return { accepted: true, woken };
  }

  return { save, leased, signal, settleChildren, createLink, signalByLink, rerun };
}
