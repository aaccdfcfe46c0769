import { describe, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  makeDue,
  numberedTasks,
  promote,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { cancel, change } from '../change/changes.ts';
import {
  claimRuns,
  closeSegments,
  enqueueAndComplete,
  expectDropped,
  segmentNumbers,
  startNextSegment,
  verifySegments,
} from '../segment/segments.ts';
import { overlapping } from '../sessions.ts';

databasePerTest();

describe('a task that is retried after the segment of its first run was dropped', () => {
  /** A task that has failed once, in the segment after that of its enqueue, and waits `retry` seconds. */
  async function failed(retry: number, delayed = false): Promise<string> {
    const [id] = await enqueue(client, 'q', [delayed ? { delay_seconds: 50 } : {}]);
    if (delayed) {
      await makeDue(client, 'q');
      await promote(client);
    }
    await startNextSegment(client);
    const { lease } = await claimRuns(client, 'q');
    await fail(client, lease, { retry_in_seconds: retry });
    return id as string;
  }

  const known = async (id: string, state: string) => {
    expect(await task(client, id)).toMatchObject({ id, state });
    await expectInvariants(client);
  };

  describe.each([false, true])('(delayed %s)', (late) => {
    test('waiting: is found and cancelled by its id', async () => {
      const id = await failed(5000, late);
      await startNextSegment(client);
      await expectDropped(client, 1);
      await known(id, 'waiting');
      expect(await cancel(client, [id])).toMatchObject([{ id, state: 'cancelled', changed: true }]);
      await known(id, 'cancelled');
    });

    test('ready, running and done: is found by its id', async () => {
      const id = await failed(0, late);
      await expectDropped(client, 1);
      await known(id, 'ready');
      const { lease, ids } = await claimRuns(client, 'q');
      expect(ids).toEqual([id]);
      await known(id, 'running');
      await complete(client, lease);
      await known(id, 'done');
    });
  });

  test('is found through a second and a third drop, by its id and its runs', async () => {
    const id = await failed(5000, true);
    for (let segment = 2; segment < 5; segment++) {
      await makeDue(client, 'q');
      await promote(client);
      await startNextSegment(client);
      await fail(client, (await claimRuns(client, 'q')).lease, { retry_in_seconds: 5000 });
      await expectDropped(client, segment - 1);
      await known(id, 'waiting');
    }
    await makeDue(client, 'q');
    await promote(client);
    const { runs } = await claimRuns(client, 'q');
    await startNextSegment(client);
    await closeSegments(client);
    expect(await task(client, runs[0]?.run_id as string)).toMatchObject({ id, attempt: 5 });
    await known(id, 'running');
  });

  test('is changed and cancelled for its next attempt while it runs', async () => {
    const id = await failed(0);
    await expectDropped(client, 1);
    const second = await claimRuns(client, 'q');
    await change(client, [id], { priority: 1 });
    await fail(client, second.lease, { retry_in_seconds: 0 });
    const third = await claimRuns(client, 'q');
    expect(third.runs).toMatchObject([{ id, priority: 1 }]);
    expect(await cancel(client, [id])).toMatchObject([{ id, state: 'running', changed: true }]);
    await fail(client, third.lease, { retry_in_seconds: 0 });
    await known(id, 'cancelled');
  });

  test('is not reported dead when only the middle segment is dropped', async () => {
    await enqueue(client, 'paused', numberedTasks(1));
    const id = await failed(0);
    await fail(client, (await claimRuns(client, 'q')).lease, { retry_in_seconds: 5000 });
    await startNextSegment(client);
    await enqueueAndComplete(client, 'other', 1);
    await startNextSegment(client);
    await expectDropped(client, 2);
    expect(await segmentNumbers(client)).toContain(1);
    await known(id, 'waiting');
    expect(await cancel(client, [id])).toMatchObject([{ id, state: 'cancelled', changed: true }]);
    await known(id, 'cancelled');
  });

  test('keeps its id when it is changed meanwhile', async () => {
    const [id] = await enqueue(client, 'q', numberedTasks(1));
    await change(client, [id as string], { priority: 7 });
    await startNextSegment(client);
    await change(client, [id as string], { delay_seconds: 500 });
    expect(await claim(client, 'q')).toEqual([]);
    await startNextSegment(client);
    await expectDropped(client, 1);
    await known(id as string, 'waiting');
  });

  test('is retried when its attempt ends during the drop', async () => {
    const [id] = (await enqueue(client, 'q', numberedTasks(1))) as [string];
    const first = await claimRuns(client, 'q');
    await startNextSegment(client);
    await fail(client, first.lease, { retry_in_seconds: 0 });
    const second = await claimRuns(client, 'q');
    await closeSegments(client);
    await verifySegments(client);
    while (await value(client, 'select tock.prepare_segment_drop(1)'));
    const [, failing] = await overlapping(
      (on) => on.query('select tock.drop_segment_tables(1)'),
      (on) => fail(on, second.lease, { retry_in_seconds: 0 }),
    );
    expect(failing).toMatchObject({ failed: 1 });
    expect(await claim(client, 'q')).toMatchObject([{ id, attempt: 3 }]);
  });
});

test('no promotion is left of a task that was promoted after the segment of its waiting row was dropped', async () => {
  await enqueue(client, 'q', [{}]);
  await fail(client, (await claimRuns(client, 'q')).lease, { retry_in_seconds: 5000 });
  await startNextSegment(client);
  await expectDropped(client, 1);
  await makeDue(client, 'q');
  await promote(client);
  expect(await rows(client, 'select * from tock.promotions')).toHaveLength(2);
  await complete(client, (await claimRuns(client, 'q')).lease);
  await startNextSegment(client);
  await expectDropped(client, 2);
  expect(await rows(client, 'select * from tock.promotions')).toEqual([]);
  await expectInvariants(client);
});

test('a segment that is dropped after later ones leaves no promotion to their runs', async () => {
  await enqueue(client, 'kept', [{}]);
  await enqueue(client, 'q', [{}]);
  await startNextSegment(client);
  await fail(client, (await claimRuns(client, 'q')).lease, { retry_in_seconds: 0 });
  await complete(client, (await claimRuns(client, 'q')).lease);
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  await expectDropped(client, 2);
  expect(await segmentNumbers(client)).toContain(1);
  await complete(client, (await claimRuns(client, 'kept')).lease);
  await closeSegments(client);
  await verifySegments(client);
  await expectDropped(client, 1);
  expect(await rows(client, 'select * from tock.promotions')).toEqual([]);
  await expectInvariants(client);
});

test('a promotion from a segment that was kept for longer is dropped with the last run of its task', async () => {
  await enqueue(client, 'kept', [{}]);
  await enqueue(client, 'q', [{}]);
  for (let attempt = 1; attempt < 3; attempt++) {
    await startNextSegment(client);
    await fail(client, (await claimRuns(client, 'q')).lease, { retry_in_seconds: 0 });
  }
  await expectDropped(client, 2);
  await complete(client, (await claimRuns(client, 'kept')).lease);
  await expectDropped(client, 1);
  expect(await rows(client, 'select * from tock.promotions')).toHaveLength(2);
  await complete(client, (await claimRuns(client, 'q')).lease);
  await startNextSegment(client);
  await expectDropped(client, 3);
  expect(await rows(client, 'select * from tock.promotions')).toEqual([]);
  await expectInvariants(client);
});
