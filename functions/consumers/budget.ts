import { pause } from '../../client/pause.ts';
import type { ClaimAnswer, LeaseEnd } from '../../client/types.ts';
import type { LeasedTask } from '../../client/worker/leased_tasks.ts';
import type { Source } from '../../client/worker/work.ts';
import type { Query } from '../database/types.ts';
import type { SerialConnection } from './serial_connection.ts';

/** Statements of a request reserved for reporting outcomes, in addition to one for each lease. */
const RESERVED_STATEMENTS = 15;
/** With few statements left, outcomes within this time are reported together. */
const BATCH_MS = 300;
/** With only this many statements left for each lease, outcomes wait longer for each other, while there is time. */
const LAST_STATEMENTS = 3;
const LAST_BATCH_MS = 1000;

type Run = NonNullable<Source['run']>;

/** The number of tasks that a report names; without ids it reports all that are left of the lease. */
const countOf = (ids: unknown) => (Array.isArray(ids) ? ids.length : Number.POSITIVE_INFINITY);

const endCount = ({ results, failures }: LeaseEnd) =>
  results || failures ? (results ?? []).length + (failures ?? []).length : Number.POSITIVE_INFINITY;

/**
 * Counts the leases of a drain, and stops it while enough statements are left to report them all. `left` returns the
 * seconds until the drain stops by itself.
 */
export function budget(connection: SerialConnection, stop: () => void, left: () => number) {
  const leases = new Map<string, number>();
  const isShort = () => connection.left() <= RESERVED_STATEMENTS + leases.size;

  function forget(lease: string, count: number): void {
    const remaining = (leases.get(lease) ?? 0) - count;
    if (remaining > 0) leases.set(lease, remaining);
    else leases.delete(lease);
  }

  async function reporting<A>(lease: string, count: number, report: () => Promise<A>): Promise<A> {
    const others = (leases.get(lease) ?? 0) > count;
    const last = others && left() > 0 && connection.left() <= LAST_STATEMENTS * leases.size;
    if (isShort()) await pause(last ? LAST_BATCH_MS : BATCH_MS);
    try {
      return await report();
    } finally {
      forget(lease, count);
    }
  }

  const query: Query = (text, values) => {
    if (isShort()) stop();
    return connection.query(text, values);
  };

  const run =
    (runTask: Run): Run =>
    async (leased: LeasedTask, ...rest) => {
      const outcome = await runTask(leased, ...rest);
      if (outcome.kind === 'reported') forget(leased.lease, 1);
      return outcome;
    };

  const of = (source: Source): Source => ({
    ...source,
    complete: (lease, results) =>
      reporting(lease, countOf(results), () => source.complete(lease, results)),
    fail: (lease, failures) =>
      reporting(lease, countOf(failures), () => source.fail(lease, failures)),
    release: (lease, ids) => reporting(lease, countOf(ids), () => source.release(lease, ids)),
    async claim(queues, options, signal) {
      const answer = await source.claim(queues, options, signal);
      for (const end of answer.ended ? (options?.ends ?? []) : []) forget(end.lease, endCount(end));
      return answer;
    },
  });

  return {
    query,
    isShort,
    of,
    run,
    claimed({ leases: all }: ClaimAnswer): void {
      for (const { lease, tasks } of all) leases.set(lease, tasks.length);
    },
  };
}

export type Budget = ReturnType<typeof budget>;
