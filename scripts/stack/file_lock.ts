import { spawn } from 'node:child_process';
import { ended } from './run.ts';

/**
 * Does the work while no other process holds the same file's lock. A flock(1) that reads from this process holds the
 * lock in the kernel, so it is released however this process ends.
 */
export async function withFileLock<T>(
  file: string,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const holder = spawn('flock', [file, 'sh', '-c', 'echo held; exec cat'], {
    // A terminal's Ctrl-C must not release the lock before this process has ended.
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
