import { Fatal, RetryIn } from '../../client/errors.ts';
import type { Context, Handler } from '../../client/worker/handlers.ts';
import type { HeldTask } from '../../client/worker/held.ts';
import type { Bindings } from '../env.ts';

/** What a consumer's handler has beside its task. */
export type ConsumerContext = Context & {
  /** The Worker's bindings, secrets among them. */
  env: Bindings & Record<string, unknown>;
  /** From 1. */
  attempt: number;
  fail: {
    /** Trying again would not help: the task is dead. Throws. */
    fatal(message: string): never;
  };
  /** Failed, to be tried again after so many seconds rather than after its backoff. Throws. */
  retryIn(seconds: number, message?: string): never;
  /** Seconds until its signal aborts, as the time of its Worker is over. */
  left(): number;
  /**
   * Does one statement and completes the task in the same one: both are there or neither, whoever is killed when.
   * It is the last that a handler does, and throws when the task is no longer its own. Parameters are $1 and on.
   */
  completeWith(text: string, values?: unknown[], result?: unknown): Promise<void>;
};

export type ConsumerHandler<P = unknown> = Handler<P, ConsumerContext>;

/** All that needs no database. */
export function plainContext(
  { task }: HeldTask,
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
