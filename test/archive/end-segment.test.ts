import { expect, test } from 'vitest';
import { closeSegments } from '../sql/kernel/segment/segments.ts';
import { claim, complete, enqueue, fail, leaseOf, promote, value } from '../sql/verbs.ts';
import {
  answers,
  archive,
  archivePerTest,
  completeAll,
  drop,
  enableArchive,
  segments,
  task,
  tock,
} from './test_archive.ts';

archivePerTest();

test('a segment is ended on demand beside calls: exported, dropped and read as before', async () => {
  const end = () => tock.send('POST /v1/archive/end');
  expect((await end()).status).toBe(409);
  await enableArchive();
  const first = await enqueue(tock.owner, 'try', [{ payload: 'first' }]);
  // Four calls end a segment concurrently, while tasks arrive. One segment ends, and no position is given twice.
  const enqueued = Array.from({ length: 40 }, () =>
    tock.send('POST /v1/queues/try/tasks', { body: { payload: 'beside' } }),
  );
  const answered = await Promise.all([end(), end(), end(), end()]);
  const ids = (await Promise.all(enqueued)).map(({ body }) => body.ids[0]).concat(first);
  for (const { status, body } of answered) expect([200, 503], body.detail).toContain(status);
  const { body } = await end();
  expect(body).toMatchObject({ segment: 1, closed_at: null });
  expect(body.why).toContain('tasks of queue try are not claimed');
  expect(new Set(ids).size).toBe(41);

  await completeAll('try');
  const before = await answers(ids);
  await closeSegments(tock.owner);
  expect((await end()).body).toMatchObject({ segment: 1, why: null });
  // With the archive off, an ended segment is kept for its retention like any other.
  await tock.send('PUT /v1/archive', { body: { enabled: false } });
  // The drop checks this again for a segment that was chosen before the archive was turned off.
  expect(await value(tock.owner, 'select tock.may_be_dropped(1)')).toBe(false);
  await drop();
  expect(await segments()).toContain(1);
  await enableArchive();
  await drop();
  expect(await segments()).toContain(1);
  await archive();
  await drop();
  expect(await segments()).not.toContain(1);
  expect(await answers(ids)).toEqual(before);
});

test('two calls that end a segment: the second gets 503, and after the first the same segment', async () => {
  await enableArchive();
  await enqueue(tock.owner, 'try', [{}]);
  const other = await tock.database.connect();
  await other.query('begin');
  expect(await value(other, 'select segment from tock.end_segment()')).toBe(1);
  const end = () => tock.send('POST /v1/archive/end');
  expect(await end()).toMatchObject({
    status: 503,
    body: { detail: 'another transaction is making or ending segments' },
  });
  await other.query('commit');
  expect(await end()).toMatchObject({ status: 200, body: { segment: 1 } });
});

test('a segment ended on demand closes without later tasks, and stays while a task waits for parents in it', async () => {
  await enableArchive();
  const [done, open] = await enqueue(tock.owner, 'try', [{}, { delay_seconds: 1000 }]);
  const [child] = await enqueue(tock.owner, 'try', [{ depends_on: [done, open] }]);
  await completeAll('try');
  const end = async () => (await tock.send('POST /v1/archive/end')).body;
  await end();
  // No stream has entered the next segment, but this one can close.
  await closeSegments(tock.owner);
  expect(await end()).toMatchObject({ segment: 1, closed_at: expect.any(String), why: null });
  const gone = async () => {
    await drop();
    await archive();
    await drop();
    return !(await segments()).includes(1);
  };
  expect(await gone()).toBe(false);
  await tock.owner.query('select tock.cancel(array[$1::bigint])', [child]);
  await promote(tock.owner);
  expect(await gone()).toBe(true);
});

test('a segment ended on demand stays for a later task that depends on one in it', async () => {
  await enableArchive();
  const [dead = ''] = await enqueue(tock.owner, 'q', [{ max_attempts: 1 }]);
  expect((await tock.send('POST /v1/archive/end')).status).toBe(200);
  const [open = ''] = await enqueue(tock.owner, 'q', [{ delay_seconds: 1000 }]);
  const [child = ''] = await enqueue(tock.owner, 'q', [{ depends_on: [dead, open] }]);
  await fail(tock.owner, leaseOf(await claim(tock.owner, 'q')));
  await closeSegments(tock.owner);
  const go = async () => {
    await drop();
    await archive();
    await drop();
    return segments();
  };
  expect(await go()).toContain(1);
  await tock.owner.query('select tock.reschedule(array[$1::bigint], now())', [open]);
  await complete(tock.owner, leaseOf(await claim(tock.owner, 'q')));
  expect((await task(child)).body).toMatchObject({ state: 'cancelled' });
  expect(await go()).not.toContain(1);
});
