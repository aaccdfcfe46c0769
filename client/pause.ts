// setTimeout takes 31 bits: 24 days.
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after some time, or at once when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, Math.min(LONGEST_MS, ms));
    signal?.addEventListener('abort', over);
  });
}
