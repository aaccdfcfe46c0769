type StopOptions = { until?: 'empty' | Date; for_seconds?: number; signal?: AbortSignal };

export type StopSignal = AbortSignal & {
  /** Aborts now. */
  stop(): void;
  /** Seconds until it aborts by itself. */
  left(): number;
};

// setTimeout accepts 31 bits, or 24 days. A worker that runs longer has no such deadline.
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** A signal that aborts with the caller's signal, at the deadline, or by stop(). */
export function createStopSignal({
  until,
  for_seconds = Number.POSITIVE_INFINITY,
  signal,
}: StopOptions): StopSignal {
  const controller = new AbortController();
  const until_ms = until instanceof Date ? until.getTime() - Date.now() : Number.POSITIVE_INFINITY;
  const ms = Math.min(until_ms, for_seconds * 1000);
  const stop = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    controller.abort();
  };
  const deadline = performance.now() + ms;
  const timer = ms < MAX_TIMEOUT_MS ? setTimeout(stop, Math.max(0, ms)) : undefined;
  signal?.addEventListener('abort', stop);
  if (signal?.aborted || ms <= 0) stop();
  return Object.assign(controller.signal, {
    stop,
    left: () => Math.max(0, (deadline - performance.now()) / 1000),
  });
}
