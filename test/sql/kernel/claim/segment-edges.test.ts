import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  numberedTasks,
  pidOf,
  type Run,
  rows,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';
import {
  claimRuns,
  createSegments,
  enqueueAndComplete,
  moveNearSegmentEnd,
} from '../segment/segments.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

const payloads = (runs: Run[]) => runs.map((run) => run.payload);

// The claim waits between its reads of two segments. A run may be committed to the earlier segment meanwhile. A
// claim that then moved its cursor into the later segment would skip that run.
test('a claim that reads a later segment sees runs that were added to its own segment meanwhile', async () => {
  await enqueueAndComplete(client, 'q', 1);
  const writer = await db.connect();
  await writer.query('begin');
  await enqueue(writer, 'q', numberedTasks(4));
  await moveNearSegmentEnd(client, 0);
  await enqueue(writer, 'q', numberedTasks(5, 4));
  await createSegments(client);
  const holder = await db.connect();
  await holder.query('begin');
  await holder.query('lock table tock.runs_4 in access exclusive mode');
  const worker = await db.connect();
  const pid = await pidOf(worker);
  const claimed = claim(worker, 'q', { limit: 9 });
  await waitUntilBlocked(client, pid);
  await writer.query('commit');
  await holder.query('commit');
  const seen = payloads(await claimed);
  seen.push(...payloads((await drain(client, 'q')).flat()));
  expect(seen).toEqual(numberedTasks(9).map((task) => task.payload));
  await expectInvariants(client);
});

/** Replaces wait_for_lock() so that waits for streams and slots never time out. */
const waitForEver = () =>
  client.query(`create or replace function tock.wait_for_lock(p_key integer) returns boolean
    language plpgsql as $$
    begin
      perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), p_key);
      return true;
    end $$`);

test('a cursor that was read before its stream was deactivated and reactivated leases nothing', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  const [stream] = await rows(
    client,
    'select number, start_after from tock.streams where queue = $1',
    ['q'],
  );
  await complete(client, (await claimRuns(client, 'q')).lease);
  await client.query('select tock.deactivate_streams()');
  expect(await value(client, 'select count(*)::int from tock.streams where awake')).toBe(0);
  await enqueue(client, 'q', numberedTasks(1, 99));
  const range = {
    segment: 1,
    stream: stream?.number,
    after_position: stream?.start_after,
    token: randomUUID(),
    leased_until: '2100-01-01T00:00:00Z',
    most: 9,
    bytes: 4_194_304,
    one: true,
  };
  const leased = await rows(
    client,
    'select * from tock.lease_range_current(jsonb_populate_record(null::tock.claim_range, $1))',
    [range],
  );
  expect(leased).toEqual([]);
  expect(payloads((await drain(client, 'q')).flat())).toEqual([99]);
  await expectInvariants(client);
});

test("deactivation goes by the segment that a stream's writer left, not the one that it entered", async () => {
  await enqueueAndComplete(client, 'q', 2);
  const writer = await db.connect();
  await writer.query('begin');
  await enqueue(writer, 'other', numberedTasks(1));
  await waitForEver();
  const sleeper = await db.connect();
  const pid = await pidOf(sleeper);
  const rested = sleeper.query('select tock.deactivate_streams()');
  await waitUntilBlocked(client, pid);
  await moveNearSegmentEnd(client, 0);
  await enqueue(writer, 'q', numberedTasks(3));
  await writer.query('commit');
  await rested;
  expect(payloads((await drain(client, 'q')).flat())).toEqual([0, 1, 2]);
  await expectInvariants(client);
});
