import progress from 'cli-progress';
import type { Options } from './output.ts';

export type Bar = {
  /** Adds completed items. */
  add(count: number): void;
  stop(): void;
};

const hidden: Bar = { add() {}, stop() {} };

/** A progress bar on stderr, if it is a terminal. Without a total the bar only counts. */
export function bar(options: Options, label: string, total: number | null): Bar {
  if (options.json || !process.stderr.isTTY) return hidden;
  const format =
    total === null
      ? `${label} {value}, {duration_formatted}`
      : `${label} {bar} {value}/{total}, {eta_formatted} left`;
  const singleBar = new progress.SingleBar({
    format,
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    etaBuffer: 50,
  });
  singleBar.start(total ?? 0, 0);
  return {
    add: (count) => singleBar.increment(count),
    stop: () => singleBar.stop(),
  };
}

/** Runs work with a progress bar, and removes the bar even if the work fails. */
export async function withBar<T>(
  options: Options,
  label: string,
  total: number | null,
  work: (bar: Bar) => Promise<T>,
): Promise<T> {
  const progressBar = bar(options, label, total);
  try {
    return await work(progressBar);
  } finally {
    progressBar.stop();
  }
}
