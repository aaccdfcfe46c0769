import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type DevEnv, readDevEnv } from '../stack/files.ts';
import { checkout } from '../stack/paths.ts';
import { ended } from '../stack/run.ts';

export type Stack = DevEnv & { stop(): Promise<void> };

async function answering(): Promise<DevEnv | null> {
  const { TOCK_URL, TOCK_KEY, DATABASE_URL, POOLED_DATABASE_URL = '' } = readDevEnv();
  if (!TOCK_URL || !TOCK_KEY || !DATABASE_URL) return null;
  const request = (path: string) =>
    fetch(`${TOCK_URL}${path}`, {
      headers: { authorization: `Bearer ${TOCK_KEY}` },
      signal: AbortSignal.timeout(5000),
    }).then(
      ({ status }) => status,
      () => 0,
    );
  // Task 1 cannot exist, so a 404 shows that the key is valid. A 401 shows that the file is old.
  const ready = (await request('/v1/health')) === 200 && (await request('/v1/tasks/1')) === 404;
  return ready ? { TOCK_URL, TOCK_KEY, DATABASE_URL, POOLED_DATABASE_URL } : null;
}

/** The running stack, or one started for the demo, which the demo then stops. */
export async function useStack(stopping: AbortSignal): Promise<Stack> {
  const existing = await answering();
  if (existing) return { ...existing, stop: async () => {} };
  process.stdout.write('No stack is running: starting one.\n');
  const child = spawn(process.execPath, [join('scripts', 'start.ts')], {
    cwd: checkout,
    // With TOCK_PARENT the stack ends when this process has ended.
    env: { ...process.env, TOCK_PARENT: String(process.pid) },
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const hasEnded = ended(child);
  const stop = async () => {
    child.kill('SIGTERM');
    await hasEnded;
  };
  while (!stopping.aborted && child.exitCode === null && child.signalCode === null) {
    const started = await answering();
    if (started) return { ...started, stop };
    await Promise.race([hasEnded, new Promise((resolve) => setTimeout(resolve, 250))]);
  }
  await stop();
  stopping.throwIfAborted();
  throw new Error('The stack did not start: see above. "npm start" alone shows the same error.');
}
