/** 0 is success; 1 anything that went wrong; 2 a mistake in what was asked; 3 no such thing. */
export type ExitCode = 1 | 2 | 3;

export type Failure = Error & { exitCode: ExitCode };

/** What happened and what to do next, shown to people as it stands. */
export function failure(what: string, next?: string, exitCode: ExitCode = 1): Failure {
  return Object.assign(new Error(next ? `${what}\n${next}` : what), { exitCode });
}

export function isFailure(error: unknown): error is Failure {
  return error instanceof Error && 'exitCode' in error;
}
