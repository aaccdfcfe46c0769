/** A refusal, as the server would send it. */
export class RefusedError extends Error {
  readonly status: number;
  readonly field: string | undefined;
  readonly hint: string | undefined;

  constructor(status: number, detail: string, field?: string, hint?: string) {
    super(detail);
    this.status = status;
    this.field = field;
    this.hint = hint;
  }
}

export const leaseEnded = () =>
  new RefusedError(
    409,
    'This lease is not valid any more: it is unknown, has ended, or its tasks were leased to another worker.',
    undefined,
    'Discard the work and claim again; another worker runs the tasks that were not completed.',
  );

export const noTask = () =>
  new RefusedError(
    404,
    'There is no task with this id.',
    undefined,
    'Use an id that enqueue returned.',
  );
