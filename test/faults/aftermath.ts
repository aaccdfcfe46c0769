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

/** What the guard has found so far, but for the server that it first saw. */
export async function guardFindings(client: pg.Client): Promise<string[]> {
  const found = await rows<{ found: string }>(
    client,
    `select detail ->> 'found' as found from tock.reports
     where kind = 'guard' and detail ->> 'found' <> 'new' order by reported_at`,
  );
  return found.map((row) => row.found);
}

/** Load goes on until so many more tasks are completed. */
export async function completeMore(ledger: Ledger, count: number): Promise<void> {
  const goal = ledger.completed.size + count;
  await waitUntil(`${count} more tasks are completed`, async () => ledger.completed.size >= goal);
}

/**
 * What must hold of a database that goes on from an earlier state of another: load from the first
 * moment on, then every task to its end. `told` is all that clients of the other were told, `kept`
 * what must be here of it, `storedBefore` the newest position of that state where something was
 * written since. Returns what clients were told since.
 */
export async function expectGoesOn(
  connect: () => Promise<pg.Client>,
  told: Ledger,
  kept: Ledger,
  storedBefore?: number,
): Promise<Ledger> {
  const client = await connect();
  const stored = storedBefore ?? (await newestStored(client));
  const since = openLedger();
  const load = startLoad(since, connect);
  await completeMore(since, 150);
  await load.stop();
  // A call that comes while another one looks at the sequence is to come again.
  expect([...since.refused.keys()].filter((code) => code !== 'TK503')).toEqual([]);
  await expectInvariants(client);

  const known = await expectOwnIds(client, told);
  expect([...kept.accepted.keys()].filter((id) => !known.has(id))).toEqual([]);
  await expectNothingBetween(client, stored, told.newest);
  expect(await reachedPosition(client)).toBeGreaterThan(stored + 2 ** 20);

  // Who was at work before goes on with a lease that was kept; the others are reaped.
  const [held] = kept.held;
  if (held) expect(await complete(client, held[0])).toMatchObject({ completed: held[1].length });
  const again = await finishAll(client, 'load');
  const twice = new Set([...kept.completed, ...since.completed, ...(held?.[1] ?? [])]);
  expect(again.filter((id) => twice.has(id))).toEqual([]);
  await expectDone(client, [...known, ...since.accepted.keys()]);
  return since;
}
