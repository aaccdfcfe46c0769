import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  numberedTasks,
  type Run,
  rows,
  value,
} from '../../verbs.ts';
import {
  claimRuns,
  createSegments,
  enqueueAndComplete,
  moveNearSegmentEnd,
} from '../segment/segments.ts';
import { begin, blocked, invariantsAfterEach } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

const payloads = (runs: Run[]) => runs.map((run) => run.payload);

// The claim waits between its reads of two segments. A run may be committed to the earlier segment meanwhile. A
// claim that then moved its cursor into the later segment would skip that run.
test('a claim that reads a later segment sees runs that were added to its own segment meanwhile', async () => {
  await enqueueAndComplete(client, 'q', 1);
  const writer = await begin();
  await enqueue(writer, 'q', numberedTasks(4));
  await moveNearSegmentEnd(client, 0);
  await enqueue(writer, 'q', numberedTasks(5, 4));
  await createSegments(client);
  const holder = await begin();
  await holder.query('lock table tock.runs_4 in access exclusive mode');
  const claimed = await blocked(await db.connect(), (on) => claim(on, 'q', { limit: 9 }));
  await writer.query('commit');
  await holder.query('commit');
  const seen = payloads(await claimed());
  seen.push(...payloads((await drain(client, 'q')).flat()));
  expect(seen).toEqual(numberedTasks(9).map((task) => task.payload));
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
  const [stream] = await rows(client, 'select number, start_after from tock.streams');
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
});

test("deactivation goes by the segment that a stream's writer left, not the one that it entered", async () => {
  await enqueueAndComplete(client, 'q', 2);
  const writer = await begin();
  await enqueue(writer, 'other', numberedTasks(1));
  await waitForEver();
  const rested = await blocked(await db.connect(), (on) =>
    on.query('select tock.deactivate_streams()'),
  );
  await moveNearSegmentEnd(client, 0);
  await enqueue(writer, 'q', numberedTasks(3));
  await writer.query('commit');
  await rested();
  expect(payloads((await drain(client, 'q')).flat())).toEqual([0, 1, 2]);
});
