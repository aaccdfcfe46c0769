import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import { complete, drain, enqueue, fail, numberedTasks, task, value } from '../../verbs.ts';
import {
  ageClosedSegments,
  claimRuns,
  closeSegments,
  dropExpiredSegments,
  segmentNumbers,
  startNextSegment,
  verifySegments,
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

/** Ages and drops the segments that can be dropped, and expects those named to be gone. */
async function dropped(...numbers: number[]): Promise<void> {
  await closeSegments(client);
  await ageClosedSegments(client, '1 year');
  await dropExpiredSegments(client);
  const left = await segmentNumbers(client);
  expect(numbers.filter((number) => left.includes(number))).toEqual([]);
}

const change = (id: string, changes: object) =>
  client.query('select * from tock.change(array[$1]::bigint[], $2)', [id, changes]);

describe('a change of a run whose segment is dropped afterwards', () => {
  test('does not keep a ready task from starting', async () => {
    const [id] = await enqueue(client, 'q', numberedTasks(1));
    await startNextSegment(client);
    const before = await enqueue(client, 'q', [{ priority: 9 }]);
    await change(id as string, { priority: 9, payload: 'changed' });
    const passing = await claimRuns(client, 'q', 1);
    expect(passing.ids).toEqual(before);
    await complete(client, passing.lease);
    await dropped(1);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
  });

  test('does not keep the replacement from starting once', async () => {
    const [id] = await enqueue(client, 'q', numberedTasks(1));
    await startNextSegment(client);
    await change(id as string, { priority: 9, payload: 'changed' });
    const [other] = await enqueue(client, 'q', numberedTasks(1, 7, { priority: 0 }));
    await complete(client, (await claimRuns(client, 'q')).lease);
    await closeSegments(client);
    await startNextSegment(client);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
    expect((await task(client, other as string))?.state).toBe('done');
  });
});

test('steps of a few rows have the same result', async () => {
  await enqueue(client, 'q', numberedTasks(20));
  const { lease, ids } = await claimRuns(client, 'q', 20);
  await fail(
    client,
    lease,
    ids.slice(0, 15).map((id) => ({ id, retry_in_seconds: 0 })),
  );
  await complete(client, lease);
  const again = await claimRuns(client, 'q', 20);
  await startNextSegment(client);
  await fail(client, again.lease, { retry_in_seconds: 0 });
  const third = await claimRuns(client, 'q', 20);
  expect(third.ids).toHaveLength(15);
  await closeSegments(client);
  await verifySegments(client, 3);
  await ageClosedSegments(client, '1 year');
  let steps = 0;
  while ((await value<number>(client, 'select tock.prepare_segment_drop(1, 2)')) > 0) steps++;
  expect(steps).toBeGreaterThan(10);
  await dropExpiredSegments(client);
  expect(await segmentNumbers(client)).not.toContain(1);
  for (const id of ids.slice(0, 15)) {
    expect(await task(client, id)).toMatchObject({ id, attempt: 3, state: 'running' });
  }
  await complete(client, third.lease);
  await expectInvariants(client);
  await startNextSegment(client);
  await dropped(2);
  expect(await value(client, 'select count(*)::int from tock.promotions')).toBe(0);
});
