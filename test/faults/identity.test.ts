import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { createSegments } from '../sql/kernel/segment/segments.ts';
import { enqueue, numberedTasks, value } from '../sql/verbs.ts';
import { guardFindings, reachedPosition } from './aftermath.ts';
import { expectDone, finishAll, newestStored, positionOf } from './ledger.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

/** Records another server as the last one, as an administrator may do after a restore. */
async function sayRestored(): Promise<void> {
  await client.query("select setval('tock.system_identity', 1)");
  await client.query("select tock.run_maintenance('guard')");
}

// A snapshot of a volume that is started unchanged looks like a crash, so the guard cannot see it.
test('an administrator can declare a copy that the guard cannot detect', async () => {
  const ids = await enqueue(client, 'load', numberedTasks(2));
  const stored = await newestStored(client);
  await sayRestored();
  expect(await guardFindings(client)).toEqual(['restored']);
  ids.push(...(await enqueue(client, 'load', numberedTasks(2))));
  expect(positionOf(ids[2] as string)).toBeGreaterThan(stored + 2 ** 20);
  await client.query("select tock.run_maintenance('guard')");
  expect(await guardFindings(client)).toHaveLength(1);
  await finishAll(client, 'load');
  await expectDone(client, ids);
});

test('a jump past the end of the last segment creates a segment for the new position', async () => {
  await client.query(
    "select setval('tock.positions', (select max(end_position) - 100 from tock.segments))",
  );
  await createSegments(client, 'p_width => 5000');
  const ids = await enqueue(client, 'load', numberedTasks(150));
  const before = await reachedPosition(client);
  await sayRestored();
  expect(await reachedPosition(client)).toBeGreaterThan(before + 2 ** 20 - 1);
  const landed = 'select tock.segment_of(last_value + 1) from tock.positions';
  expect(await value(client, landed)).not.toBeNull();
  ids.push(...(await enqueue(client, 'load', numberedTasks(50, 0, { delay_seconds: 60 }))));
  ids.push(...(await enqueue(client, 'load', numberedTasks(150))));
  await finishAll(client, 'load');
  await expectDone(client, ids);
});

test('a job that makes segments right after a restore checks the server first', async () => {
  await enqueue(client, 'load', numberedTasks(2));
  const stored = await newestStored(client);
  // As on another server: current_segment() returns null until it is compiled again.
  await client.query(`select setval('tock.system_identity', 1);
    create or replace function tock.current_segment() returns integer language plpgsql stable
      as 'begin return null; end'`);
  await createSegments(client);
  expect(await value(client, 'select tock.current_segment() is not null')).toBe(true);
  const [id] = await enqueue(client, 'load', numberedTasks(1));
  expect(positionOf(id as string)).toBeGreaterThan(stored + 2 ** 20);
  expect(await guardFindings(client)).toEqual(['restored']);
});
