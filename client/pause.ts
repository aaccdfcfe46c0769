// The maximum delay of setTimeout: 31 bits, or 24 days.
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Resolves after a delay, or at once when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(MAX_TIMEOUT_MS, ms));
    signal?.addEventListener('abort', done);
  });
}
