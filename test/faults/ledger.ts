import type pg from 'pg';
import { expect } from 'vitest';
import { brokenSentences } from '../sql/invariants.ts';
import { claim, complete, leaseOf, makeDue, promote, rows, task, value } from '../sql/verbs.ts';

/** What clients were told, whatever the database says later. */
export type Ledger = {
  /** The number that each acknowledged task carries. */
  accepted: Map<string, number>;
  /** Tasks whose completion was acknowledged. */
  completed: Set<string>;
  /** Leases that somebody still works on, with their tasks. */
  held: Map<string, string[]>;
  /** The highest position that anybody may have been told. */
  newest: number;
  /** How often each SQLSTATE was met. */
  refused: Map<string, number>;
};

export function openLedger(): Ledger {
  return {
    accepted: new Map(),
    completed: new Set(),
    held: new Map(),
    newest: 0,
    refused: new Map(),
  };
}

/** As it was at this moment: what was acknowledged by now. */
export function copyLedger(ledger: Ledger): Ledger {
  const { accepted, completed, held, refused } = ledger;
  return {
    accepted: new Map(accepted),
    completed: new Set(completed),
    held: new Map(held),
    newest: ledger.newest,
    refused: new Map(refused),
  };
}

export const positionOf = (id: string) => Number(BigInt(id) >> 20n);

/** What the tasks carry that are there; read from the tables, as task() by the thousand takes long. */
async function numbersOf(client: pg.Client, ids: Iterable<string>) {
  return rows<{ id: string; n: number }>(
    client,
    `select i.id::text, (coalesce(f.payload, r.payload, w.payload) ->> 'n')::integer as n
     from unnest($1::bigint[]) i(id)
     left join tock.runs f on f.stream = (i.id & 1048575)::integer and f.position = i.id >> 20
     left join tock.promotions p on p.position = i.id >> 20 and i.id & 1048575 = 0
     left join tock.runs r on r.stream = (p.run_id & 1048575)::integer and r.position = p.run_id >> 20
     left join tock.waiting w on w.position = i.id >> 20 and i.id & 1048575 = 0
     where f.position is not null or p.position is not null or w.position is not null`,
    [[...ids]],
  );
}

/** A few of many, from all over. */
function some<T>(all: T[]): T[] {
  const step = Math.ceil(all.length / 20);
  return all.filter((_, n) => n % step === 0);
}

/** No id of the ledger, lost or kept, means somebody else's task. Returns those that are kept. */
export async function expectOwnIds(client: pg.Client, ledger: Ledger): Promise<Set<string>> {
  const found = await numbersOf(client, ledger.accepted.keys());
  const strangers = found.filter(({ id, n }) => ledger.accepted.get(id) !== n);
  expect(strangers.slice(0, 3)).toEqual([]);
  const known = new Set(found.map(({ id }) => id));
  const lost = [...ledger.accepted.keys()].filter((id) => !known.has(id));
  for (const id of some(lost)) expect(await task(client, id)).toBeUndefined();
  return known;
}

/** The newest position that anything stored has, whatever the sequence says. */
export async function newestStored(client: pg.Client): Promise<number> {
  const stored = await value<string>(
    client,
    `select greatest(
       (select max(position) from tock.runs), (select max(position) from tock.waiting),
       (select max(position) from tock.promotions), (select max(next_id >> 20) from tock.results),
       (select max(last_position) from tock.leases), (select max(start_after) from tock.streams))`,
  );
  return Number(stored);
}

/** Nothing was stored above one position and up to another: ids of there were given out before. */
export async function expectNothingBetween(client: pg.Client, above: number, upTo: number) {
  const found = await rows(
    client,
    `select 'run' as what, position from tock.runs where position > $1 and position <= $2
     union all select 'waiting', position from tock.waiting where position > $1 and position <= $2
     union all select 'promoted', position from tock.promotions where position > $1 and position <= $2
     union all select 'next run', next_id >> 20 from tock.results
       where next_id >> 20 > $1 and next_id >> 20 <= $2 limit 3`,
    [above, upTo],
  );
  expect(found).toEqual([]);
}

/** Takes back what is leased, makes due what waits and completes everything there is. */
export async function finishAll(client: pg.Client, queue: string): Promise<string[]> {
  const done: string[] = [];
  for (let round = 0; round < 100; round++) {
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    // What was dated back lies below the deadline that reaping has come to.
    while ((await value<number>(client, 'select tock.reap(p_sweep => true)')) > 0);
    await makeDue(client, queue);
    while ((await promote(client)) > 0);
    const runs = await claim(client, queue, { limit: 1000 });
    if (runs.length === 0) return done;
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: runs.length });
    done.push(...runs.map((run) => run.id));
  }
  throw new Error('There is no end of tasks.');
}

/** After finish(): each of the tasks, kept as they were acknowledged, has come to its end. */
export async function expectDone(
  client: pg.Client,
  ids: Iterable<string>,
  knownBroken: string[] = [],
): Promise<void> {
  const all = [...ids];
  expect(await numbersOf(client, all)).toHaveLength(all.length);
  // With nothing left that goes on, each has ended once (brokenSentences); that is as done, unless it died.
  const broken = Object.keys(await brokenSentences(client));
  expect(broken.filter((sentence) => !knownBroken.includes(sentence))).toEqual([]);
  const dead =
    "select count(*)::integer from tock.results where state <> 'done' and next_id is null";
  expect(await value(client, dead)).toBe(0);
  for (const id of some(all)) expect(await task(client, id)).toMatchObject({ state: 'done' });
}
