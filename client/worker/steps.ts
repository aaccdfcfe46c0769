import { Fatal, LeaseLost, StepFailed, WaitTimedOut } from '../errors.ts';
import type { SavedStep, StepOutcome } from '../types.ts';
import type { LeasedTask } from './leased_tasks.ts';
import { errorToJson } from './outcome.ts';
import type {
  Duration,
  EffectOptions,
  InvokeOptions,
  StepOptions,
  Steps,
  WaitForOptions,
} from './step_types.ts';
import { createSuspension, type Suspension, type UnsavedStep } from './suspend.ts';

const MAX_BACKOFF_SECONDS = 3600;

/** Does a step's work, then returns how to save it. */
type Perform = (name: string) => Promise<() => StepOutcome | Promise<StepOutcome>>;

/** The steps of one run. */
export type RunSteps = Pick<Suspension, 'suspended' | 'flush' | 'close'> & {
  steps: Steps;
  /** Runs a step that saves itself together with its effect. */
  withEffect<T>(name: string, effect: Effect, options?: EffectOptions): Promise<T>;
  /** Called before the task is completed: saves what was left for later, and which steps were not asked for. */
  finish(): Promise<void>;
};
export type Effect = (name: string) => Promise<StepOutcome>;

function sleepOf(duration: Duration): Omit<UnsavedStep, 'name'> {
  if (duration instanceof Date) return { sleep_until: duration.toISOString() };
  if (typeof duration === 'number') return { sleep_seconds: duration };
  const { days = 0, hours = 0, minutes = 0, seconds = 0 } = duration;
  return { sleep_seconds: ((days * 24 + hours) * 60 + minutes) * 60 + seconds };
}

/** The name of each step, made unique: a second `name` is `name#2`. */
function createNames() {
  const counts = new Map<string, number>();
  const names = new Set<string>();
  function next(name: string): string {
    let count = counts.get(name) ?? 0;
    let unique: string;
    do unique = ++count === 1 ? name : `${name}#${count}`;
    while (names.has(unique));
    counts.set(name, count);
    names.add(unique);
    return unique;
  }
  return { next, has: (name: string) => names.has(name) };
}

const isEnded = (step?: SavedStep): step is SavedStep =>
  step !== undefined && ['done', 'failed', 'timed_out'].includes(step.state);

export function createSteps(leased: LeasedTask): RunSteps {
  const { abort, version } = leased;
  const names = createNames();
  const suspension = createSuspension(leased);
  const { save, saveLater, waitForStep, atWork } = suspension;
  let saved: Promise<Map<string, SavedStep>> | undefined;
  let finished: Promise<void> | undefined;

  function savedSteps(): Promise<Map<string, SavedStep>> {
    saved ??= leased.savedSteps().then((all) => new Map(all.map((step) => [step.name, step])));
    return saved;
  }

  /** Performs a step; a failure of a step with its own tries is saved, or is to be saved when the run ends. */
  async function perform(
    name: string,
    work: Perform,
    old: SavedStep | undefined,
    { max_attempts, backoff_seconds = 1 }: StepOptions,
  ): Promise<StepOutcome | UnsavedStep> {
    abort.signal.throwIfAborted();
    let finish: Awaited<ReturnType<Perform>>;
    try {
      finish = await work(name);
    } catch (error) {
      // What a worker that stops, or a lost lease, does to a step is no failure of the step.
      if (max_attempts === undefined || abort.signal.aborted || error instanceof LeaseLost)
        throw error;
      const tries = (old?.failures ?? 0) + 1;
      const failure = { name, version, error: errorToJson(error) };
      if (tries >= max_attempts || error instanceof Fatal)
        return (await save([failure]))[0] as StepOutcome;
      const retry_in_seconds = Math.min(MAX_BACKOFF_SECONDS, backoff_seconds * 2 ** (tries - 1));
      return { ...failure, retry_in_seconds };
    }
    const outcome = await finish();
    abort.signal.throwIfAborted();
    return outcome;
  }

  async function runStep<T>(name: string, work: Perform, options: StepOptions = {}): Promise<T> {
    const key = names.next(name);
    const ended = await atWork(async () => {
      const old = (await savedSteps()).get(key);
      return isEnded(old) ? old : perform(key, work, old, options);
    });
    return resultOf(key, 'state' in ended ? ended : await waitForStep(ended));
  }

  function resultOf<T>(name: string, { state, result, error }: SavedStep | StepOutcome): T {
    if (state === 'failed') throw new StepFailed(name, error);
    return result as T;
  }

  /** A step for which the task waits. */
  async function wait(name: string, step: Omit<UnsavedStep, 'name'>) {
    const key = names.next(name);
    const old = await atWork(async () => (await savedSteps()).get(key));
    if (isEnded(old)) return { ...old, key };
    abort.signal.throwIfAborted();
    return { ...(await waitForStep({ name: key, version, ...step })), key };
  }

  function saveResult(name: string, result: unknown, later: boolean) {
    // JSON has no functions and no undefined.
    const json = JSON.stringify(result);
    const step = { name, version, result: json === undefined ? null : result };
    if (!later) return async () => (await save([step]))[0] as StepOutcome;
    return () => {
      saveLater(step);
      return { state: 'done', result: JSON.parse(json ?? 'null') } as StepOutcome;
    };
  }

  async function finish(): Promise<void> {
    if (!saved && !leased.task.steps) return;
    // No handler asks for the sleeps of ofVersions().
    for (const { name } of (await savedSteps()).values())
      if (!names.has(name) && !name.startsWith('for version ')) saveLater({ name, unused: true });
    await suspension.flush();
  }

  const steps: Steps = {
    step: Object.assign(
      <T>(
        name: string,
        run: () => T | Promise<T>,
        { later = false, ...options }: StepOptions = {},
      ) => runStep<T>(name, async (key) => saveResult(key, await run(), later), options),
      {
        async invoke<T>(
          name: string,
          queue: string,
          payload: unknown,
          { keep_concurrency_key, ...task }: InvokeOptions = {},
        ): Promise<T> {
          const { key, ...outcome } = await wait(name, {
            invoke: { ...task, queue, payload },
            ...(keep_concurrency_key && { keep_concurrency_key }),
          });
          return resultOf(key, outcome);
        },
      },
    ),
    async sleep(name, duration, options = {}) {
      await wait(name, { ...sleepOf(duration), ...options });
    },
    waitFor: Object.assign(
      async <T>(
        name: string,
        event: string,
        { on_timeout, ...options }: WaitForOptions = {},
      ): Promise<T | null> => {
        const { key, state, result } = await wait(name, { event, ...options });
        if (state === 'timed_out' && on_timeout === 'throw') throw new WaitTimedOut(key, event);
        return (result ?? null) as T | null;
      },
      {
        url: (name: string, event: string, { valid_seconds }: { valid_seconds?: number } = {}) =>
          runStep<string>(name, async (key) => {
            const link = await leased.eventUrl(event, valid_seconds);
            return async () => (await save([{ name: key, version, link }]))[0] as StepOutcome;
          }),
      },
    ),
    async version() {
      const [first] = await atWork(async () => [...(await savedSteps()).values()]);
      return first ? (first.version ?? 1) : version;
    },
  };

  return {
    steps,
    suspended: suspension.suspended,
    flush: suspension.flush,
    close: suspension.close,
    withEffect: (name, effect, options) =>
      runStep(
        name,
        async (key) => {
          await suspension.flush();
          const outcome = await effect(key);
          return () => outcome;
        },
        options,
      ),
    finish() {
      finished ??= finish();
      return finished;
    },
  };
}
