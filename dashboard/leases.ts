import { call } from './api.ts';
import { type Polled, usePolledAnswer } from './polling.ts';
import type { Lease } from './types.ts';

/** Maximum number of open leases that the page reads and groups. */
export const MOST_LEASES = 2000;
const PAGE = 1000;
/** A page may be empty and still have a cursor. */
const MOST_CALLS = 20;

export type LeaseFilter = { queue?: string | undefined; worker?: string | undefined };
export type OpenLeases = { leases: Lease[]; more: boolean };

/** The open leases, earliest deadline first. `more` says that not all were read. */
export function useOpenLeases(filter: LeaseFilter): Polled<OpenLeases> {
  const load = async (key: string, signal: AbortSignal) => {
    const leases: Lease[] = [];
    let cursor: string | null = null;
    for (let n = 0; n < MOST_CALLS && leases.length < MOST_LEASES; n++) {
      const query = { ...filter, cursor, limit: Math.min(PAGE, MOST_LEASES - leases.length) };
      const page: OpenLeases & { cursor: string | null } = {
        more: false,
        ...(await call(key, 'GET /v1/leases', { query }, { signal })),
      };
      leases.push(...page.leases);
      cursor = page.cursor;
      if (cursor === null) break;
    }
    return { leases, more: cursor !== null };
  };
  return usePolledAnswer(JSON.stringify(filter), load, 5000);
}

/** A worker as its open leases show it. */
export type WorkerEntry = {
  worker: string | null;
  queues: string[];
  leases: number;
  overdue: number;
  /** Its unfinished runs, and some of their tasks. */
  unfinished: number;
  tasks: string[];
  /** Its earliest and its latest claim of an open lease. */
  first_claim_at: string;
  last_claim_at: string;
  next_deadline_at: string;
};

const earlier = (a: string, b: string) => (Date.parse(a) <= Date.parse(b) ? a : b);
const later = (a: string, b: string) => (Date.parse(a) >= Date.parse(b) ? a : b);

/** One entry for each worker. Those with overdue leases come first, then those with the earliest deadline. */
export function groupByWorker(leases: readonly Lease[]): WorkerEntry[] {
  const entries = new Map<string | null, WorkerEntry>();
  for (const { worker, queue, claimed_at, leased_until, late, unfinished, tasks } of leases) {
    const entry = entries.get(worker) ?? {
      worker,
      queues: [],
      leases: 0,
      overdue: 0,
      unfinished: 0,
      tasks: [],
      first_claim_at: claimed_at,
      last_claim_at: claimed_at,
      next_deadline_at: leased_until,
    };
    entries.set(worker, {
      worker,
      queues: [...new Set([...entry.queues, queue])],
      leases: entry.leases + 1,
      overdue: entry.overdue + (late ? 1 : 0),
      unfinished: entry.unfinished + unfinished,
      tasks: [...entry.tasks, ...tasks],
      first_claim_at: earlier(entry.first_claim_at, claimed_at),
      last_claim_at: later(entry.last_claim_at, claimed_at),
      next_deadline_at: earlier(entry.next_deadline_at, leased_until),
    });
  }
  return [...entries.values()].sort(
    (a, b) =>
      Number(b.overdue > 0) - Number(a.overdue > 0) ||
      Date.parse(a.next_deadline_at) - Date.parse(b.next_deadline_at),
  );
}
