/** Exit codes, as `tock --help` lists them; 0 is success. */
export type ExitCode = 1 | 2 | 3 | 4;

/** An error for users: what happened and what to do next, printed without a stack. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(what: string, next?: string, exitCode: ExitCode = 1) {
    super(next ? `${what}\n${next}` : what);
    this.exitCode = exitCode;
  }
}
