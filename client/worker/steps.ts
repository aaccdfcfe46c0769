import { Fatal, LeaseLost, StepFailed, TaskCancelled } from '../errors.ts';
import type { NewStep, SavedStep, StepOutcome } from '../types.ts';
import type { LeasedTask } from './leased_tasks.ts';
import { errorToJson, type TaskOutcome } from './outcome.ts';

export type StepOptions = {
  /**
   * How often the step is tried before it fails for good. Between the tries the task waits and counts no attempt.
   * Default: the step has no tries of its own, and what it throws fails the attempt of the task.
   */
  max_attempts?: number;
  /** The time before the next try, doubled with each, up to an hour. Default: 1. */
  backoff_seconds?: number;
};

/** Whether a task that sleeps or waits keeps its concurrency key. Default: false. */
export type SuspendOptions = { keep_concurrency_key?: boolean };
export type WaitForOptions = SuspendOptions & {
  /** Default: ten years. */
  timeout_seconds?: number;
};

/** A time span, or the time itself. */
export type Duration =
  | number
  | Date
  | { days?: number; hours?: number; minutes?: number; seconds?: number };

/**
 * What a handler does in steps. A step is known by its name; a second step of the same name is `name#2`. When the task
 * runs again, a step that has ended returns its saved result at once.
 */
export type Steps = {
  /** Runs `run` and saves what it returns, any JSON of up to 256 KiB. */
  step<T>(name: string, run: () => T | Promise<T>, options?: StepOptions): Promise<T>;
  /** Ends this run. The task comes back at the time, under the same id, and counts no attempt. A number is in seconds. */
  sleep(name: string, duration: Duration, options?: SuspendOptions): Promise<void>;
  /** Returns the payload of an event. Until it comes, the task waits without a worker. Null when the time is over. */
  waitFor<T = unknown>(name: string, event: string, options?: WaitForOptions): Promise<T | null>;
};

type Unnamed = Omit<NewStep, 'id' | 'name'>;
type Waiting = { step: Omit<NewStep, 'id'>; resume(outcome: StepOutcome): void };

const MAX_BACKOFF_SECONDS = 3600;

function sleepOf(duration: Duration): Unnamed {
  if (duration instanceof Date) return { sleep_until: duration.toISOString() };
  if (typeof duration === 'number') return { sleep_seconds: duration };
  const { days = 0, hours = 0, minutes = 0, seconds = 0 } = duration;
  return { sleep_seconds: ((days * 24 + hours) * 60 + minutes) * 60 + seconds };
}

const suspendsRun = ({ state }: StepOutcome) => state === 'waiting' || state === 'retrying';

/** The steps of one run. */
export type RunSteps = {
  steps: Steps;
  /** Resolves when the run has ended because its task sleeps or waits. */
  suspended: Promise<TaskOutcome>;
  /** Called when the handler has ended: nothing suspends the run from now on. Waits for a call that may do so. */
  close(): Promise<void>;
};

