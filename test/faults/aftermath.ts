import type pg from 'pg';
import { expect } from 'vitest';
import { expectInvariants } from '../sql/invariants.ts';
import { complete, rows, value, waitUntil } from '../sql/verbs.ts';
import {
  expectDone,
  expectNothingBetween,
  expectOwnIds,
  finishAll,
  type Ledger,
  newestStored,
  openLedger,
} from './ledger.ts';
import { startLoad } from './load.ts';

export async function reachedPosition(client: pg.Client): Promise<number> {
  return Number(await value(client, 'select last_value from tock.positions'));
}

/** The guard's findings so far, without that of the first server. */
export async function guardFindings(client: pg.Client): Promise<string[]> {
  const findings = await rows<{ found: string }>(
    client,
    `select detail ->> 'found' as found from tock.reports
     where kind = 'guard' and detail ->> 'found' <> 'new' order by reported_at`,
  );
  return findings.map((row) => row.found);
}

/** Waits until the load has completed so many more tasks. */
export async function completeMore(ledger: Ledger, count: number): Promise<void> {
  const goal = ledger.completed.size + count;
  await waitUntil(`${count} more tasks are completed`, async () => ledger.completed.size >= goal);
}

/**
 * Checks a database that continues from an earlier state of another: under load from its first moment, and until
 * every task has ended. `ledger` has all that the other acknowledged, and `kept` the part that must still exist.
 * `storedBefore` is the newest position of the earlier state, if something has been written since. Returns what
 * was acknowledged since.
 */
export async function expectGoesOn(
  connect: () => Promise<pg.Client>,
  ledger: Ledger,
  kept: Ledger,
  storedBefore?: number,
): Promise<Ledger> {
  const client = await connect();
  const stored = storedBefore ?? (await newestStored(client));
  const since = openLedger();
  const load = startLoad(since, connect);
  await completeMore(since, 150);
  await load.stop();
  // A call gets TK503 while another call checks the sequence.
  expect([...since.refused.keys()].filter((code) => code !== 'TK503')).toEqual([]);
  await expectInvariants(client);

  const known = await expectOwnIds(client, ledger);
  expect([...kept.accepted.keys()].filter((id) => !known.has(id))).toEqual([]);
  await expectNothingBetween(client, stored, ledger.newest);
  expect(await reachedPosition(client)).toBeGreaterThan(stored + 2 ** 20);

  // A worker from before can complete a lease that was kept. The other leases are reaped.
  const [held] = kept.held;
  if (held) expect(await complete(client, held[0])).toMatchObject({ completed: held[1].length });
  const again = await finishAll(client, 'load');
  const twice = new Set([...kept.completed, ...since.completed, ...(held?.[1] ?? [])]);
  expect(again.filter((id) => twice.has(id))).toEqual([]);
  await expectDone(client, [...known, ...since.accepted.keys()]);
  return since;
}
