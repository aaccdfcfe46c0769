import type { TaskOptions } from '../types.ts';

export type StepOptions = {
  /**
   * How often the step is tried before it fails for good. Between the tries the task waits and counts no attempt.
   * Default: the step has no tries of its own, and what it throws fails the attempt of the task.
   */
  max_attempts?: number;
  /** The time before the next try, doubled with each, up to an hour. Default: 1. */
  backoff_seconds?: number;
  /**
   * Saves the result together with that of the next step, at the latest before the task ends, sleeps or waits. If the
   * worker dies before that, the step runs again. Default: false.
   */
  later?: boolean;
};
export type EffectOptions = Omit<StepOptions, 'later'>;

/** Whether a task that sleeps or waits keeps its concurrency key. Default: false. */
export type SuspendOptions = { keep_concurrency_key?: boolean };
export type WaitForOptions = SuspendOptions & {
  /** Default: ten years. */
  timeout_seconds?: number;
  /** `throw`: throws WaitTimedOut when the time is over. Default: returns null. */
  on_timeout?: 'null' | 'throw';
};
/** Options of a child. It has no unique key and no parents of its own, because it might then wait for its invoker. */
export type InvokeOptions = Omit<TaskOptions, 'name' | 'parent' | 'unique_key' | 'depends_on'> &
  SuspendOptions;

/** A time span, or the time itself. */
export type Duration =
  | number
  | Date
  | { days?: number; hours?: number; minutes?: number; seconds?: number };

export type Step = {
  /** Runs `run` and saves what it returns, any JSON of up to 256 KiB. */
  <T>(name: string, run: () => T | Promise<T>, options?: StepOptions): Promise<T>;
  /**
   * Enqueues a task, once, and returns its result. Until the task has ended, this one waits without a worker. Throws
   * StepFailed if it ends without a result: dead, cancelled or expired.
   */
  invoke<T = unknown>(
    name: string,
    queue: string,
    payload: unknown,
    options?: InvokeOptions,
  ): Promise<T>;
};

export type WaitFor = {
  /** Returns the payload of an event. Until it comes, the task waits without a worker. Null when the time is over. */
  <T = unknown>(name: string, event: string, options?: WaitForOptions): Promise<T | null>;
  /**
   * The URL of a link: a POST to it signals the event, without a key and once. It is a step, so each run gets the same
   * URL. Default of valid_seconds: a week.
   */
  url(name: string, event: string, options?: { valid_seconds?: number }): Promise<string>;
};

/**
 * What a handler does in steps. A step is known by its name; a second step of the same name is `name#2`. When the task
 * runs again, a step that has ended returns its saved result at once.
 */
export type Steps = {
  step: Step;
  /** Ends this run. The task comes back at the time, under the same id, and counts no attempt. A number is in seconds. */
  sleep(name: string, duration: Duration, options?: SuspendOptions): Promise<void>;
  waitFor: WaitFor;
  /** The version of the worker that saved the first step of the task; that of this worker if there is none. */
  version(): Promise<number>;
};
