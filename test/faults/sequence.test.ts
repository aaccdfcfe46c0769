import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectInvariants } from '../sql/invariants.ts';
import {
  closeSegments,
  createSegments,
  startNextSegment,
  verifySegments,
} from '../sql/kernel/segment/segments.ts';
import {
  complete,
  drain,
  enqueue,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  rows,
  value,
  waitUntil,
  waitUntilBlocked,
} from '../sql/verbs.ts';
import { completeMore, guardFindings, reachedPosition } from './aftermath.ts';
import {
  expectDone,
  expectOwnIds,
  finishAll,
  newestStored,
  openLedger,
  positionOf,
} from './ledger.ts';
import { startLoad } from './load.ts';
import { positionSources } from './position_sources.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

const setBack = (to: number) => client.query("select setval('tock.positions', $1)", [to]);

/** Creates completed runs and promoted waiting entries in one queue. */
async function history(): Promise<string[]> {
  const ids = await enqueue(client, 'door', numberedTasks(10, 0, { delay_seconds: 60 }));
  await makeDue(client, 'door');
  await promote(client);
  ids.push(...(await enqueue(client, 'door', numberedTasks(10))));
  for (const runs of await drain(client, 'door')) await complete(client, leaseOf(runs));
  return ids;
}

/** The answer of a call, or undefined if it was refused with TK503 and a hint. */
async function tried<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    expect(error).toMatchObject({ code: 'TK503', hint: expect.stringMatching(/./) });
    return undefined;
  }
}

async function doctor(): Promise<string> {
  const findings = await rows<Record<string, string>>(client, 'select * from tock.doctor()');
  return findings.map((row) => Object.values(row).join(' ')).join('\n');
}

/** Every stored position, with its kind. */
const taken = async () =>
  (
    await rows<{ id: string }>(
      client,
      `select 'run ' || position as id from tock.runs
       union all select 'waiting ' || position from tock.waiting
       union all select 'waiting ' || position from tock.promotions`,
    )
  ).map(({ id }) => id);

/** Expects calls to succeed after the guard has run, and all their tasks to end. */
async function expectMended(finding: string | null = 'behind'): Promise<void> {
  const stored = await newestStored(client);
  await client.query("select tock.run_maintenance('guard')");
  if (finding) expect(await guardFindings(client)).toContain(finding);
  expect(await reachedPosition(client)).toBeGreaterThanOrEqual(stored);
  for (const queue of ['door', 'other', 'new']) {
    const ids = await enqueue(client, queue, numberedTasks(3));
    expect(Math.min(...ids.map(positionOf))).toBeGreaterThan(stored);
    await finishAll(client, queue);
    await expectDone(client, ids);
  }
}

test.each(positionSources)(
  'with the sequence set back, $name is refused or comes after a jump',
  async (door) => {
    await history();
    const prepared = (await door.before?.(client)) ?? '';
    const before = new Set(await taken());
    const stored = await newestStored(client);
    await setBack(1);
    const gave = await tried(door.call(client, prepared));
    await expectInvariants(client);
    const now = await taken();
    expect(now).toHaveLength(new Set(now).size);
    // Ids of waiting entries are positions alone, without a stream, so none may be used again.
    const again = now.filter((id) => !before.has(id) && Number(id.split(' ')[1]) <= stored);
    expect(again.filter((id) => id.startsWith('waiting'))).toEqual([]);
    await expectMended();
    if (gave === undefined) await door.call(client, prepared);
    await expectInvariants(client);
  },
);

test('a sequence set back to just below what is stored accepts nothing below a cursor', async () => {
  const other = await db.connect();
  for (let back = 1; back <= 24; back += 4) {
    const ids = await history();
    await setBack((await newestStored(client)) - back);
    for (let n = 0; n < 4; n++) {
      for (const on of [client, other]) {
        ids.push(
          ...((await tried(enqueue(on, 'door', numberedTasks(3, 0, { priority: n })))) ?? []),
        );
      }
    }
    await expectInvariants(client);
    // The first calls may already have moved the sequence above all stored positions.
    await expectMended(null);
    await expectDone(client, ids);
  }
});

test('a sequence behind streams at rest is repaired too', async () => {
  await history();
  await client.query('select tock.deactivate_streams()');
  expect(await value(client, 'select bool_or(awake) from tock.streams')).toBe(false);
  await setBack((await newestStored(client)) - 5);
  await tried(enqueue(client, 'door', numberedTasks(2)));
  await expectInvariants(client);
  await expectMended();
});

