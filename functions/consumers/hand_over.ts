import type { ClaimAnswer } from '../../client/types.ts';

/** A consumer that can take tasks at once. An enqueue into its queue claims for it, in the same statement. */
export type FreeConsumer = {
  limit: number;
  lease_seconds: number;
  /** To be called after the call: until then no other call sees the consumer as free. */
  release(): void;
};

/** What a call has claimed for a consumer, as the consumer's own claim would have it. */
export function parseClaimed(queue: string, claimed: string): ClaimAnswer {
  const { state, retry_after_seconds, tasks, ...lease } = JSON.parse(claimed);
  const named = tasks.map((task: object) => ({ ...task, queue }));
  return { leases: [{ ...lease, queue, tasks: named }], state, retry_after_seconds };
}
