import { pause } from '../../client/pause.ts';
import type { ClaimAnswer } from '../../client/types.ts';
import type { HeldTask } from '../../client/worker/held.ts';
import type { Source } from '../../client/worker/work.ts';
import type { Query } from '../database/types.ts';
import type { SerialConnection } from './serial_connection.ts';

/** Of the statements that a request may send, those kept to tell what became of its tasks, beside one for each lease. */
const KEPT_STATEMENTS = 15;
/** Then ends that come so soon one after another are told together. */
const TOGETHER_MS = 300;
/** With so few statements left for each lease, its ends wait this long for each other, while there is time. */
const LAST_STATEMENTS = 3;
const LAST_MS = 1000;

type Run = NonNullable<Source['run']>;

/** All that are left, unless they are named. */
const countOf = (named: unknown) =>
  Array.isArray(named) ? named.length : Number.POSITIVE_INFINITY;

/**
 * Counts the leases that a drain has in hand, and stops it while it has statements to tell of all of them. `left` is
 * in seconds, until the drain stops by itself.
 */
export function budget(way: SerialConnection, stop: () => void, left: () => number) {
  const leases = new Map<string, number>();
  const isShort = () => way.left() <= KEPT_STATEMENTS + leases.size;

  function gone(lease: string, count: number): void {
    const left = (leases.get(lease) ?? 0) - count;
    if (left > 0) leases.set(lease, left);
    else leases.delete(lease);
  }

  async function telling<A>(lease: string, count: number, tell: () => Promise<A>): Promise<A> {
    const others = (leases.get(lease) ?? 0) > count;
    const last = others && left() > 0 && way.left() <= LAST_STATEMENTS * leases.size;
    if (isShort()) await pause(last ? LAST_MS : TOGETHER_MS);
    try {
      return await tell();
    } finally {
      gone(lease, count);
    }
  }

  const query: Query = (text, values) => {
    if (isShort()) stop();
    return way.query(text, values);
  };

  const run =
    (runs: Run): Run =>
    async (held: HeldTask, ...rest) => {
      const end = await runs(held, ...rest);
      if (end.kind === 'told') gone(held.lease, 1);
      return end;
    };

  const of = (source: Source): Source => ({
    ...source,
    complete: (lease, results) =>
      telling(lease, countOf(results), () => source.complete(lease, results)),
    fail: (lease, failures) =>
      telling(lease, countOf(failures), () => source.fail(lease, failures)),
    release: (lease, ids) => telling(lease, countOf(ids), () => source.release(lease, ids)),
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
