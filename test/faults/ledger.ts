import type pg from 'pg';
import { expect } from 'vitest';
import { brokenSentences } from '../sql/invariants.ts';
import { claim, complete, leaseOf, makeDue, promote, rows, task, value } from '../sql/verbs.ts';

/** What the database acknowledged to clients. */
export type Ledger = {
  /** The number in the payload of each acknowledged task. */
  accepted: Map<string, number>;
  /** The tasks whose completion was acknowledged. */
  completed: Set<string>;
  /** The leases of workers that have not ended them, with their tasks. */
  held: Map<string, string[]>;
  /** The highest position that a client may have received. */
  newest: number;
  /** How often each SQLSTATE occurred. */
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

/** A copy of what was acknowledged up to now. */
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

/**
 * The numbers in the payloads of those tasks that exist. It reads the tables, because task() is slow for
 * thousands.
 */
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

/** About twenty items, spread evenly. */
function some<T>(all: T[]): T[] {
  const step = Math.ceil(all.length / 20);
  return all.filter((_, n) => n % step === 0);
}

/** Checks that no id of the ledger names another task. Returns the ids that exist. */
export async function expectOwnIds(client: pg.Client, ledger: Ledger): Promise<Set<string>> {
  const stored = await numbersOf(client, ledger.accepted.keys());
  const strangers = stored.filter(({ id, n }) => ledger.accepted.get(id) !== n);
  expect(strangers.slice(0, 3)).toEqual([]);
  const known = new Set(stored.map(({ id }) => id));
  const lost = [...ledger.accepted.keys()].filter((id) => !known.has(id));
  for (const id of some(lost)) expect(await task(client, id)).toBeUndefined();
  return known;
}

/** The newest stored position, whatever the sequence says. */
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

/** Expects no row between two positions, because ids of that range were given out before. */
export async function expectNothingBetween(client: pg.Client, above: number, upTo: number) {
  const between = await rows(
    client,
    `select 'run' as what, position from tock.runs where position > $1 and position <= $2
     union all select 'waiting', position from tock.waiting where position > $1 and position <= $2
     union all select 'promoted', position from tock.promotions where position > $1 and position <= $2
     union all select 'next run', next_id >> 20 from tock.results
       where next_id >> 20 > $1 and next_id >> 20 <= $2 limit 3`,
    [above, upTo],
  );
  expect(between).toEqual([]);
}

/** Reaps all leases, makes all waiting tasks due and completes everything. Returns the completed ids. */
export async function finishAll(client: pg.Client, queue: string): Promise<string[]> {
  const done: string[] = [];
  for (let round = 0; round < 100; round++) {
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    // The changed deadlines lie below the deadline up to which reaping has read, so it must sweep.
    while ((await value<number>(client, 'select tock.reap(p_sweep => true)')) > 0);
    await makeDue(client, queue);
    while ((await promote(client)) > 0);
    const runs = await claim(client, queue, { limit: 1000 });
    if (runs.length === 0) return done;
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: runs.length });
    done.push(...runs.map((run) => run.id));
  }
  throw new Error('Tasks were left after 100 rounds.');
}

/** Expects each of the tasks to exist and to be done, after finishAll(). */
export async function expectDone(
  client: pg.Client,
  ids: Iterable<string>,
  knownBroken: string[] = [],
): Promise<void> {
  const all = [...ids];
  expect(await numbersOf(client, all)).toHaveLength(all.length);
  // brokenSentences() shows that each task has ended once, and no task is open. So each is done if none is dead.
  const broken = Object.keys(await brokenSentences(client));
  expect(broken.filter((sentence) => !knownBroken.includes(sentence))).toEqual([]);
  const dead =
    "select count(*)::integer from tock.results where state <> 'done' and next_id is null";
  expect(await value(client, dead)).toBe(0);
  for (const id of some(all)) expect(await task(client, id)).toMatchObject({ state: 'done' });
}
