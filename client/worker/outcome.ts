import { Fatal, RetryIn, TaskCancelled, WorkerStopped } from '../errors.ts';
import type { Outcome, Result } from '../types.ts';

/** How a task ended. `reported`: it was reported already, with the handler's transaction or as a step that waits. */
export type TaskOutcome =
  | { kind: 'done'; report: Omit<Result, 'id'> }
  | { kind: 'failed'; report: Outcome }
  | { kind: 'released' | 'cancelled' }
  | { kind: 'reported'; as: 'done' | 'lost' | 'released' };

const MAX_MESSAGE = 2_000;
const MAX_STACK = 8_000;

/** Truncates text, and replaces lone surrogates and NUL, which PostgreSQL's JSON refuses. */
export const truncate = (text: unknown, max: number) =>
  String(text ?? '')
    .slice(0, max)
    .toWellFormed()
    .replaceAll('\0', '\uFFFD');

export type ErrorJson = { name: string; message: string; stack?: string };

/** An error with more to report than its stack: `details` is stored beside its name and message. */
export type ErrorWithDetails = Error & { details?: Record<string, unknown> };

/** Converts an error to a failure's data. It limits the message, which is stored for each attempt. */
export function errorToJson(error: unknown): ErrorJson {
  try {
    return describe(error);
  } catch {
    // The value is a revoked Proxy, or its toString() or a getter throws.
    return { name: 'Thrown', message: 'The thrown value cannot be converted to text.' };
  }
}

function describe(error: unknown): ErrorJson {
  if (!(error instanceof Error)) return { name: 'Thrown', message: truncate(error, MAX_MESSAGE) };
  const { name, message, stack, details } = error as ErrorWithDetails;
  return {
    name: truncate(name, 200),
    message: truncate(message, MAX_MESSAGE),
    ...(details ?? (stack && { stack: truncate(stack, MAX_STACK) })),
  };
}

/** The options of a failure in addition to its error. */
function failureOptions(error: unknown): Omit<Outcome, 'error'> {
  try {
    if (error instanceof Fatal) return { fatal: true };
    return error instanceof RetryIn ? { retry_in_seconds: Number(error.seconds) } : {};
  } catch {
    return {};
  }
}

/** The outcome of a task whose handler threw. */
export function outcomeOfError(error: unknown, signal: AbortSignal): TaskOutcome {
  if (signal.reason instanceof TaskCancelled) return { kind: 'cancelled' };
  if (signal.reason instanceof WorkerStopped) return { kind: 'released' };
  return { kind: 'failed', report: { error: errorToJson(error), ...failureOptions(error) } };
}

/** The outcome of a task whose handler returned. A result without JSON fails only this task, not the whole report. */
export function outcomeOfResult(report: Omit<Result, 'id'>): TaskOutcome {
  try {
    JSON.stringify(report);
    return { kind: 'done', report };
  } catch (error) {
    return { kind: 'failed', report: { error: errorToJson(error) } };
  }
}
