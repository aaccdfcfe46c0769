import { beforeEach, expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, complete, drain, enqueue, leaseOf, numberedTasks, value } from '../../verbs.ts';
import { begin, invariantsAfterEach } from '../sessions.ts';
import { closeSegments, createSegments, moveNearSegmentEnd, startNextSegment } from './segments.ts';

databasePerTest();
invariantsAfterEach();

beforeEach(async () => {
  await enqueue(client, 'q', numberedTasks(3));
  await work();
  // The newest lease of a stream that is awake would keep the segment open.
  await closeSegments(client);
});

async function work(): Promise<string[]> {
  const claims = await drain(client, 'q');
  for (const runs of claims) await complete(client, leaseOf(runs));
  return claims.flat().map((run) => run.id);
}

const settled = () =>
  value<number>(client, 'select count(*)::int from tock.segments where closed_at is not null');

/** Moves the streams in use on to the new segment. */
async function continueLoad(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await enqueue(client, 'q', numberedTasks(2));
    await work();
  }
  await closeSegments(client);
}

test('a segment is closed once it has ended and every stream has moved on', async () => {
  await closeSegments(client);
  expect(await settled()).toBe(0);
  await startNextSegment(client);
  await continueLoad();
  await closeSegments(client);
  expect(await settled()).toBe(1);
  expect(await enqueue(client, 'q', numberedTasks(2))).toEqual(await work());
});

test('a segment with unclaimed runs is not closed', async () => {
  const ids = await enqueue(client, 'backlog', numberedTasks(10));
  await complete(client, leaseOf(await claim(client, 'backlog', { limit: 3 })));
  await startNextSegment(client);
  await continueLoad();
  expect(await settled()).toBe(0);
  const left = await claim(client, 'backlog', { limit: 9 });
  expect(left.map((run) => run.id)).toEqual(ids.slice(3));
  await continueLoad();
  // No run is unclaimed, but a lease is open.
  expect(await settled()).toBe(0);
  await complete(client, leaseOf(left));
  await continueLoad();
  expect(await settled()).toBe(1);
});

test.each([
  ['', 'commit'],
  [' or prepared', 'prepare transaction'],
])('a segment is not closed while a transaction that wrote to it is open%s', async (_, end) => {
  const writer = await begin();
  const ids = await enqueue(writer, 'new', numberedTasks(2));
  await startNextSegment(client);
  await continueLoad();
  if (end !== 'commit') await writer.query(`${end} '${db.name}'`);
  for (let round = 0; round < 3; round++) await continueLoad();
  expect(await settled()).toBe(0);
  await (end === 'commit' ? writer.query(end) : client.query(`commit prepared '${db.name}'`));
  for (let round = 0; round < 2; round++) await continueLoad();
  const runs = await claim(client, 'new', { limit: 9 });
  expect(runs.map((run) => run.id)).toEqual(ids);
  await complete(client, leaseOf(runs));
  for (let round = 0; round < 2; round++) await continueLoad();
  expect(await settled()).toBe(1);
});

test('tasks in a segment that ended long ago are claimed once their transaction commits', async () => {
  const writer = await begin();
  const ids = await enqueue(writer, 'q', numberedTasks(2));
  for (let segment = 0; segment < 4; segment++) {
    await startNextSegment(client);
    await continueLoad();
  }
  await writer.query('commit');
  expect(await work()).toEqual(ids);
});

test('a snapshot older than the last task of a segment does not close the segment', async () => {
  const old = await begin('isolation level repeatable read');
  await old.query('select count(*) from tock.streams');
  const ids = await enqueue(client, 'q', numberedTasks(2));
  await moveNearSegmentEnd(client, 0);
  await createSegments(old);
  await old.query('commit');
  expect(await settled()).toBe(0);
  expect(await work()).toEqual(ids);
});
