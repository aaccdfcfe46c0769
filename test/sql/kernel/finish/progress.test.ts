import { afterAll, describe, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  extendWithProgress,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  reap,
  rows,
} from '../../verbs.ts';
import { begin, spreadTasks } from '../sessions.ts';
import {
  enqueueAndClaim,
  newQueue,
  shownProgress,
  storedProgressRows,
  taskById,
} from './progress.ts';

databasePerFile();
afterAll(() => expectInvariants(client));

describe.each([
  ['plain tasks', {}],
  ['tasks with options', { backoff: { kind: 'fixed' } }],
])('of %s', (_, options) => {
  test('a worker reports the progress of one run, and the last report holds', async () => {
    const { lease, ids } = await enqueueAndClaim(3, options);
    const note = 'halfway, nearly';
    const report = [{ id: ids[1], progress: 40, note }];
    expect(await extendWithProgress(client, lease, report)).toMatchObject({ refused: [] });
    expect(await shownProgress(ids[1])).toEqual([40, note]);
    expect((await taskById(ids[1])).runs).toMatchObject([{ progress: 40, note }]);
    expect(await shownProgress(ids[0])).toEqual([null, null]);
    await extendWithProgress(client, lease, [{ id: ids[1], progress: 33.333 }]);
    expect(await shownProgress(ids[1])).toEqual([33.33, null]);
    const both = [
      { id: ids[1], note: '' },
      { id: ids[2], progress: 0 },
    ];
    await extendWithProgress(client, lease, both);
    expect(await shownProgress(ids[1])).toEqual([null, '']);
    expect(await shownProgress(ids[2])).toEqual([0, null]);
  });

  test('of progress for all runs and progress for one run, the newer holds', async () => {
    const { lease, ids } = await enqueueAndClaim(2, options);
    await extendWithProgress(client, lease, { progress: 10, note: 'all' });
    for (const id of ids) expect(await shownProgress(id)).toEqual([10, 'all']);
    await extendWithProgress(client, lease, [{ id: ids[1], progress: 20 }]);
    expect(await shownProgress(ids[0])).toEqual([10, 'all']);
    expect(await shownProgress(ids[1])).toEqual([20, null]);
    await extendWithProgress(client, lease, { progress: 30 });
    for (const id of ids) expect(await shownProgress(id)).toEqual([30, null]);
  });

  test('progress of the first run of a lease does not count for the others', async () => {
    const queue = newQueue();
    await enqueue(client, queue, numberedTasks(4, 0, options));
    await claim(client, queue, { limit: 2 });
    // The second lease begins right after the first. Its row for all runs has the position of its first run.
    const runs = await claim(client, queue, { limit: 2 });
    await extendWithProgress(client, leaseOf(runs), [{ id: runs[0]?.id, progress: 50 }]);
    expect(await shownProgress(runs[0]?.id)).toEqual([50, null]);
    expect(await shownProgress(runs[1]?.id)).toEqual([null, null]);
  });
});

test('progress for all runs is one row for each stream, for any number of runs', async () => {
  const queue = newQueue();
  const ids = await enqueue(client, queue, numberedTasks(1000));
  const runs = await claim(client, queue, { limit: 1000 });
  const before = await storedProgressRows();
  const told = await extendWithProgress(client, leaseOf(runs), { progress: 7 });
  expect(told).toMatchObject({ runs: 1000 });
  expect(await storedProgressRows()).toBe(before + 1);
  for (const n of [0, 1, 500, 999]) expect(await shownProgress(ids[n])).toEqual([7, null]);
});

test('progress for a lease over many streams holds for all its runs, and for no run of another lease', async () => {
  const queue = newQueue();
  await enqueue(client, queue, spreadTasks(60, 4, 10));
  const mine = await claim(client, queue, { limit: 40 });
  const others = await claim(client, queue, { limit: 40 });
  expect(new Set(mine.map(({ lease }) => lease)).size).toBe(1);
  await extendWithProgress(client, leaseOf(mine), { progress: 5 });
  for (const { id } of mine) expect(await shownProgress(id)).toEqual([5, null]);
  for (const { id } of others) expect(await shownProgress(id)).toEqual([null, null]);
});

