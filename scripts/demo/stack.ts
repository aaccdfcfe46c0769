import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type DevEnv, readDevEnv } from '../stack/files.ts';
import { checkout } from '../stack/place.ts';
import { ended } from '../stack/run.ts';

export type Stack = DevEnv & { stop(): Promise<void> };

async function answering(): Promise<DevEnv | null> {
  const { TOCK_URL, TOCK_KEY, DATABASE_URL, POOLED_DATABASE_URL = '' } = readDevEnv();
  if (!TOCK_URL || !TOCK_KEY || !DATABASE_URL) return null;
  const ask = (path: string) =>
    fetch(`${TOCK_URL}${path}`, {
      headers: { authorization: `Bearer ${TOCK_KEY}` },
      signal: AbortSignal.timeout(5000),
    }).then(
      ({ status }) => status,
      () => 0,
    );
  // An id that can't exist: 404 shows that the key is good too, 401 that the file is an old one.
  const ready = (await ask('/v1/health')) === 200 && (await ask('/v1/tasks/1')) === 404;
  return ready ? { TOCK_URL, TOCK_KEY, DATABASE_URL, POOLED_DATABASE_URL } : null;
}

/** The stack that runs already, or one started for the demo, which then also stops it. */
export async function useStack(stopping: AbortSignal): Promise<Stack> {
  const found = await answering();
  if (found) return { ...found, stop: async () => {} };
  process.stdout.write('No stack is running: starting one.\n');
  const child = spawn(process.execPath, [join('scripts', 'start.ts')], {
    cwd: checkout,
    // It ends by itself when this process is gone.
    env: { ...process.env, TOCK_PARENT: String(process.pid) },
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const over = ended(child);
  const stop = async () => {
    child.kill('SIGTERM');
    await over;
  };
  while (!stopping.aborted && child.exitCode === null && child.signalCode === null) {
    const started = await answering();
    if (started) return { ...started, stop };
    await Promise.race([over, new Promise((wake) => setTimeout(wake, 250))]);
  }
  await stop();
  stopping.throwIfAborted();
  throw new Error('The stack did not start: see above. "npm start" alone shows the same.');
}
