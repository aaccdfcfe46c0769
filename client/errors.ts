import type { Problem as Said } from './wire.ts';

/** What a refusal says (RFC 9457), as far as it came from Tock. */
export type Problem = Partial<Said>;

function said({ title, detail, field }: Problem, status: number): string {
  const what = detail ?? title ?? `status ${status}`;
  return field && !what.startsWith(field) ? `${field}: ${what}` : what;
}

/** A call that was refused; `status` is HTTP's, or 0 when no answer came. */
export class TockError extends Error {
  override name = 'TockError';
  readonly status: number;
  /** What is wrong, like `tasks[3].priority`. */
  readonly field: string | undefined;
  /** What to do next. */
  readonly hint: string | undefined;
  readonly problem: Problem;
  /** As Retry-After said; 0 when it was not said. */
  retry_after_seconds = 0;

  constructor(status: number, problem: Problem, options?: ErrorOptions) {
    super(said(problem, status), options);
    this.status = status;
    this.field = problem.field;
    this.hint = problem.hint;
    this.problem = problem;
  }
}

/** The lease is over: drop the work, somebody else does what was not completed. */
export class LeaseLost extends TockError {
  override name = 'LeaseLost';
}

/** Why a handler's signal aborted: somebody wants its task cancelled. */
export class TaskCancelled extends Error {
  override name = 'TaskCancelled';
  override message = 'This task is to be cancelled.';
}

/** Why a handler's signal aborted: its worker stops, and gives the task back. */
export class WorkerStopped extends Error {
  override name = 'WorkerStopped';
  override message = 'This worker stops.';
}

/** Thrown by a handler: trying again would not help, the task is dead. */
export class Fatal extends Error {
  override name = 'Fatal';
}

/** Thrown by a handler: failed, to be tried again after so many seconds rather than after its backoff. */
export class RetryIn extends Error {
  override name = 'RetryIn';
  readonly seconds: number;

  constructor(
    seconds: number,
    message = `to be tried again in ${seconds} s`,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.seconds = seconds;
  }
}
