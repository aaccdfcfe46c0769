import type { Cluster } from './cluster.ts';
import { record, recordDown } from './running.ts';
import type { StepReporter } from './step_reporter.ts';

/** The signal with which another `npm start` asks to restart PostgreSQL. */
export const AGAIN = 'SIGUSR2';

function restartRequest(signal: AbortSignal): Promise<void> {
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
 * When PostgreSQL ends, reports that, and restarts it when another `npm start` asks for it. So a user can try an
 * outage. Resolves after the signal, when no start is running.
 */
export async function restartOnRequest(
  cluster: Cluster,
  reporter: StepReporter,
  log: string,
  signal: AbortSignal,
) {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
  // Without a listener a second request's signal would end this process.
  process.on(AGAIN, () => {});
  while (true) {
    await Promise.race([cluster.ended, aborted]);
    if (signal.aborted) return;
    const request = restartRequest(signal);
    recordDown(true);
    reporter.note(
      `PostgreSQL ended; see ${log} for the reason. Calls are answered with 503 until it is restarted.\n` +
        'To restart it, run in another terminal: npm start',
    );
    await request;
    if (signal.aborted) return;
    recordDown(false);
    try {
      await reporter.step(`Restarting PostgreSQL on 127.0.0.1:${cluster.port}`, cluster.start);
      if (cluster.host.local) record('PostgreSQL', cluster.pid);
      reporter.note('PostgreSQL runs again.');
    } catch (error) {
      if (!signal.aborted) reporter.note(error instanceof Error ? error.message : String(error));
    }
  }
}
