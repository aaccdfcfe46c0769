import { expect, test } from 'vitest';
import {
  ageClosedSegments,
  closeSegments,
  startNextSegment,
  verifySegments,
} from '../sql/kernel/segment/segments.ts';
import {
  claim,
  complete,
  enqueue,
  extendWithProgress,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  value,
} from '../sql/verbs.ts';
import {
  answers,
  archive,
  archivePerTest,
  archiveState,
  bucket,
  completeAll,
  drop,
  enableArchive,
  endSegment,
  everythingStored,
  moveToArchive,
  segments,
  task,
  tock,
} from './test_archive.ts';
import { passAllRetentions } from './two_days.ts';

archivePerTest();

const take = async (queue: string) => leaseOf(await claim(tock.owner, queue));

async function goesOn(queue: string): Promise<void> {
  await makeDue(tock.owner, queue);
  await promote(tock.owner);
}

const failLater = async (queue: string, error: string) =>
  fail(tock.owner, await take(queue), { error, retry_in_seconds: 3600 });

const states = async (id: string) =>
  (await task(id)).body.runs.map(({ state, note }: { state: string; note: string }) => [
    state,
    note,
  ]);

test('a segment whose drop had begun before the archive was enabled is archived whole', async () => {
  const [id = ''] = await enqueue(tock.owner, 'q', [{ payload: 'needle' }]);
  await failLater('q', 'needle');
  await goesOn('q');
  const lease = await take('q');
  await extendWithProgress(tock.owner, lease, { progress: 50, note: 'half' });
  await complete(tock.owner, lease, [{ id, result: 'needle' }]);
  await endSegment();
  const before = await answers([id]);
  expect(await states(id)).toEqual([
    ['failed', null],
    ['done', 'half'],
  ]);
  await passAllRetentions(tock.owner);
  // The open reader keeps the segment itself from being dropped, after the steps that prepare its drop.
  const reader = await tock.database.connect();
  await reader.query('begin');
  await reader.query('select from tock.runs');
  expect(await value(tock.owner, 'select tock.drop_expired_segments()')).toBe(0);
  expect(await segments()).toContain(1);
  await reader.query('commit');
  await enableArchive();
  await archive({ rows: 1 });
  await ageClosedSegments(tock.owner, '60 days');
  await drop();
  expect(await segments()).not.toContain(1);
  expect(await answers([id])).toEqual(before);
  await tock.send(`DELETE /v1/tasks/${id}/payload`);
  await archive();
  expect(await everythingStored()).not.toContain('needle');
});

test('a task is whole when its segments are dropped in another order than they were created', async () => {
  await tock.owner.query(`select tock.put_queue('kept', '{"retention_seconds": 7776000}')`);
  const keep = async () => {
    await enqueue(tock.owner, 'kept', [{}]);
    await complete(tock.owner, await take('kept'));
  };
  await keep();
  const [id = ''] = await enqueue(tock.owner, 'q', [{ payload: 'x' }]);
  await failLater('q', 'first');
  await startNextSegment(tock.owner);
  await goesOn('q');
  await failLater('q', 'second');
  await startNextSegment(tock.owner);
  await keep();
  await goesOn('q');
  await complete(tock.owner, await take('q'));
  await endSegment();
  await closeSegments(tock.owner);
  const before = await answers([id]);
  await moveToArchive();
  const here = await segments();
  expect([here.includes(1), here.includes(2), here.includes(3)]).toEqual([true, false, true]);
  expect(await answers([id])).toEqual(before);
  await ageClosedSegments(tock.owner, '120 days');
  await verifySegments(tock.owner);
  await archive();
  await drop();
  expect(await segments()).not.toContain(3);
  expect(await answers([id])).toEqual(before);
});

test('a task that waited is found among 128 files of such tasks', async () => {
  // The tasks become ready in another order than they were enqueued, so each file has distant ids.
  const delayed = Array.from({ length: 256 }, (_, n) => ({
    payload: n,
    delay_seconds: 1 + ((n * 101) % 256),
  }));
  const ids = await enqueue(tock.owner, 'q', delayed);
  await tock.owner.query("update tock.waiting set due_at = due_at - interval '1 day'");
  await promote(tock.owner);
  await completeAll('q');
  await endSegment();
  await moveToArchive({ rows: 2 });
  expect((await archiveState()).files).toBe(128);
  const reads: number[] = [];
  for (const id of ids) {
    bucket.reads = [];
    expect(await task(id)).toMatchObject({ status: 200, body: { id, state: 'done' } });
    reads.push(bucket.reads.length);
  }
  // For each file its footer and one row group are read, so few files were read in vain.
  expect(reads.reduce((sum, n) => sum + n)).toBeLessThan(ids.length * 2 * 1.5);
});

test('a lookup that would have to read too many files is refused', async () => {
  const [id = ''] = await enqueue(tock.owner, 'q', [{ delay_seconds: 1 }]);
  await goesOn('q');
  await complete(tock.owner, await take('q'));
  await enqueue(tock.owner, 'q', numberedTasks(100));
  await completeAll('q');
  await endSegment();
  await moveToArchive({ rows: 1 });
  // A range from 0 makes each file a possible place of any task, as for files whose tasks are not known.
  await tock.owner.query('delete from tock.archived_tasks');
  await tock.owner.query(
    'insert into tock.archived_tasks select f.number, 0, 1000000000 from tock.archived_files f limit 100',
  );
  expect(await task(id)).toMatchObject({ status: 200 });
  await tock.owner.query(
    'insert into tock.archived_tasks select f.number, 1, 1000000000 from tock.archived_files f',
  );
  expect(await task(id)).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('More than 100 files') },
  });
});
