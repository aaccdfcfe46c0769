import type { StepReporter } from './step_reporter.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The lifetime of one `npm start`. */
export type Scope = {
  /** Aborts when `npm start` must end; then running work gives up. */
  signal: AbortSignal;
  /** Registers how to stop a process that was just started. The last one started is stopped first. */
  onStop(name: string, stop: () => Promise<void>): void;
  /** Ends all processes if this one ends unexpectedly. */
  needs(name: string, ended: Promise<void>, log: string): void;
};

/** Calls `orphaned` when the parent has died: scripts/bootstrap.mjs, which may be killed with SIGKILL. */
function watchParent(orphaned: () => void): NodeJS.Timeout {
  const parent = process.ppid;
  return setInterval(() => {
    if (process.ppid !== parent && Number(process.env.TOCK_PARENT) === parent) orphaned();
  }, 500);
}

function message(error: unknown): string {
  if (process.env.TOCK_DEBUG && error instanceof Error) return error.stack ?? error.message;
  return error instanceof Error ? error.message || error.name : String(error);
}

/**
 * Does the work, then waits for a signal, the parent's death or the end of a needed process. Then it stops all
 * processes in order. Returns the exit code: 0 after a signal, 130 if the signal came before the work was done.
 */
export async function runInScope(
  reporter: StepReporter,
  work: (scope: Scope) => Promise<void>,
): Promise<number> {
  const stops: { name: string; stop: () => Promise<void> }[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  let broken = '';
  let code = 0;
  const end = (reason: string) => {
    if (!signal.aborted && reason) reporter.note(reason);
    controller.abort(new Error('stopped'));
  };
  // A closed terminal must not end this process before it has stopped what it started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const handlers = signals.map((name) => [name, () => end(`${name}: stopping`)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  const watch = watchParent(() => end(''));
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  try {
    await work({
      signal,
      onStop: (name, stop) => stops.push({ name, stop }),
      needs(name, hasEnded, log) {
        void hasEnded.then(() => {
          if (signal.aborted) return;
          broken = `${name} ended unexpectedly; see ${log} for the reason. Stopping the rest.`;
          end('');
        });
      },
    });
    await ended;
  } catch (error) {
    code = signal.aborted ? 130 : 1;
    if (!signal.aborted) reporter.note(message(error));
    end('');
  }
  if (broken) {
    reporter.note(broken);
    code = 1;
  }
  for (const { name, stop } of stops.reverse()) {
    await reporter.step(`Stopping ${name}`, stop).catch((error) => reporter.note(message(error)));
  }
  clearInterval(watch);
  for (const [name, handler] of handlers) process.off(name, handler);
  return code;
}
