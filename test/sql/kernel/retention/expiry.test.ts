import { describe, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
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
  endSegment,
  enqueueAndComplete,
  moveNearSegmentEnd,
  segmentNumbers,
} from '../segment/segments.ts';

databasePerTest();

const keep = (queue: string, seconds: number) =>
  client.query('select tock.put_queue($1, $2)', [queue, { retention_seconds: seconds }]);
const retain = () => value<number>(client, 'select tock.drop_expired_segments()');
const reached = () => value<string>(client, 'select last_value from tock.positions');

/** Moves the end of all ended runs and leases to this long ago. */
async function ended(interval: string): Promise<void> {
  const ends = { results: 'ended_at', leases: 'closed_at' };
  for (const [table, at] of Object.entries(ends)) {
    const back = `update tock.${table} set ${at} = now() - $1::interval where ${at} is not null`;
    await client.query(back, [interval]);
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
  await endSegment(client, '50 seconds');
  for (const interval of ['50 seconds', '2 minutes', '23 hours']) {
    await ageClosedSegments(client, interval);
    expect(await retain(), interval).toBe(0);
  }
  await ageClosedSegments(client, '25 hours');
  expect(await retain()).toBe(1);
  expect(await segmentNumbers(client)).not.toContain(1);
  expect(await task(client, long as string)).toBeUndefined();
});

test("a queue's current retention counts, not an earlier one", async () => {
  await keep('q', 3600);
  await enqueueAndComplete(client, 'q', 2);
  await endSegment(client, '2 hours');
  await keep('q', 86_400);
  expect(await retain()).toBe(0);
  await keep('q', 60);
  expect(await retain()).toBe(1);
});

test('a queue without its own policy has the default retention', async () => {
  await enqueueAndComplete(client, 'q', 1);
  await client.query("delete from tock.queues where name = 'q'");
  await keep('*', 3600);
  await endSegment(client, '50 minutes');
  expect(await retain()).toBe(0);
  await ageClosedSegments(client, '70 minutes');
  expect(await retain()).toBe(1);
});

describe('a segment that has been in use for long', () => {
  const rotate = () => client.query('select tock.create_segments()');
  /** Moves the start of the current segment back, and calls what may end it. */
  async function rotateAfter(interval: string): Promise<void> {
    const begun = `update tock.segments set started_at = now() - $1::interval
      where number = tock.newest_segment()`;
    await client.query(begun, [interval]);
    await rotate();
  }
  const segment = () =>
    value<number>(client, 'select tock.segment_of(last_value + 1) from tock.positions');

  test('is ended by a jump of the sequence, and no task in it is lost', async () => {
    const before = await enqueue(client, 'q', numberedTasks(5));
    await claimRuns(client, 'q', 2);
    await rotate();
    await rotateAfter('20 hours');
    expect(await segment()).toBe(1);
    await rotateAfter('25 hours');
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
    await rotateAfter('9 days');
    expect(await segment()).toBe(1);
    await rotateAfter('11 days');
    expect(await segment()).toBe(2);
  });

  test('is left to fill up when little of it is left', async () => {
    await enqueueAndComplete(client, 'q', 1);
    await moveNearSegmentEnd(client, 1_000_000);
    await rotate();
    const before = await reached();
    await rotateAfter('1 year');
    expect(await reached()).toBe(before);
  });

  test('is not ended twice, and not while it has never had a run', async () => {
    await enqueueAndComplete(client, 'q', 1);
    await rotate();
    await rotateAfter('1 year');
    const ends = await reached();
    for (let round = 0; round < 3; round++) await rotateAfter('1 year');
    expect(await reached()).toBe(ends);
    await value(client, "select nextval('tock.positions')");
    const first = await reached();
    await rotateAfter('1 year');
    expect(await reached()).toBe(first);
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
      await rotateAfter('1 year');
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
