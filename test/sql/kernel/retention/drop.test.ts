import { describe, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  extend,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { cancel, change } from '../change/changes.ts';
import {
  ageClosedSegments,
  claimRuns,
  closedSegmentNumbers,
  closeSegments,
  createSegments,
  dropExpiredSegments,
  endSegment,
  enqueueAndComplete,
  expectDropped,
  segmentNumbers,
  startNextSegment,
  verifySegments,
} from '../segment/segments.ts';
import { begin } from '../sessions.ts';

databasePerTest();

test('a segment is dropped with all its rows, and its tasks are no longer found', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  const { lease } = await claimRuns(client, 'q', 2);
  await complete(client, lease, [{ id: ids[0], result: 1 }]);
  await complete(client, lease);
  const last = await claimRuns(client, 'q');
  await fail(client, last.lease, { fatal: true });
  const [late] = await enqueue(client, 'q', [{ delay_seconds: 100 }]);
  await makeDue(client, 'q');
  await promote(client);
  const promoted = await claimRuns(client, 'q');
  await complete(client, promoted.lease);
  await startNextSegment(client);
  const kept = await enqueueAndComplete(client, 'q', 2);
  await expectDropped(client, 1);
  for (const id of [...ids, late as string]) {
    expect(await task(client, id)).toBeUndefined();
    expect(await cancel(client, [id])).toEqual([]);
    expect(await value(client, 'select tock.erase($1)', [id])).toBeNull();
  }
  expect(await value(client, 'select count(*)::int from tock.promotions')).toBe(0);
  for (const token of [lease, promoted.lease]) {
    expect(await complete(client, token)).toBeUndefined();
    expect(await complete(client, token, [{ id: ids[0] }])).toBeUndefined();
    expect(await extend(client, token)).toBeUndefined();
    expect(await fail(client, token, { error: 'late' })).toBeUndefined();
  }
  for (const id of kept) expect((await task(client, id))?.state).toBe('done');
  await enqueueAndComplete(client, 'q', 3);
  await expectInvariants(client);
});

test('only segments that are closed, verified and past their retention are dropped', async () => {
  const expectKept = async () => {
    expect(await value(client, 'select tock.drop_expired_segments()')).toBe(0);
    expect(await segmentNumbers(client)).toContain(1);
  };
  await enqueueAndComplete(client, 'q', 2);
  await enqueue(client, 'unread', numberedTasks(1));
  await enqueue(client, 'leased', numberedTasks(1));
  const open = await claimRuns(client, 'leased');
  await endSegment(client);
  await expectKept();
  await complete(client, open.lease);
  await closeSegments(client);
  await verifySegments(client);
  await expectKept();
  await complete(client, (await claimRuns(client, 'unread')).lease);
  await closeSegments(client);
  await ageClosedSegments(client, '1 year');
  await expectKept();
  await verifySegments(client);
  await ageClosedSegments(client, '6 days');
  await expectKept();
  await ageClosedSegments(client, '8 days');
  expect(await value(client, 'select tock.drop_expired_segments()')).toBe(1);
  expect(await segmentNumbers(client)).not.toContain(1);
});

test('a drop waits for no reader, backs off, and runs when the reader has ended', async () => {
  await enqueueAndComplete(client, 'q', 2);
  await endSegment(client);
  const reader = await begin('isolation level repeatable read');
  await reader.query('select count(*) from tock.runs');
  const tried = () =>
    rows(
      client,
      `select drop_tries as tries, round(extract(epoch from drop_after - now()) / 60)::int as minutes
       from tock.segments where number = 1`,
    );
  for (const [n, minutes] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
    // A drop that was tried and failed is not tried again before its time.
    for (let call = 0; call < 2; call++) {
      expect(await value(client, 'select tock.drop_expired_segments()')).toBe(0);
      expect(await tried()).toEqual([{ tries: n + 1, minutes }]);
    }
    await ageClosedSegments(client, '1 year');
  }
  // A drop that gives up releases its locks, also within a transaction that stays open.
  await client.query('begin');
  await client.query('select tock.drop_expired_segments()');
  const held = `select relation::regclass from pg_locks
    where pid = pg_backend_pid() and mode = 'AccessExclusiveLock' and locktype = 'relation'`;
  expect(await rows(client, held)).toEqual([]);
  await client.query('commit');
  await ageClosedSegments(client, '1 year');
  const settings = "select proconfig::text from pg_proc where proname = 'drop_expired_segments'";
  expect(await value(client, settings)).toContain('lock_timeout=10ms');
  await reader.query('commit');
  expect(await value(client, 'select tock.drop_expired_segments()')).toBe(1);
  expect(await segmentNumbers(client)).not.toContain(1);
});

