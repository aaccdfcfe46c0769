import type { Say } from './say.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** What lives as long as one `npm start`. */
export type Scope = {
  /** Aborted when it is to end: what is under way gives up. */
  signal: AbortSignal;
  /** Registers how to stop what was just started; the last started is stopped first. */
  onStop(name: string, stop: () => Promise<void>): void;
  /** Ends everything when this ends by itself. */
  needs(name: string, ended: Promise<void>, log: string): void;
};

/** The parent is a bootstrap that may be killed without a word. */
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
 * Does the work, then stays until a signal, a dead parent or the end of something needed; then stops
 * everything in order. Returns the exit code: 0 after a signal, 130 when it came before ready.
 */
export async function live(say: Say, work: (scope: Scope) => Promise<void>): Promise<number> {
  const stops: { name: string; stop: () => Promise<void> }[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  let broken = '';
  let code = 0;
  const end = (reason: string) => {
    if (!signal.aborted && reason) say.note(reason);
    controller.abort(new Error('stopped'));
  };
  // A terminal that is gone must not end us before we have stopped what we started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const handlers = signals.map((name) => [name, () => end(`${name}: stopping`)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  const watch = watchParent(() => end(''));
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  try {
    await work({
      signal,
      onStop: (name, stop) => stops.push({ name, stop }),
      needs(name, over, log) {
        void over.then(() => {
          if (signal.aborted) return;
          broken = `${name} ended by itself; ${log} says why. Stopping the rest.`;
          end('');
        });
      },
    });
    await ended;
  } catch (error) {
    code = signal.aborted ? 130 : 1;
    if (!signal.aborted) say.note(message(error));
    end('');
  }
  if (broken) {
    say.note(broken);
    code = 1;
  }
  for (const { name, stop } of stops.reverse()) {
    await say.step(`Stopping ${name}`, stop).catch((error) => say.note(message(error)));
  }
  clearInterval(watch);
  for (const [name, handler] of handlers) process.off(name, handler);
  return code;
}