test('the next attempt starts without progress, and the one before keeps its own', async () => {
  const { queue, lease, id } = await enqueueAndClaim(1);
  await extendWithProgress(client, lease, [{ id, progress: 60, note: 'uploading' }]);
  await fail(client, lease, { error: 'disk full' });
  expect(await taskById(id)).toMatchObject({ state: 'waiting', progress: null, note: null });
  await makeDue(client, queue);
  await promote(client);
  const [run] = await claim(client, queue);
  expect(await shownProgress(id)).toEqual([null, null]);
  // Both ids, the run's and the task's, name the same run. The first of the two reports counts.
  const twice = [
    { id: run?.run_id, progress: 1 },
    { id, progress: 2 },
  ];
  const told = await extendWithProgress(client, run?.lease as string, twice);
  expect(told).toMatchObject({ refused: [] });
  expect(await shownProgress(id)).toEqual([1, null]);
  await extendWithProgress(client, run?.lease as string, [{ id, progress: 3 }]);
  await complete(client, run?.lease as string);
  expect(await taskById(id)).toMatchObject({
    state: 'done',
    progress: null,
    runs: [
      { state: 'failed', progress: 60, note: 'uploading' },
      { state: 'done', progress: 3, note: null },
    ],
  });
});

test('a worker whose lease is over cannot report progress', async () => {
  const { queue, lease, ids } = await enqueueAndClaim(2);
  await extendWithProgress(client, lease, [{ id: ids[0], progress: 10 }]);
  await expire(client, lease);
  await reap(client);
  const runs = await claim(client, queue, { limit: 2 });
  const stored = () => rows(client, 'select * from tock.progress order by position, of_all');
  const before = await stored();
  for (const stale of [{ progress: 99 }, ids.map((id) => ({ id, progress: 99 }))])
    expect(await extendWithProgress(client, lease, stale)).toBeUndefined();
  await complete(client, leaseOf(runs));
  expect(await extendWithProgress(client, leaseOf(runs), { progress: 99 })).toBeUndefined();
  expect(await stored()).toEqual(before);
  expect((await taskById(ids[0])).runs).toMatchObject([{ progress: 10 }, { progress: null }]);
});

test("progress of ended runs and of other leases' runs is refused, the rest is stored", async () => {
  const { lease, ids } = await enqueueAndClaim(3);
  const foreign = (await enqueueAndClaim(1)).id;
  await complete(client, lease, [{ id: ids[0] }]);
  const report = [ids[0], ids[1], foreign, '1'].map((id) => ({ id, progress: 50 }));
  const refused = [ids[0], foreign, '1'];
  expect(await extendWithProgress(client, lease, report)).toMatchObject({ refused });
  expect((await taskById(ids[0])).runs[0]?.progress).toBeNull();
  expect(await shownProgress(ids[1])).toEqual([50, null]);
  expect(await shownProgress(foreign)).toEqual([null, null]);
  // The part of the lease in the completed task's stream is closed. The other part stays open.
  const queue = newQueue();
  await enqueue(client, queue, [{ priority: 1 }, { priority: 2 }]);
  const [first, second] = await claim(client, queue, { limit: 2 });
  expect(first?.lease).toBe(second?.lease);
  await complete(client, first?.lease as string, [{ id: first?.id }]);
  await extendWithProgress(client, first?.lease as string, { progress: 9 });
  expect((await taskById(first?.id)).runs).toMatchObject([{ state: 'done', progress: null }]);
  expect(await shownProgress(second?.id)).toEqual([9, null]);
});

/** The progress and the note of a task's first run. */
const came = async (id: string | undefined) => {
  const [run] = (await taskById(id)).runs;
  return [run?.progress, run?.note];
};

test('progress for a whole lease does not count for runs that have ended', async () => {
  const { lease, ids } = await enqueueAndClaim(6);
  const [early, own, after] = ids as [string, string, string];
  await complete(client, lease, [{ id: early }]);
  await extendWithProgress(client, lease, { progress: 10, note: 'of five' });
  await extendWithProgress(client, lease, [{ id: own, progress: 20 }]);
  await complete(client, lease, [{ id: own }]);
  await fail(client, lease, [{ id: after, error: 'x', fatal: true }]);
  await extendWithProgress(client, lease, { progress: 90, note: 'of three' });
  await extendWithProgress(client, lease, { progress: 95, note: 'of three still' });
  expect(await came(early)).toEqual([null, null]);
  expect(await came(own)).toEqual([20, null]);
  expect(await came(after)).toEqual([10, 'of five']);
  await complete(client, lease);
  for (const id of ids.slice(3)) expect(await came(id)).toEqual([95, 'of three still']);
});

test('a run keeps the progress reported until its end, also if the ending transaction began before the report', async () => {
  const { lease, ids } = await enqueueAndClaim(2);
  const worker = await begin();
  await worker.query('select now()');
  await extendWithProgress(client, lease, { progress: 80 });
  await complete(worker, lease, [{ id: ids[0] }]);
  await worker.query('commit');
  await extendWithProgress(client, lease, { progress: 90 });
  expect((await taskById(ids[0])).runs).toMatchObject([{ state: 'done', progress: 80 }]);
  expect(await came(ids[1])).toEqual([90, null]);
});
