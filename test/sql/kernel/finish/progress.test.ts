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
  test('a worker says how far one run is, and what it says last holds', async () => {
    const { lease, ids } = await enqueueAndClaim(3, options);
    const told = await extendWithProgress(client, lease, [
      { id: ids[1], progress: 40, note: 'halfway, nearly' },
    ]);
    expect(told).toMatchObject({ refused: [] });
    expect(await shownProgress(ids[1])).toEqual([40, 'halfway, nearly']);
    expect((await taskById(ids[1])).runs).toMatchObject([
      { progress: 40, note: 'halfway, nearly' },
    ]);
    expect(await shownProgress(ids[0])).toEqual([null, null]);
    await extendWithProgress(client, lease, [{ id: ids[1], progress: 33.333 }]);
    expect(await shownProgress(ids[1])).toEqual([33.33, null]);
    await extendWithProgress(client, lease, [
      { id: ids[1], note: '' },
      { id: ids[2], progress: 0 },
    ]);
    expect(await shownProgress(ids[1])).toEqual([null, '']);
    expect(await shownProgress(ids[2])).toEqual([0, null]);
  });

  test('what is said of all runs and what of one: the newer holds', async () => {
    const { lease, ids } = await enqueueAndClaim(2, options);
    await extendWithProgress(client, lease, { progress: 10, note: 'all' });
    for (const id of ids) expect(await shownProgress(id)).toEqual([10, 'all']);
    await extendWithProgress(client, lease, [{ id: ids[1], progress: 20 }]);
    expect(await shownProgress(ids[0])).toEqual([10, 'all']);
    expect(await shownProgress(ids[1])).toEqual([20, null]);
    await extendWithProgress(client, lease, { progress: 30 });
    for (const id of ids) expect(await shownProgress(id)).toEqual([30, null]);
  });

  test('what is said of the first run of a lease is not of the others', async () => {
    const queue = newQueue();
    await enqueue(client, queue, numberedTasks(4, 0, options));
    await claim(client, queue, { limit: 2 });
    // It begins right after the one before: what is for all of it goes by its first run's position.
    const runs = await claim(client, queue, { limit: 2 });
    await extendWithProgress(client, leaseOf(runs), [{ id: runs[0]?.id, progress: 50 }]);
    expect(await shownProgress(runs[0]?.id)).toEqual([50, null]);
    expect(await shownProgress(runs[1]?.id)).toEqual([null, null]);
  });
});

test('what is said of all is one row a stream, however many runs there are', async () => {
  const queue = newQueue();
  const ids = await enqueue(client, queue, numberedTasks(1000));
  const runs = await claim(client, queue, { limit: 1000 });
  const before = await storedProgressRows();
  expect(await extendWithProgress(client, leaseOf(runs), { progress: 7 })).toMatchObject({
    runs: 1000,
  });
  expect(await storedProgressRows()).toBe(before + 1);
  for (const n of [0, 1, 500, 999]) expect(await shownProgress(ids[n])).toEqual([7, null]);
});

test('of a lease over many streams all runs are told of, and no run of another lease', async () => {
  const queue = newQueue();
  const tasks = numberedTasks(60).map((one, n) => ({
    ...one,
    priority: n % 4,
    tenant: `t${n % 10}`,
  }));
  await enqueue(client, queue, tasks);
  const mine = await claim(client, queue, { limit: 40 });
  const others = await claim(client, queue, { limit: 40 });
  expect(new Set(mine.map(({ lease }) => lease)).size).toBe(1);
  await extendWithProgress(client, leaseOf(mine), { progress: 5 });
  for (const { id } of mine) expect(await shownProgress(id)).toEqual([5, null]);
  for (const { id } of others) expect(await shownProgress(id)).toEqual([null, null]);
});

test('the next attempt begins anew, and how far the one before came stays', async () => {
  const { queue, lease, id } = await enqueueAndClaim(1);
  await extendWithProgress(client, lease, [{ id, progress: 60, note: 'uploading' }]);
  await fail(client, lease, { error: 'disk full' });
  expect(await taskById(id)).toMatchObject({ state: 'waiting', progress: null, note: null });
  await makeDue(client, queue);
  await promote(client);
  const [run] = await claim(client, queue);
  expect(await shownProgress(id)).toEqual([null, null]);
  // A retried run goes by its own id and by its task's, and what is said of the first of them stands.
  const twice = [
    { id: run?.run_id, progress: 1 },
    { id, progress: 2 },
  ];
  expect(await extendWithProgress(client, run?.lease as string, twice)).toMatchObject({
    refused: [],
  });
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

test('a worker whose lease is over says nothing more', async () => {
  const { queue, lease, ids } = await enqueueAndClaim(2);
  await extendWithProgress(client, lease, [{ id: ids[0], progress: 10 }]);
  await expire(client, lease);
  await reap(client);
  const runs = await claim(client, queue, { limit: 2 });
  const before = await rows(client, 'select * from tock.progress order by position, of_all');
  for (const stale of [{ progress: 99 }, ids.map((id) => ({ id, progress: 99 }))]) {
    expect(await extendWithProgress(client, lease, stale)).toBeUndefined();
  }
  await complete(client, leaseOf(runs));
  expect(await extendWithProgress(client, leaseOf(runs), { progress: 99 })).toBeUndefined();
  expect(await rows(client, 'select * from tock.progress order by position, of_all')).toEqual(
    before,
  );
  expect((await taskById(ids[0])).runs).toMatchObject([{ progress: 10 }, { progress: null }]);
});

test("what has ended and what is another's is refused, the rest is kept", async () => {
  const { lease, ids } = await enqueueAndClaim(3);
  const foreign = (await enqueueAndClaim(1)).id;
  await complete(client, lease, [{ id: ids[0] }]);
  const told = [ids[0], ids[1], foreign, '1'].map((id) => ({ id, progress: 50 }));
  expect(await extendWithProgress(client, lease, told)).toMatchObject({
    refused: [ids[0], foreign, '1'],
  });
  expect((await taskById(ids[0])).runs[0]?.progress).toBeNull();
  expect(await shownProgress(ids[1])).toEqual([50, null]);
  expect(await shownProgress(foreign)).toEqual([null, null]);
  // A stream of which all has ended is closed; the lease goes on with its others.
  const queue = newQueue();
  await enqueue(client, queue, [{ priority: 1 }, { priority: 2 }]);
  const [one, two] = await claim(client, queue, { limit: 2 });
  expect(one?.lease).toBe(two?.lease);
  await complete(client, one?.lease as string, [{ id: one?.id }]);
  await extendWithProgress(client, one?.lease as string, { progress: 9 });
  expect((await taskById(one?.id)).runs).toMatchObject([{ state: 'done', progress: null }]);
  expect(await shownProgress(two?.id)).toEqual([9, null]);
});
