import type { Cluster } from './cluster.ts';
import { record, recordDown } from './running.ts';
import type { Say } from './say.ts';

/** Sent by another `npm start` to the one that waits to start PostgreSQL again. */
export const AGAIN = 'SIGUSR2';

function asked(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      process.off(AGAIN, over);
      signal.removeEventListener('abort', over);
      resolve();
    };
    process.on(AGAIN, over);
    signal.addEventListener('abort', over);
    if (signal.aborted) over();
  });
}

/**
 * Outlives PostgreSQL, so that an outage can be rehearsed: says that it ended and starts it again when another
 * `npm start` asks. Resolves after the signal, once no start is under way.
 */
export async function startAgain(made: Cluster, say: Say, log: string, signal: AbortSignal) {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
  // Asked twice: a signal that nothing listens to would end us.
  process.on(AGAIN, () => {});
  while (true) {
    await Promise.race([made.ended, aborted]);
    if (signal.aborted) return;
    const again = asked(signal);
    recordDown(true);
    say.note(
      `PostgreSQL ended; ${log} says why. Calls are answered with 503 until it is back.\n` +
        'To start it again, in another terminal: npm start',
    );
    await again;
    if (signal.aborted) return;
    recordDown(false);
    try {
      await say.step(`Starting PostgreSQL again on 127.0.0.1:${made.port}`, made.start);
      if (made.host.local) record('PostgreSQL', made.pid);
      say.note('PostgreSQL is back.');
    } catch (error) {
      if (!signal.aborted) say.note(error instanceof Error ? error.message : String(error));
    }
  }
}
