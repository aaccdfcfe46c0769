import { expect, test } from 'vitest';
import { brokenSentences, expectInvariants } from '../../invariants.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  rows,
  task,
  value,
} from '../../verbs.ts';
import {
  ageClosedSegments,
  claimRuns,
  closedSegmentNumbers,
  closeSegments,
  dropExpiredSegments,
  endSegment,
  enqueueAndComplete,
  segmentNumbers,
  startNextSegment,
} from '../segment/segments.ts';

databasePerTest();

/** A new position without a run. */
const drawn = () => value<string>(client, "select nextval('tock.positions')");

/** Inserts a run as enqueue() would, at a position that a claim has already passed. */
function plant(position: string, begun = 'now()'): Promise<string> {
  return value(
    client,
    `insert into tock.runs (stream, position, bytes, payload, created_at)
     select number, $1, 0, '"missed"', ${begun} from tock.streams where queue = 'q'
     returning position << 20 | stream`,
    [position],
  );
}

async function expectReports(...expected: object[]): Promise<void> {
  const kind = "select detail from tock.reports where kind = 'verify_segments' order by number";
  const reports = (await rows(client, kind)).map((report) => report.detail);
  expect(reports).toMatchObject(expected);
}

/** Ends and verifies the segment in use, and expects these reports. */
async function endAndVerify(...reports: object[]): Promise<void> {
  await endSegment(client, '0');
  expect(await closedSegmentNumbers(client)).toContain(1);
  await expectReports(...reports);
}

async function expectVerified(...queues: string[]): Promise<void> {
  const verified = 'select verified_at, queues from tock.segments where number = 1';
  expect(await rows(client, verified)).toEqual([{ verified_at: expect.any(Date), queues }]);
}

const payloads = async (queue = 'q') =>
  (await drain(client, queue)).flat().map((run) => run.payload);

test('a segment whose runs were all leased is verified without a report', async () => {
  await enqueue(client, 'q', numberedTasks(5));
  const [gone] = await enqueue(client, 'q', numberedTasks(1, 5));
  await enqueue(client, 'q', numberedTasks(4, 6));
  await client.query('select * from tock.cancel(array[$1]::bigint[])', [gone]);
  const { lease, ids } = await claimRuns(client, 'q', 3);
  await complete(client, lease, [{ id: ids[0] }]);
  await fail(client, lease, [{ id: ids[1] }, { id: ids[2], fatal: true }]);
  for (const runs of await drain(client, 'q', { limit: 4 })) await complete(client, leaseOf(runs));
  await endAndVerify();
  await expectVerified('q');
  expect(await value(client, 'select tock.verify_segments()')).toBe(0);
  await expectInvariants(client);
});

test('a run that appeared within a leased range is started once, and reported', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  const between = await drawn();
  await enqueue(client, 'q', numberedTasks(1, 1));
  await complete(client, (await claimRuns(client, 'q', 2)).lease);
  const id = await plant(between);
  expect(await claim(client, 'q')).toEqual([]);
  await endAndVerify({ segment: 1, queue: 'q', runs: 3, leased: 2, requeued: 1, in_leases: 1 });
  const { runs, lease } = await claimRuns(client, 'q', 9);
  expect(runs.map((run) => [run.id, run.payload, run.attempt])).toEqual([[id, 'missed', 1]]);
  await complete(client, lease);
  expect(await task(client, id)).toMatchObject({ state: 'done', runs: [{ state: 'lost' }, {}] });
  expect(await value(client, 'select tock.verify_segments()')).toBe(0);
  expect(await payloads()).toEqual([]);
});

test('a run in the range of an idle stream is started once, and reported', async () => {
  await enqueueAndComplete(client, 'q', 2);
  await client.query('select tock.deactivate_streams()');
  const asleep = await drawn();
  await enqueueAndComplete(client, 'q', 2);
  const id = await plant(asleep);
  await endAndVerify({ runs: 5, leased: 4, requeued: 1, in_leases: 0 });
  expect(await payloads()).toEqual(['missed']);
  expect((await task(client, id))?.state).toBe('running');
});

test('all runs of a deleted lease are started, except those that ended by themselves', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  const { lease } = await claimRuns(client, 'q', 3);
  await complete(client, lease, [{ id: ids[1], result: 1 }]);
  await complete(client, lease);
  await enqueueAndComplete(client, 'q', 2);
  await client.query('delete from tock.leases where token = $1', [lease]);
  await endAndVerify({ runs: 5, leased: 2, requeued: 2, in_leases: 0 });
  expect(await payloads()).toEqual([0, 2]);
  expect((await task(client, ids[1] as string))?.state).toBe('done');
});

