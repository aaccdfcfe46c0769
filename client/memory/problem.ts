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
    'This lease is no longer yours: it is unknown, has ended or was given to another.',
    undefined,
    'Drop the work and claim again; what was not completed is done by somebody else.',
  );

export const noTask = () =>
  new RefusedError(
    404,
    'There is no task with this id.',
    undefined,
    'Use an id that enqueue gave.',
  );
