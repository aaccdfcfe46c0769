import type { NewStep, SavedStep, Signalled, StepOutcome } from '../types.ts';
import { leaseEnded } from './problem.ts';
import type { LeasedRun, Store, StoredTask } from './store.ts';

const DEFAULT_TIMEOUT_SECONDS = 315_360_000;
const hasEnded = ({ state }: SavedStep) => ['done', 'failed', 'timed_out'].includes(state);
const isDue = ({ due_at }: SavedStep, now: number) => due_at !== null && Date.parse(due_at) <= now;

/** The steps of a task as a worker gets them: a sleep whose time has come is done. */
export const stepsOf = (task: StoredTask, now: number): SavedStep[] =>
  [...task.steps.values()].map((step) =>
    step.kind === 'sleep' && isDue(step, now) ? { ...step, state: 'done' } : step,
  );

/** Steps and events. As in the database, the first outcome of a step counts, and the first payload of an event. */
export function stepVerbs(store: Store) {
  const { now, instant } = store;
  const events = new Map<string, { payload: unknown; request_id: string | undefined }>();
  const after = (seconds: number) => instant(now() + seconds * 1000);

  function begun(step: NewStep, old: SavedStep | undefined): SavedStep {
    const { name, event, result = null, error = null } = step;
    const common = { name, result, error, event: event ?? null, failures: old?.failures ?? 0 };
    if (event !== undefined) {
      const due_at = old?.due_at ?? after(step.timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS);
      return { ...common, kind: 'event', state: 'waiting', due_at };
    }
    if ('result' in step) return { ...common, kind: 'step', state: 'done', due_at: null };
    if ('error' in step) {
      const { retry_in_seconds } = step;
      if (retry_in_seconds === undefined)
        return { ...common, kind: 'step', state: 'failed', due_at: null };
      const failures = common.failures + 1;
      const due_at = after(retry_in_seconds);
      return { ...common, kind: 'step', state: 'retrying', due_at, failures };
    }
    const due_at = old?.due_at ?? step.sleep_until ?? after(step.sleep_seconds as number);
    return { ...common, kind: 'sleep', state: 'waiting', due_at };
  }

  function saveStep({ task }: LeasedRun, step: NewStep): SavedStep {
    const old = task.steps.get(step.name);
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
      if (due_at)
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

  return { save, leased, signal };
}