test('a sequence set back into a segment that is over accepts nothing there', async () => {
  await history();
  await client.query(
    "select setval('tock.positions', (select end_position from tock.segments where number = 1))",
  );
  await history();
  await client.query('select tock.deactivate_streams()');
  await createSegments(client);
  expect(
    await value(client, 'select closed_at from tock.segments where number = 1'),
  ).not.toBeNull();
  await setBack(5000);
  // The stream of a new queue has no runs whose positions could be compared with the sequence.
  const ids = (await tried(enqueue(client, 'new', numberedTasks(3)))) ?? [];
  const later = numberedTasks(3, 0, { delay_seconds: 3600 });
  ids.push(...((await tried(enqueue(client, 'new', later))) ?? []));
  await expectInvariants(client);
  await expectMended();
  await expectDone(client, ids);
});

test('a sequence that caches positions accepts nothing below a cursor, and is repaired', async () => {
  const ids = await history();
  await client.query('alter sequence tock.positions cache 50');
  expect(await doctor()).toMatch(/cache/);
  const writers = [client, await db.connect(), await db.connect()];
  for (let round = 0; round < 4; round++) {
    for (const on of writers) {
      // One task alone is appended by another statement than three.
      for (const count of [3, 1, 1]) {
        ids.push(...((await tried(enqueue(on, 'door', numberedTasks(count)))) ?? []));
      }
      for (const runs of await drain(on, 'door')) await complete(on, leaseOf(runs));
      await expectInvariants(client);
    }
  }
  await expectMended('cache');
  const cache =
    "select seqcache::integer from pg_sequence where seqrelid = 'tock.positions'::regclass";
  expect(await value(client, cache)).toBe(1);
  for (const on of writers) ids.push(...(await enqueue(on, 'door', numberedTasks(3))));
  await finishAll(client, 'door');
  await expectDone(client, ids);
});

test('a sequence set back and caught up within a call gives no task the id of another', async () => {
  await enqueue(client, 'other', numberedTasks(3));
  const ids = await enqueue(client, 'door', numberedTasks(2, 0, { delay_seconds: 60 }));
  const first = positionOf(ids[0] as string);
  await makeDue(client, 'door');
  await promote(client);
  await finishAll(client, 'door');
  // Another transaction is adding an entry at the second of the two positions, so the call waits for it.
  const holder = await db.connect();
  const writer = await db.connect();
  await holder.query('begin');
  await holder.query(
    `insert into tock.waiting (position, due_at, queue, priority, lane, bytes)
     values ($1, now() + interval '1 hour', 'door', 5, 0, 0)`,
    [first + 1],
  );
  await setBack(first - 1);
  const pid = await pidOf(writer);
  const outcome = tried(enqueue(writer, 'door', numberedTasks(2, 2, { delay_seconds: 60 })));
  await waitUntilBlocked(client, pid);
  await setBack(first + 1000);
  await holder.query('rollback');
  expect(await outcome).toBeUndefined();
  await finishAll(client, 'door');
  await finishAll(client, 'other');
  await expectDone(client, ids);
});

test('doctor() names a sequence that is behind, until it is repaired', async () => {
  await history();
  expect(await doctor()).not.toMatch(/positions/);
  await setBack(1);
  expect(await doctor()).toMatch(/positions/);
  await expectMended();
  expect(await doctor()).not.toMatch(/positions is/);
});

test.each([
  "select setval('tock.positions', 1)",
  'alter sequence tock.positions cache 50',
  "select setval('tock.positions', last_value - 50) from tock.positions",
])('after %s a load loses no task, before and after the guard has run', async (tampering) => {
  const ledger = openLedger();
  await client.query(`select tock.put_queue('load', '{"max_attempts": 1000, "max_lost": 1000}')`);
  const load = () => startLoad(ledger, () => db.connect());
  const first = load();
  await completeMore(ledger, 60);
  await first.stop();
  await client.query(tampering);
  const second = load();
  // A tick of the load may be running the guard already. Then run_maintenance() returns null.
  await waitUntil('the guard has run', async () => {
    return (await value(client, "select tock.run_maintenance('guard')")) !== null;
  });
  await completeMore(ledger, 60);
  await second.stop();
  // A session that reads the sequence while the guard alters it may find the old file gone (XX001). PostgreSQL
  // writes a new file for ALTER SEQUENCE without locking out readers.
  const refusals = ['TK503', 'XX001'];
  expect([...ledger.refused.keys()].filter((code) => !refusals.includes(code))).toEqual([]);
  await finishAll(client, 'load');
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  await finishAll(client, 'load');
  expect((await expectOwnIds(client, ledger)).size).toBe(ledger.accepted.size);
  await expectDone(client, ledger.accepted.keys());
});