test('an old segment that is kept does not block later ones, and its tasks stay', async () => {
  const old = await enqueue(client, 'paused', numberedTasks(4));
  await complete(client, (await claimRuns(client, 'paused')).lease);
  for (let segment = 0; segment < 4; segment++) {
    await startNextSegment(client);
    await enqueueAndComplete(client, 'q', 3);
    if (segment === 2) await enqueue(client, 'paused', numberedTasks(2, 10));
  }
  await startNextSegment(client);
  await expectDropped(client, 2, 3, 5);
  expect(await segmentNumbers(client)).toEqual(expect.arrayContaining([1, 4, 6]));
  expect((await task(client, old[3] as string))?.state).toBe('ready');
  const runs = (await drain(client, 'paused', { limit: 3 })).flat();
  expect(runs.map((run) => run.payload)).toEqual([1, 2, 3, 10, 11]);
  await expectInvariants(client);
});

test('a closed segment is dropped though more than sixty-four older ones are kept', async () => {
  await createSegments(client, 'p_ahead => 70, p_width => 10');
  await client.query(
    "select setval('tock.positions', end_position) from tock.segments where number = 3",
  );
  for (let segment = 0; segment < 66; segment++) {
    await enqueue(client, 'paused', numberedTasks(1));
    await client.query(
      "select setval('tock.positions', end_position) from tock.segments where number = $1 + 4",
      [segment],
    );
  }
  await enqueueAndComplete(client, 'q', 1);
  await startNextSegment(client);
  for (let round = 0; round < 20; round++) await closeSegments(client);
  expect((await closedSegmentNumbers(client)).at(-1)).toBeGreaterThan(68);
});

test('a claim is repeated by its request id until its segment is dropped, and refused then', async () => {
  await enqueue(client, 'q', numberedTasks(1));
  const first = await claim(client, 'q', { request_id: 'once' });
  expect(await claim(client, 'q', { request_id: 'once' })).toEqual(first);
  await complete(client, leaseOf(first));
  await startNextSegment(client);
  await expectDropped(client, 1);
  await expect(claim(client, 'q', { request_id: 'once' })).rejects.toMatchObject({ code: 'TK409' });
});

test('a tick drops segments last, as their locks last until its end', async () => {
  await enqueueAndComplete(client, 'q', 2);
  await endSegment(client);
  await client.query('select tock.tick()');
  expect(await segmentNumbers(client)).not.toContain(1);
  const [last] = await rows(
    client,
    'select name, last_error from tock.maintenance_jobs order by last_ok_at desc nulls last limit 1',
  );
  expect(last).toEqual({ name: 'drop_expired_segments', last_error: null });
});

describe('a change of a run whose segment is dropped afterwards', () => {
  test('does not keep a ready task from starting', async () => {
    const [id] = await enqueue(client, 'q', numberedTasks(1));
    await startNextSegment(client);
    const before = await enqueue(client, 'q', [{ priority: 9 }]);
    await change(client, [id as string], { priority: 9, payload: 'changed' });
    const passing = await claimRuns(client, 'q', 1);
    expect(passing.ids).toEqual(before);
    await complete(client, passing.lease);
    await expectDropped(client, 1);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
  });

  test('does not keep the replacement from starting once', async () => {
    const [id] = await enqueue(client, 'q', numberedTasks(1));
    await startNextSegment(client);
    await change(client, [id as string], { priority: 9, payload: 'changed' });
    const [other] = await enqueue(client, 'q', numberedTasks(1, 7, { priority: 0 }));
    await complete(client, (await claimRuns(client, 'q')).lease);
    await closeSegments(client);
    await startNextSegment(client);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
    expect((await task(client, other as string))?.state).toBe('done');
  });
});

test('a drop that is prepared in steps of a few rows has the same result', async () => {
  await enqueue(client, 'q', numberedTasks(20));
  const { lease, ids } = await claimRuns(client, 'q', 20);
  const failures = ids.slice(0, 15).map((id) => ({ id, retry_in_seconds: 0 }));
  await fail(client, lease, failures);
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
  for (const id of ids.slice(0, 15))
    expect(await task(client, id)).toMatchObject({ id, attempt: 3, state: 'running' });
  await complete(client, third.lease);
  await expectInvariants(client);
  await startNextSegment(client);
  await expectDropped(client, 2);
  expect(await value(client, 'select count(*)::int from tock.promotions')).toBe(0);
});
