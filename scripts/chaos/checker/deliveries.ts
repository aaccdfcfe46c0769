import type { Claim, Journal, Run } from '../journal.ts';

export type Bounds = {
  limits: Record<string, number>;
  caps: Record<string, number>;
  rates: Record<string, { burst: number; each: number }>;
};

/** Milliseconds of tolerance for rounding. That suffices, because all processes and the database share one clock. */
export const slack = 5;

export type Delivery = { claim: Claim; run: Run };

/** Every delivery of a task to a worker, in order. */
export function deliveriesByTask(journal: Journal): Map<string, Delivery[]> {
  const deliveries = new Map<string, Delivery[]>();
  for (const claim of journal.claims.toSorted((a, b) => a.sent - b.sent)) {
    for (const run of claim.runs) {
      const list = deliveries.get(run.id) ?? [];
      list.push({ claim, run });
      deliveries.set(run.id, list);
    }
  }
  return deliveries;
}

/** The time at which the first end of each run of a lease was sent. From then on the run may have ended. */
export function endsSent(journal: Journal): Map<string, number> {
  const first = new Map<string, number>();
  for (const { lease, sent, runs } of journal.ends) {
    for (const { run } of runs) {
      const key = `${lease} ${run}`;
      first.set(key, Math.min(sent, first.get(key) ?? sent));
    }
  }
  return first;
}
