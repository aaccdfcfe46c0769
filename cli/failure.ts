/** 0 is success; 1 anything that went wrong; 2 a mistake in what was asked; 3 no such thing. */
export type ExitCode = 1 | 2 | 3;

/** What happened and what to do next, shown to people as it stands, without a stack. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(what: string, next?: string, exitCode: ExitCode = 1) {
    super(next ? `${what}\n${next}` : what);
    this.exitCode = exitCode;
  }
}
