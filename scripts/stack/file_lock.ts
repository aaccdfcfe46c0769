import { spawn } from 'node:child_process';
import { ended } from './run.ts';

/**
 * Does the work while this process has the file's lock. A child, flock(1), holds the lock in the kernel and reads from
 * this process, so the kernel releases the lock however this process ends.
 */
export async function withFileLock<T>(
  file: string,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const holder = spawn('flock', [file, 'sh', '-c', 'echo held; exec cat'], {
    // With its own process group the child gets no Ctrl-C of the terminal, which would release the lock too early.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const hasEnded = ended(holder);
  const waiting = setTimeout(onWait, 500);
  try {
    const held = new Promise<boolean>((resolve) => holder.stdout.once('data', () => resolve(true)));
    if (!(await Promise.race([held, hasEnded]))) {
      throw new Error(`${file} cannot be locked by flock. On Debian it is in util-linux.`);
    }
    clearTimeout(waiting);
    return await work();
  } finally {
    clearTimeout(waiting);
    holder.stdin.end();
    await hasEnded;
  }
}
