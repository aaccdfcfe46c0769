import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  numberedTasks,
  task,
  value,
} from '../../verbs.ts';
import {
  ageClosedSegments,
  claimRuns,
  closedSegmentNumbers,
  closeSegments,
  enqueueAndComplete,
  moveNearSegmentEnd,
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

const keep = (queue: string, seconds: number) =>
  client.query('select tock.put_queue($1, $2)', [queue, { retention_seconds: seconds }]);
const retain = () => value<number>(client, 'select tock.drop_expired_segments()');
const reached = () => value<string>(client, 'select last_value from tock.positions');

/** Moves the end of all ended runs and leases to this long ago. */
async function ended(interval: string): Promise<void> {
  for (const [table, column] of [
    ['results', 'ended_at'],
    ['leases', 'closed_at'],
  ]) {
    await client.query(
      `update tock.${table} set ${column} = now() - $1::interval where ${column} is not null`,
      [interval],
    );
  }
}

test('tasks that ended longer ago than the retention are hidden, and a segment follows the longest retention in it', async () => {
  await keep('short', 60);
  await keep('long', 86_400);
  const [short] = await enqueueAndComplete(client, 'short', 1);
  const [long] = await enqueueAndComplete(client, 'long', 1);
  const [open] = await enqueue(client, 'short', numberedTasks(1));
  await ended('2 minutes');
  expect(await task(client, short as string)).toBeUndefined();
  expect((await task(client, long as string))?.state).toBe('done');
  expect((await task(client, open as string))?.state).toBe('ready');
  await complete(client, (await claimRuns(client, 'short')).lease);
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  for (const [interval, drops] of [
    ['50 seconds', 0],
    ['2 minutes', 0],
    ['23 hours', 0],
    ['25 hours', 1],
  ] as const) {
    await ageClosedSegments(client, interval);
    expect([interval, await retain()]).toEqual([interval, drops]);
  }
  expect(await segmentNumbers(client)).not.toContain(1);
  expect(await task(client, long as string)).toBeUndefined();
});

test("a queue's current retention counts, not an earlier one", async () => {
  await keep('q', 3600);
  await enqueueAndComplete(client, 'q', 2);
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  await ageClosedSegments(client, '2 hours');
  await keep('q', 86_400);
  expect(await retain()).toBe(0);
  await keep('q', 60);
  expect(await retain()).toBe(1);
});

test('a queue without its own policy has the default retention', async () => {
  await enqueueAndComplete(client, 'q', 1);
  await client.query("delete from tock.queues where name = 'q'");
  await keep('*', 3600);
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  await ageClosedSegments(client, '50 minutes');
  expect(await retain()).toBe(0);
  await ageClosedSegments(client, '70 minutes');
  expect(await retain()).toBe(1);
});

describe('a segment that has been in use for long', () => {
  const begun = (interval: string) =>
    client.query(
      `update tock.segments set started_at = now() - $1::interval
       where number = tock.newest_segment()`,
      [interval],
    );
  const rotate = () => client.query('select tock.create_segments()');
  const segment = () =>
    value<number>(client, 'select tock.segment_of(last_value + 1) from tock.positions');

  test('is ended by a jump of the sequence, and no task in it is lost', async () => {
    const before = await enqueue(client, 'q', numberedTasks(5));
    await claimRuns(client, 'q', 2);
    await rotate();
    await begun('20 hours');
    await rotate();
    expect(await segment()).toBe(1);
    await begun('25 hours');
    await rotate();
    expect(await segment()).toBe(2);
    const after = await enqueue(client, 'q', numberedTasks(5, 5));
    const runs = (await drain(client, 'q', { limit: 4 })).flat();
    expect(runs.map((run) => run.id)).toEqual([...before.slice(2), ...after]);
    await expectInvariants(client);
  });

  test('lasts an eighth of the longest retention', async () => {
    await keep('q', 80 * 86_400);
    await enqueueAndComplete(client, 'q', 1);
    await rotate();
    await begun('9 days');
    await rotate();
    expect(await segment()).toBe(1);
    await begun('11 days');
    await rotate();
    expect(await segment()).toBe(2);
  });

  test('is left to fill up when little of it is left', async () => {
    await enqueueAndComplete(client, 'q', 1);
    await moveNearSegmentEnd(client, 1_000_000);
    await rotate();
    await begun('1 year');
    const before = await reached();
    await rotate();
    expect(await reached()).toBe(before);
  });

  test('is not ended twice, and not while it has never had a run', async () => {
    await enqueueAndComplete(client, 'q', 1);
    await rotate();
    await begun('1 year');
    await rotate();
    const ends = await reached();
    for (let round = 0; round < 3; round++) {
      await begun('1 year');
      await rotate();
    }
    expect(await reached()).toBe(ends);
    await value(client, "select nextval('tock.positions')");
    await begun('1 year');
    const first = await reached();
    await rotate();
    expect(await reached()).toBe(first);
  });

  test('is closed, verified and dropped like one that was filled', async () => {
    await enqueueAndComplete(client, 'q', 3);
    await rotate();
    await begun('1 year');
    await rotate();
    await enqueueAndComplete(client, 'q', 3);
    await closeSegments(client);
    await closeSegments(client);
    expect(await closedSegmentNumbers(client)).toEqual([1]);
    await verifySegments(client);
    await ageClosedSegments(client, '8 days');
    expect(await retain()).toBe(1);
    expect(await segmentNumbers(client)).not.toContain(1);
    await expectInvariants(client);
  });

  test('is ended under load without a position going back or a task being lost', async () => {
    const clients = await Promise.all(Array.from({ length: 5 }, () => db.connect()));
    let writing = true;
    const enqueued: string[] = [];
    const seen: string[] = [];
    const writers = clients.slice(0, 3).map(async (connection) => {
      for (let call = 0; call < 60 || writing; call++)
        enqueued.push(...(await enqueue(connection, 'q', numberedTasks(20))));
    });
    let written = false;
    const claimers = clients.slice(3).map(async (connection) => {
      for (;;) {
        const last = written;
        const runs = await claim(connection, 'q', { limit: 40 });
        seen.push(...runs.map((run) => run.id));
        if (runs.length > 0) await complete(connection, leaseOf(runs));
        else if (last) return;
      }
    });
    const end = Promise.all(writers).then(() => {
      written = true;
    });
    let highest = 0;
    for (let round = 0; round < 1000 && !written; round++) {
      await begun('1 year');
      await rotate();
      const now = Number(await reached());
      expect(now).toBeGreaterThanOrEqual(highest);
      highest = now;
      await client.query('select tock.deactivate_streams()');
      writing = (await segment()) < 5;
    }
    writing = false;
    await end;
    await Promise.all(claimers);
    seen.push(...(await drain(client, 'q')).flat().map((run) => run.id));
    expect(new Set(seen)).toEqual(new Set(enqueued));
    expect(seen).toHaveLength(enqueued.length);
    expect(await segment()).toBeGreaterThan(3);
    await expectInvariants(client);
  });
});
