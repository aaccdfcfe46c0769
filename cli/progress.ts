import progress from 'cli-progress';
import type { Options } from './output.ts';

export type Bar = {
  /** So many more are done. */
  add(count: number): void;
  stop(): void;
};

const none: Bar = { add() {}, stop() {} };

/** A bar on stderr for long work, where somebody looks on; without a total it only counts. */
export function bar(options: Options, what: string, total: number | null): Bar {
  if (options.json || !process.stderr.isTTY) return none;
  const format =
    total === null
      ? `${what} {value}, {duration_formatted}`
      : `${what} {bar} {value}/{total}, {eta_formatted} left`;
  const shown = new progress.SingleBar({
    format,
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    etaBuffer: 50,
  });
  shown.start(total ?? 0, 0);
  return {
    add: (count) => shown.increment(count),
    stop: () => shown.stop(),
  };
}

/** Work with a bar, which goes whatever becomes of the work. */
export async function withBar<T>(
  options: Options,
  what: string,
  total: number | null,
  work: (bar: Bar) => Promise<T>,
): Promise<T> {
  const shown = bar(options, what, total);
  try {
    return await work(shown);
  } finally {
    shown.stop();
  }
}
