import { LeaseLost, TaskCancelled } from '../errors.ts';
import type { NewStep, StepOutcome } from '../types.ts';
import type { LeasedTask } from './leased_tasks.ts';
import type { TaskOutcome } from './outcome.ts';

export type UnsavedStep = Omit<NewStep, 'id'>;
type Waiting = { step: UnsavedStep; resume(outcome: StepOutcome): void };

/** Saves the steps of one run, and ends the run when its handler can only wait. */
export type Suspension = {
  /** Resolves when the run has ended because its task sleeps or waits. */
  suspended: Promise<TaskOutcome>;
  /** Saves steps, and with them those that were left for later. Throws LeaseLost if the run has ended otherwise. */
  save(steps: UnsavedStep[]): Promise<StepOutcome[]>;
  /** Leaves a step to the next call that saves any. */
  saveLater(step: UnsavedStep): void;
  /** Saves what was left for later. */
  flush(): Promise<void>;
  /** Resolves only if the step has ended already; otherwise the run ends here, and the handler never continues. */
  waitForStep(step: UnsavedStep): Promise<StepOutcome>;
  /** Counts `run` as work that must end before the run does. Once the run has ended, nothing begins any more. */
  atWork<T>(run: () => Promise<T>): Promise<T>;
  /** Called when the handler has ended: nothing suspends the run from now on. Waits for a call that may do so. */
  close(): Promise<void>;
};

/** The maximum number of steps of a part, of which a call saves several. */
const MAX_PART = 500;

const suspendsRun = ({ state }: StepOutcome) => state === 'waiting' || state === 'retrying';

/** Throws if the lease no longer has the run, and aborts the handler if the task is to be cancelled. */
export function checkOutcomes(outcomes: StepOutcome[], abort: AbortController): void {
  if (outcomes.some(({ state }) => state === 'lost'))
    throw new LeaseLost(409, { detail: 'The lease of this task has ended.' });
  if (outcomes.some(({ cancel_requested }) => cancel_requested)) abort.abort(new TaskCancelled());
}

export function createSuspension({ abort, saveSteps }: LeasedTask): Suspension {
  const { promise: suspended, resolve: suspend, reject } = withResolvers<TaskOutcome>();
  suspended.catch(() => {});
  let suspending: Promise<void> | undefined;
  let isOver = false;
  let working = 0;
  let waiting: Waiting[] = [];
  let later: UnsavedStep[] = [];
  let isScheduled = false;
  // A worker that stops releases the task soon after this.
  abort.signal.addEventListener('abort', () => void flush().catch(() => {}), { once: true });

  async function saveNow(steps: UnsavedStep[]): Promise<StepOutcome[]> {
    const outcomes = await saveSteps(steps);
    checkOutcomes(outcomes, abort);
    return outcomes;
  }

  /** Saves what was left for later. What is refused is left for later again, and so fails the attempt in the end. */
  async function flush(): Promise<void> {
    const steps = later;
    later = [];
    const parts = Array.from({ length: Math.ceil(steps.length / MAX_PART) }, (_, n) =>
      steps.slice(n * MAX_PART, (n + 1) * MAX_PART),
    );
    const savePart = (part: UnsavedStep[]) =>
      saveNow(part).catch((error) => {
        later.push(...part);
        throw error;
      });
    await Promise.all(parts.map(savePart));
  }

  // A part of its own: if what was left for later is refused, these steps are saved all the same.
  async function save(steps: UnsavedStep[]): Promise<StepOutcome[]> {
    const [, outcomes] = await Promise.all([flush(), saveNow(steps)]);
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

  return {
    suspended,
    save,
    flush,
    saveLater: (step) => void later.push(step),
    waitForStep: (step) =>
      new Promise((resume) => {
        waiting.push({ step, resume });
        suspendSoon();
      }),
    async atWork(run) {
      while (suspending) await suspending;
      if (isOver) return new Promise(() => {});
      working++;
      try {
        return await run();
      } finally {
        working--;
        if (waiting.length > 0) suspendSoon();
      }
    },
    async close() {
      await suspending;
      isOver = true;
    },
  };
}

/** Promise.withResolvers(), which Node 20 lacks. */
function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
