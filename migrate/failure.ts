/** 0 is success; `tock --help` says what the others are. */
export type ExitCode = 1 | 2 | 3 | 4;

/** What happened and what to do next, shown to people as it stands, without a stack. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(what: string, next?: string, exitCode: ExitCode = 1) {
    super(next ? `${what}\n${next}` : what);
    this.exitCode = exitCode;
  }
}
