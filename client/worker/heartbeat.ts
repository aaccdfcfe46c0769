import { LeaseLost } from '../errors.ts';
import type { Leases } from '../lease.ts';
import type { LeasedTasks, Progress } from '../types.ts';

type LeaseEvents = {
  /** Tasks with requested cancellation. */
  cancel(ids: string[]): void;
  lost(error: LeaseLost): void;
  /** Called when the lease has expired by the local clock. */
  expired(): void;
  error(error: unknown): void;
};

export type Heartbeat = {
  progress(id: string, update: Progress): void;
  forget(id: string): void;
  stop(): void;
};

const PROGRESS_WITHIN_MS = 1000;

/**
 * Extends a lease at each third of its duration. It moves the end on the local clock by as much as the server moved its
 * end, so the two clocks may differ. `late` is true for a claim that was retried: the start of its lease is unknown.
 */
export function heartbeat(
  source: Leases,
  { lease, leased_until }: LeasedTasks,
  lease_seconds: number,
  late: boolean,
  events: LeaseEvents,
): Heartbeat {
  const interval_ms = (lease_seconds * 1000) / 3;
  const pending = new Map<string, Progress>();
  const stopped = new AbortController();
  let isBeating = false;
  let isSoon = false;
  let serverEnd = Date.parse(leased_until);
  let localEnd = performance.now() + lease_seconds * 1000;
  let next = setTimeout(beat, late ? 0 : interval_ms);
  let expiry = setTimeout(events.expired, lease_seconds * 1000);

  function moveEnd(until: number): void {
    localEnd += until - serverEnd;
    serverEnd = until;
    clearTimeout(expiry);
    expiry = setTimeout(events.expired, Math.max(0, localEnd - performance.now()));
  }

  async function beat(): Promise<void> {
    isBeating = true;
    const progress = [...pending].map(([id, update]) => ({ id, ...update }));
    pending.clear();
    try {
      const reported = progress.length > 0 ? progress : undefined;
      const { leased_until, cancel } = await source.extend(
        lease,
        lease_seconds,
        reported,
        stopped.signal,
      );
      if (stopped.signal.aborted) return;
      moveEnd(Date.parse(leased_until));
      events.cancel(cancel);
    } catch (error) {
      if (stopped.signal.aborted) return;
      if (error instanceof LeaseLost) return events.lost(error);
      events.error(error);
    } finally {
      isBeating = false;
      isSoon = pending.size > 0;
      if (!stopped.signal.aborted)
        next = setTimeout(beat, isSoon ? PROGRESS_WITHIN_MS : interval_ms);
    }
  }

  return {
    progress(id, update) {
      pending.set(id, { ...pending.get(id), ...update });
      if (isSoon || isBeating || stopped.signal.aborted) return;
      isSoon = true;
      clearTimeout(next);
      next = setTimeout(beat, Math.min(PROGRESS_WITHIN_MS, interval_ms));
    },
    forget: (id) => void pending.delete(id),
    stop() {
      stopped.abort();
      clearTimeout(next);
      clearTimeout(expiry);
    },
  };
}
