import type pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  numberedTasks,
  type Run,
  rows,
  value,
} from '../../verbs.ts';
import {
  ageClosedSegments,
  claimRuns,
  closeSegments,
  createSegments,
  dropExpiredSegments,
  enqueueAndComplete,
  moveNearSegmentEnd,
  segmentNumbers,
  startNextSegment,
} from '../segment/segments.ts';
import { begin, invariantsAfterEach } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

const payloads = (runs: Run[]) => runs.map((run) => run.payload);
const start = 'select tock.segment_of(start_after + 1) from tock.streams where queue = $1';
const startOf = (queue: string) => value<number>(client, start, [queue]);
/** Claims with p_own_transaction, as the HTTP API does. */
const own = 'select * from tock.claim(p_queue => $1, p_limit => 9, p_own_transaction => true)';
const alone = (on: pg.Client, queue: string) => rows<Run>(on, own, [queue]);

test('a stream advances to the current segment, and past no unread run', async () => {
  await enqueue(client, 'q', numberedTasks(4));
  await claimRuns(client, 'q', 2);
  await startNextSegment(client);
  await enqueue(client, 'q', numberedTasks(2, 4));
  await createSegments(client);
  expect(await startOf('q')).toBe(1);
  expect(payloads((await claimRuns(client, 'q', 2)).runs)).toEqual([2, 3]);
  await startNextSegment(client);
  await createSegments(client);
  expect(await startOf('q')).toBe(2);
  expect(payloads((await claimRuns(client, 'q', 1)).runs)).toEqual([4]);
  await createSegments(client);
  expect(payloads((await claimRuns(client, 'q', 9)).runs)).toEqual([5]);
  await enqueue(client, 'q', numberedTasks(1, 6));
  await createSegments(client);
  expect(await startOf('q')).toBe(3);
  expect(payloads((await claimRuns(client, 'q', 9)).runs)).toEqual([6]);
});

test.each([
  ['alone', alone],
  ['in a transaction', (on: pg.Client, queue: string) => claim(on, queue, { limit: 9 })],
])('a paused queue is claimed from its oldest run on, ten segments later, %s', async (_, draw) => {
  const enqueued: unknown[] = [];
  await client.query(`select tock.put_queue('paused', '{"paused": true}')`);
  for (let segment = 0; segment < 10; segment++) {
    if (segment % 4 < 2) {
      const tasks = numberedTasks(12, 100 * segment);
      await enqueue(client, 'paused', tasks);
      enqueued.push(...tasks.map((task) => task.payload));
    }
    await enqueueAndComplete(client, 'busy', 2);
    await startNextSegment(client);
    await closeSegments(client);
  }
  await client.query(`select tock.put_queue('paused', '{"paused": false}')`);
  const seen: unknown[] = [];
  for (;;) {
    const runs = await draw(client, 'paused');
    if (runs.length === 0) break;
    seen.push(...payloads(runs));
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: runs.length });
    if (seen.length === 18) await createSegments(client);
  }
  expect(seen).toEqual(enqueued);
});

describe('beside a writer in repeatable read that holds its stream', () => {
  let writer: pg.Client;

  beforeEach(async () => {
    await enqueueAndComplete(client, 'q', 3);
    await startNextSegment(client);
    await enqueue(client, 'q', numberedTasks(3));
    writer = await db.connect();
    await writer.query('begin isolation level repeatable read');
    await enqueue(writer, 'q', numberedTasks(1, 3));
  });

  test('segments are created and closed', async () => {
    await moveNearSegmentEnd(client, 0);
    expect(await value(client, "select tock.run_maintenance('create_segments')")).toBe(1);
    const error = "select last_error from tock.maintenance_jobs where name = 'create_segments'";
    expect(await value(client, error)).toBeNull();
  });

  test('its stream is claimed from in another transaction', async () => {
    await client.query(`set lock_timeout = ${conditionTimeout}`);
    expect(payloads(await alone(client, 'q'))).toEqual([0, 1, 2]);
    await writer.query('commit');
    expect(payloads(await alone(client, 'q'))).toEqual([3]);
  });
});

test.each(['commit', 'rollback'])(
  'a stream that advances during an open claim loses and doubles nothing: %s',
  async (end) => {
    await enqueueAndComplete(client, 'q', 2);
    await startNextSegment(client);
    await enqueue(client, 'q', numberedTasks(4));
    const worker = await begin();
    const first = payloads(await claim(worker, 'q', { limit: 2 }));
    await createSegments(client);
    await worker.query(end);
    await createSegments(client);
    const left = payloads((await drain(client, 'q', { limit: 3 })).flat());
    expect(end === 'commit' ? [...first, ...left] : left).toEqual([0, 1, 2, 3]);
  },
);

test('a stream registered by a transaction open over six segments, some of them dropped, is intact', async () => {
  const writer = await begin();
  await enqueue(writer, 'new', numberedTasks(2));
  for (let segment = 0; segment < 6; segment++) {
    await enqueueAndComplete(client, 'q', 2);
    await startNextSegment(client);
  }
  await enqueue(writer, 'new', numberedTasks(2, 2));
  await writer.query('commit');
  await closeSegments(client);
  await ageClosedSegments(client, '1 year');
  await dropExpiredSegments(client);
  expect(await segmentNumbers(client)).toEqual([1, 7, 8, 9]);
  const seen: unknown[] = [];
  for (const runs of await drain(client, 'new', { limit: 3 })) {
    seen.push(...payloads(runs));
    await complete(client, leaseOf(runs));
  }
  expect(seen).toEqual([0, 1, 2, 3]);
});

test('a stream with tasks stays active when the sequence is set back into an earlier segment', async () => {
  await enqueueAndComplete(client, 'other', 2);
  await startNextSegment(client);
  const ids = await enqueue(client, 'q', numberedTasks(2));
  await client.query("select setval('tock.positions', 10)");
  await client.query('select tock.deactivate_streams()');
  expect((await drain(client, 'q')).flat().map((run) => run.id)).toEqual(ids);
});
