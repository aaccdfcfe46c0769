import { Fatal, RetryIn, TaskCancelled, WorkerStopped } from '../errors.ts';
import type { Outcome, Result } from '../types.ts';

/** What is to be told of a task; told: its handler's transaction has done it. */
export type End =
  | { kind: 'done'; said: Omit<Result, 'id'> }
  | { kind: 'failed'; said: Outcome }
  | { kind: 'released' | 'cancelled' }
  | { kind: 'told'; as: 'done' | 'lost' };

const LONGEST_MESSAGE = 2_000;
const LONGEST_STACK = 8_000;

/** Text of so many characters at most. Half a surrogate pair, or NUL, is not for JSON in PostgreSQL. */
export const clean = (text: unknown, most: number) =>
  String(text ?? '')
    .slice(0, most)
    .toWellFormed()
    .replaceAll('\0', '\uFFFD');

/** An error that has more to say than its stack: what `told` holds is kept beside its name and message. */
export type Telling = Error & { told?: Record<string, unknown> };

/** An error as a failure's data: a message of megabytes would be kept for each attempt. */
export function told(error: unknown): { name: string; message: string; stack?: string } {
  if (!(error instanceof Error)) return { name: 'Thrown', message: clean(error, LONGEST_MESSAGE) };
  const { name, message, stack, told } = error as Telling;
  return {
    name: clean(name, 200),
    message: clean(message, LONGEST_MESSAGE),
    ...(told ?? (stack && { stack: clean(stack, LONGEST_STACK) })),
  };
}

/** How a task ended whose handler threw. */
export function endOf(error: unknown, signal: AbortSignal): End {
  if (signal.reason instanceof TaskCancelled) return { kind: 'cancelled' };
  if (signal.reason instanceof WorkerStopped) return { kind: 'released' };
  if (error instanceof Fatal) return { kind: 'failed', said: { error: told(error), fatal: true } };
  const retry = error instanceof RetryIn && { retry_in_seconds: error.seconds };
  return { kind: 'failed', said: { error: told(error), ...retry } };
}

/** Of what can't be JSON its task fails, and not whatever is told along with it. */
export function doneWith(said: Omit<Result, 'id'>): End {
  try {
    JSON.stringify(said);
    return { kind: 'done', said };
  } catch (error) {
    return { kind: 'failed', said: { error: told(error) } };
  }
}
