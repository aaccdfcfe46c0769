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

/** Overdue leases lead, then those that have been open for longest: a worker that extends its lease has a late deadline. */
const longestFirst = (a: Lease, b: Lease) =>
  Number(b.late) - Number(a.late) || Date.parse(a.claimed_at) - Date.parse(b.claimed_at);

/** The open leases, longest first. `more` says that only those with the earliest deadlines were read. */
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
    return { leases: leases.sort(longestFirst), more: cursor !== null };
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

/** The earliest and the latest of some instants. */
function bounds(instants: readonly string[]): [earliest: string, latest: string] {
  const sorted = instants.toSorted((a, b) => Date.parse(a) - Date.parse(b));
  return [sorted[0] ?? '', sorted.at(-1) ?? ''];
}

function entryOf(worker: string | null, leases: readonly Lease[]): WorkerEntry {
  const [first_claim_at, last_claim_at] = bounds(leases.map(({ claimed_at }) => claimed_at));
  const [next_deadline_at] = bounds(leases.map(({ leased_until }) => leased_until));
  return {
    worker,
    queues: [...new Set(leases.map(({ queue }) => queue))],
    leases: leases.length,
    overdue: leases.filter(({ late }) => late).length,
    unfinished: leases.reduce((sum, lease) => sum + lease.unfinished, 0),
    tasks: leases.flatMap(({ tasks }) => tasks),
    first_claim_at,
    last_claim_at,
    next_deadline_at,
  };
}

/** One entry for each worker, in the order of the leases. */
export function groupByWorker(leases: readonly Lease[]): WorkerEntry[] {
  const groups = new Map<string | null, Lease[]>();
  for (const lease of leases) {
    const group = groups.get(lease.worker);
    if (group) group.push(lease);
    else groups.set(lease.worker, [lease]);
  }
  return [...groups].map(([worker, group]) => entryOf(worker, group));
}
