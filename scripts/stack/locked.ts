import { spawn } from 'node:child_process';
import { ended } from './run.ts';

/**
 * Does the work while nobody else does work under the same file. A flock(1) that reads from us holds
 * the kernel's lock: however we end, it is free again.
 */
export async function locked<T>(
  file: string,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const holder = spawn('flock', [file, 'sh', '-c', 'echo held; exec cat'], {
    // A terminal's Ctrl-C must not open the lock before we are gone.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const over = ended(holder);
  const waiting = setTimeout(onWait, 500);
  try {
    const held = new Promise<boolean>((resolve) => holder.stdout.once('data', () => resolve(true)));
    if (!(await Promise.race([held, over]))) {
      throw new Error(`${file} can't be locked by flock. On Debian it is in util-linux.`);
    }
    clearTimeout(waiting);
    return await work();
  } finally {
    clearTimeout(waiting);
    holder.stdin.end();
    await over;
  }
}
