import type { ClaimAnswer, LeasedTasks } from '../../client/types.ts';

/** A consumer that can take tasks at once. An enqueue into its queue claims for it, in the same statement. */
export type FreeConsumer = {
  limit: number;
  lease_seconds: number;
  /** To be called after the call: until then no other call sees the consumer as free. */
  release(): void;
};

/** The drain that a call wakes takes its tasks after a moment. Later they might belong to somebody else. */
const FRESH_MS = 5000;

/** Leases that calls have claimed for a consumer, until its drain takes them. */
export type HandedOver = {
  add(queue: string, claimed: string): void;
  /** The oldest one; undefined if there is none. */
  take(): ClaimAnswer | undefined;
};

export function createHandedOver(): HandedOver {
  const all: { at: number; answer: ClaimAnswer }[] = [];
  return {
    add(queue, claimed) {
      const { state, retry_after_seconds, tasks, ...lease } = JSON.parse(claimed);
      const named = tasks.map((task: object) => ({ ...task, queue }));
      const leases: LeasedTasks[] = [{ ...lease, queue, tasks: named }];
      all.push({ at: performance.now(), answer: { leases, state, retry_after_seconds } });
    },
    take() {
      for (let next = all.shift(); next; next = all.shift())
        if (performance.now() < next.at + FRESH_MS) return next.answer;
      return undefined;
    },
  };
}
