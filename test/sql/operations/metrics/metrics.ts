import { expect } from 'vitest';
import { client } from '../../test_database.ts';
import { claim, leaseOf, row, value } from '../../verbs.ts';

const sums = 'enqueued, started, passed, done, failed, lost, dead, cancelled, returned';
const depths = 'ready, running, waiting';

/** Collects one whole round. Each statement reads up to `limit` runs and leases of each stream. */
export async function count(limit = 100_000): Promise<number> {
  let amount = 0;
  for (;;) {
    amount += await value<number>(client, 'select tock.collect_metrics($1, 0)', [limit]);
    const over = await value(client, 'select started_at is null from tock.metrics_progress');
    if (over) return amount;
  }
}

export async function totals() {
  const sql = `select ${sums}, ${depths}, dead_now from tock.totals where queue = 'q'`;
  const all = await row<Record<string, string>>(client, sql);
  return Object.fromEntries(Object.entries(all).map(([name, n]) => [name, Number(n)]));
}

/** The sums over all points of a queue. */
export function byMinute(queue: string) {
  const columns = sums.split(', ').map((name) => `sum(${name})::int as ${name}`);
  const sql = `select ${columns} from tock.queue_metrics where queue = $1`;
  return row<Record<string, number>>(client, sql, [queue]);
}

export async function take(limit: number) {
  const runs = await claim(client, 'q', { limit });
  expect(runs).toHaveLength(limit);
  return { lease: leaseOf(runs), ids: runs.map(({ id }) => id) };
}
