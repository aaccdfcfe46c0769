import type { SavedStep } from '../../../client/types.ts';
import type { Claim, Run } from '../journal.ts';

/** A lease in the answer of a claim. */
export type Lease = { queue: string; lease: string | null; leased_until: string; tasks: Task[] };
type Task = {
  id: string;
  run_id: string;
  attempt: number;
  payload: unknown;
  /** Over HTTP, of a task that slept or waited. */
  steps?: SavedStep[] | null;
};

/** The leases and runs of an answer, to compare it with its repetition. */
export const named = (leases: Lease[]) =>
  leases
    .flatMap(({ lease, tasks }) => (lease ? tasks.map((task) => `${lease} ${task.run_id}`) : []))
    .sort()
    .join();

/** The number in a payload, also inside included results and spawned tasks. */
function payloadNumber(payload: unknown): { n: number; v: number; wrapped: boolean } {
  const { n, v, payload: inner } = (payload ?? {}) as Record<string, unknown>;
  if (n === undefined && inner) return { ...payloadNumber(inner), wrapped: true };
  return { n: Number(n ?? 0), v: Number(v ?? 0), wrapped: false };
}

/** What a claim has delivered, the tasks among it that have waited for spawned ones, and saved steps by task. */
export function taken(
  { lease, queue, leased_until, tasks }: Lease,
  sent: number,
  answered: number,
) {
  const waited = new Set<string>();
  const saved = new Map(tasks.flatMap(({ id, steps }) => (steps ? [[id, steps] as const] : [])));
  const runs = tasks.map(({ id, run_id: run, attempt, payload }): Run => {
    const { n, v: version, wrapped } = payloadNumber(payload);
    if (wrapped) waited.add(id);
    return { id, run, attempt, n, version };
  });
  const until = new Date(leased_until).getTime();
  const claim: Claim = { sent, answered, queue, lease: lease ?? '', until, runs };
  return { claim, waited, saved };
}
