import { Fatal, RetryIn } from '../../client/errors.ts';
import type { Context, Handler } from '../../client/worker/handlers.ts';
import type { LeasedTask } from '../../client/worker/leased_tasks.ts';
import type { EffectOptions, Step } from '../../client/worker/step_types.ts';
import type { Bindings } from '../env.ts';

/** What a consumer's handler receives in addition to its task. */
export type ConsumerContext = Omit<Context, 'step'> & {
  step: Step & {
    /**
     * A step of one statement that also saves the step: either both take effect or neither, even in a crash. Returns the
     * rows of the statement, null if it has none. Parameters start at $1.
     */
    with<T = unknown>(
      name: string,
      statement: string,
      values?: unknown[],
      options?: EffectOptions,
    ): Promise<T>;
  };
  /** The Worker's bindings, including secrets. */
  env: Bindings & Record<string, unknown>;
  /** Starts at 1. */
  attempt: number;
  fail: {
    /** Throws an error that makes the task dead, because a retry would fail too. */
    fatal(message: string): never;
  };
  /** Throws an error that fails the attempt. The next one starts after this delay instead of the backoff. */
  retryIn(seconds: number, message?: string): never;
  /** Seconds until the Worker's time is up and the handler's signal aborts. */
  left(): number;
  /**
   * Runs one statement and completes the task with it: either both take effect or neither, even in a crash. It must be
   * the handler's last action, and it throws if the lease is lost. Parameters start at $1.
   */
  completeWith(text: string, values?: unknown[], result?: unknown): Promise<void>;
};

export type ConsumerHandler<P = unknown> = Handler<P, ConsumerContext>;

/** The part of the context that needs no database. */
export function plainContext(
  { task }: LeasedTask,
  env: ConsumerContext['env'],
  left: () => number,
): Omit<ConsumerContext, keyof Context | 'completeWith'> {
  return {
    env,
    attempt: task.attempt,
    fail: {
      fatal(message) {
        throw new Fatal(message);
      },
    },
    retryIn(seconds, message) {
      throw new RetryIn(seconds, message);
    },
    left,
  };
}