test('all runs of a lease start again when the missed one is not known', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const between = await drawn();
  await enqueue(client, 'q', numberedTasks(1, 2));
  await complete(client, (await claimRuns(client, 'q', 3)).lease);
  await enqueueAndComplete(client, 'q', 2);
  await plant(between, "now() - interval '1 hour'");
  await endAndVerify({ runs: 6, leased: 5, requeued: 4, in_leases: 4 });
  expect(await payloads()).toEqual([0, 1, 'missed', 2]);
  expect((await task(client, ids[0] as string))?.runs).toHaveLength(2);
});

test('a cancelled run that verification finds is not started', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  const between = await drawn();
  await enqueue(client, 'q', numberedTasks(1, 1));
  await complete(client, (await claimRuns(client, 'q', 2)).lease);
  const id = await plant(between);
  await client.query(
    `insert into tock.run_overrides (stream, position, kind)
     select number, $1, 'cancelled' from tock.streams where queue = 'q'`,
    [between],
  );
  await endAndVerify({ queue: 'q' });
  expect(await payloads()).toEqual([]);
  expect((await task(client, id))?.state).toBe('cancelled');
});

test('a changed run that verification finds starts once, as changed', async () => {
  await enqueueAndComplete(client, 'q', 2);
  await client.query('select tock.deactivate_streams()');
  const asleep = await drawn();
  await enqueueAndComplete(client, 'q', 2);
  const id = await plant(asleep);
  await client.query(
    `insert into tock.run_overrides (stream, position, kind, other_id)
    select number, $1, 'superseded', nextval('tock.positions') << 20 | number
    from tock.streams where queue = 'q'`,
    [asleep],
  );
  await client.query(
    `insert into tock.runs (stream, position, task_id, bytes, payload)
    select stream, other_id >> 20, $1, 0, '"changed"' from tock.run_overrides`,
    [id],
  );
  await complete(client, (await claimRuns(client, 'q')).lease);
  await endAndVerify({ runs: 6, leased: 5, requeued: 0 });
  expect(await payloads()).toEqual([]);
});

test('a lease that counts more runs than it held is reported', async () => {
  await enqueueAndComplete(client, 'q', 3);
  await client.query('update tock.leases set runs = runs + 1');
  await endAndVerify({ runs: 3, leased: 4, requeued: 0 });
  expect(await payloads()).toEqual([]);
  expect(Object.keys(await brokenSentences(client))).toEqual([
    'a lease holds another number of runs than its range',
  ]);
});

test('verification in parts resumes where it stopped, also after a rollback', async () => {
  for (const queue of ['a', 'q', 'z']) await enqueueAndComplete(client, queue, 7);
  const between = await drawn();
  await enqueueAndComplete(client, 'q', 1);
  await enqueueAndComplete(client, 'z', 9);
  await plant(between);
  await startNextSegment(client);
  await closeSegments(client);
  let calls = 0;
  let looked = 0;
  for (;;) {
    await client.query('begin');
    await client.query('select tock.verify_segments(4)');
    await client.query('rollback');
    const step = await value<number>(client, 'select tock.verify_segments(4)');
    if (step === 0) break;
    calls++;
    looked += step;
    expect(step).toBeLessThan(8);
    const verified = 'select verified_at from tock.segments where number = 1';
    if (calls < 8) expect(await value(client, verified)).toBeNull();
  }
  expect(looked).toBeGreaterThanOrEqual(32);
  await expectReports({ queue: 'q', runs: 9, leased: 8, requeued: 1 });
  await expectVerified('a', 'q', 'z');
  expect(await payloads()).toEqual(['missed']);
});

test('a segment is not dropped before it is verified', async () => {
  await enqueueAndComplete(client, 'q', 9);
  await startNextSegment(client);
  await closeSegments(client);
  await ageClosedSegments(client, '1 year');
  await client.query('select tock.verify_segments(4)');
  expect(await value(client, 'select tock.drop_expired_segments()')).toBe(0);
  expect(await segmentNumbers(client)).toContain(1);
  await dropExpiredSegments(client);
  expect(await segmentNumbers(client)).not.toContain(1);
});