export function createSteps(leased: LeasedTask): RunSteps {
  const { abort } = leased;
  const counts = new Map<string, number>();
  let suspend: (outcome: TaskOutcome) => void;
  let reject: (error: unknown) => void;
  const suspended = new Promise<TaskOutcome>((resolve, fail) => {
    suspend = resolve;
    reject = fail;
  });
  suspended.catch(() => {});
  let suspending: Promise<void> | undefined;
  let isOver = false;
  let saved: Promise<Map<string, SavedStep>> | undefined;
  let working = 0;
  let waiting: Waiting[] = [];
  let isScheduled = false;

  function numbered(name: string): string {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name}#${count}`;
  }

  async function find(name: string): Promise<SavedStep | undefined> {
    saved ??= leased.savedSteps().then((all) => new Map(all.map((step) => [step.name, step])));
    return (await saved).get(name);
  }

  async function save(steps: Omit<NewStep, 'id'>[]): Promise<StepOutcome[]> {
    const outcomes = await leased.saveSteps(steps);
    if (outcomes.some(({ state }) => state === 'lost'))
      throw new LeaseLost(409, { detail: 'The lease of this task has ended.' });
    if (outcomes.some(({ cancel_requested }) => cancel_requested)) abort.abort(new TaskCancelled());
    return outcomes;
  }

  /** Ends the run once no step is at work any more. A handler that waits for two things so ends its run once. */
  async function suspendRun(): Promise<void> {
    isScheduled = false;
    if (isOver || working > 0 || waiting.length === 0) return;
    const all = waiting;
    waiting = [];
    try {
      const outcomes = await save(all.map(({ step }) => step));
      if (outcomes.some(suspendsRun)) {
        isOver = true;
        return suspend({ kind: 'reported', as: 'released' });
      }
      for (const [n, { resume }] of all.entries()) resume(outcomes[n] as StepOutcome);
    } catch (error) {
      isOver = true;
      reject(error);
    }
  }

  function suspendSoon(): void {
    if (isScheduled) return;
    isScheduled = true;
    setTimeout(async () => {
      suspending = suspendRun();
      await suspending;
      suspending = undefined;
    }, 0);
  }

  /** Resolves only if the step has ended already; otherwise the run ends here, and the handler never continues. */
  function waitForStep(step: Omit<NewStep, 'id'>): Promise<StepOutcome> {
    return new Promise((resume) => {
      waiting.push({ step, resume });
      suspendSoon();
    });
  }

  /** Counts `run` as work that must end before the run does. Once the run has ended, nothing begins any more. */
  async function atWork<T>(run: () => Promise<T>): Promise<T> {
    while (suspending) await suspending;
    if (isOver) return new Promise(() => {});
    working++;
    try {
      return await run();
    } finally {
      working--;
      if (waiting.length > 0) suspendSoon();
    }
  }

  const throwFailed = (name: string, error: unknown): never => {
    throw new StepFailed(name, error);
  };

  /** Runs a step once and saves its result, or how it failed. */
  async function runStep<T>(
    name: string,
    run: () => T | Promise<T>,
    old: SavedStep | undefined,
    { max_attempts, backoff_seconds = 1 }: StepOptions,
  ): Promise<StepOutcome | Omit<NewStep, 'id'>> {
    abort.signal.throwIfAborted();
    let result: T;
    try {
      result = await run();
    } catch (error) {
      // What a worker that stops, or a lost lease, does to a step is no failure of the step.
      if (max_attempts === undefined || abort.signal.aborted) throw error;
      const tries = (old?.failures ?? 0) + 1;
      const failure = { name, error: errorToJson(error) };
      if (tries >= max_attempts || error instanceof Fatal)
        return (await save([failure]))[0] as StepOutcome;
      const retry_in_seconds = Math.min(MAX_BACKOFF_SECONDS, backoff_seconds * 2 ** (tries - 1));
      return { ...failure, retry_in_seconds };
    }
    // JSON has no functions and no undefined.
    const stored = JSON.stringify(result) === undefined ? null : result;
    const [outcome] = await save([{ name, result: stored }]);
    abort.signal.throwIfAborted();
    return outcome as StepOutcome;
  }

  const steps: Steps = {
    async step(name, run, options = {}) {
      const key = numbered(name);
      const ended = await atWork(async () => {
        const old = await find(key);
        return old?.state === 'done' || old?.state === 'failed'
          ? old
          : runStep(key, run, old, options);
      });
      const { state, result, error } = 'state' in ended ? ended : await waitForStep(ended);
      return state === 'failed' ? throwFailed(key, error) : (result as never);
    },
    async sleep(name, duration, { keep_concurrency_key } = {}) {
      const key = numbered(name);
      const old = await atWork(() => find(key));
      if (old?.state === 'done') return;
      abort.signal.throwIfAborted();
      await waitForStep({
        name: key,
        ...sleepOf(duration),
        ...(keep_concurrency_key && { keep_concurrency_key }),
      });
    },
    async waitFor(name, event, { timeout_seconds, keep_concurrency_key } = {}) {
      const key = numbered(name);
      const old = await atWork(() => find(key));
      const isOver = old?.state === 'done' || old?.state === 'timed_out';
      if (!isOver) abort.signal.throwIfAborted();
      const { result } = isOver
        ? old
        : await waitForStep({
            name: key,
            event,
            ...(timeout_seconds !== undefined && { timeout_seconds }),
            ...(keep_concurrency_key && { keep_concurrency_key }),
          });
      return (result ?? null) as never;
    },
  };
  async function close(): Promise<void> {
    await suspending;
    isOver = true;
  }

  return { steps, suspended, close };
}
