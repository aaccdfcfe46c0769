type When = { until?: 'empty' | Date; for_seconds?: number; signal?: AbortSignal };

export type Stopping = AbortSignal & {
  /** Stops now. */
  stop(): void;
  /** Seconds until it does by itself. */
  left(): number;
};

// setTimeout takes 31 bits; a worker that is to go on for longer than 24 days is told to stop otherwise.
const LONGEST_MS = 2 ** 31 - 1;

/** A signal that aborts when the caller's does, when the time is up, or by stop(). */
export function stopAt({ until, for_seconds = Number.POSITIVE_INFINITY, signal }: When): Stopping {
  const all = new AbortController();
  const at = until instanceof Date ? until.getTime() - Date.now() : Number.POSITIVE_INFINITY;
  const ms = Math.min(at, for_seconds * 1000);
  const stop = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    all.abort();
  };
  const end = performance.now() + ms;
  const timer = ms < LONGEST_MS ? setTimeout(stop, Math.max(0, ms)) : undefined;
  signal?.addEventListener('abort', stop);
  if (signal?.aborted || ms <= 0) stop();
  return Object.assign(all.signal, {
    stop,
    left: () => Math.max(0, (end - performance.now()) / 1000),
  });
}
