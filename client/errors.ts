import type { Problem as WireProblem } from './wire.ts';

/** The problem document of a refusal (RFC 9457). Fields may be missing if a proxy has answered. */
export type Problem = Partial<WireProblem>;

function messageOf({ title, detail, field }: Problem, status: number): string {
  const text = detail ?? title ?? `status ${status}`;
  return field && !text.startsWith(field) ? `${field}: ${text}` : text;
}

/** A refused call. `status` is the HTTP status, or 0 without an answer. */
export class TockError extends Error {
  override name = 'TockError';
  readonly status: number;
  /** The invalid field, like `tasks[3].priority`. */
  readonly field: string | undefined;
  /** What the caller can do. */
  readonly hint: string | undefined;
  readonly problem: Problem;
  /** The seconds of Retry-After; 0 without that header. */
  retry_after_seconds = 0;

  constructor(status: number, problem: Problem, options?: ErrorOptions) {
    super(messageOf(problem, status), options);
    this.status = status;
    this.field = problem.field;
    this.hint = problem.hint;
    this.problem = problem;
  }
}

/** The lease has ended. Drop the work: another worker runs the remaining tasks. */
export class LeaseLost extends TockError {
  override name = 'LeaseLost';
}

/** The reason of an aborted handler signal: a client has requested cancellation of the task. */
export class TaskCancelled extends Error {
  override name = 'TaskCancelled';
  override message = 'Cancellation of this task was requested.';
}

/** The reason of an aborted handler signal: the worker stops and releases the task. */
export class WorkerStopped extends Error {
  override name = 'WorkerStopped';
  override message = 'This worker is stopping.';
}

/** A step has failed for the last time. A handler may catch it, and each later attempt of the task throws it again. */
export class StepFailed extends Error {
  override name = 'StepFailed';
  /** What the step threw, as it was saved. */
  readonly error: unknown;

  constructor(step: string, error: unknown) {
    const { message } = (error ?? {}) as { message?: unknown };
    super(typeof message === 'string' ? message : `the step ${step} has failed`);
    this.error = error;
  }
}

/** The time of a wait for an event is over: see `on_timeout` of waitFor. */
export class WaitTimedOut extends Error {
  override name = 'WaitTimedOut';
  readonly event: string;

  constructor(step: string, event: string) {
    super(`the event ${event} did not come in time for the step ${step}`);
    this.event = event;
  }
}

/** A handler throws it to make the task dead, because a retry would fail too. */
export class Fatal extends Error {
  override name = 'Fatal';
}

/** A handler throws it to fail the attempt; the next one starts after this delay instead of the backoff. */
export class RetryIn extends Error {
  override name = 'RetryIn';
  readonly seconds: number;

  constructor(seconds: number, message = `retry in ${seconds} s`, options?: ErrorOptions) {
    super(message, options);
    this.seconds = seconds;
  }
}
