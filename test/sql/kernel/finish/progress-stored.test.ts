import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { complete, extendWithProgress, reap, refusal, task, value } from '../../verbs.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  startNextSegment,
} from '../segment/segments.ts';
import { overlapping } from '../sessions.ts';
import { enqueueAndClaim, shownProgress, storedProgressRows, taskById } from './progress.ts';

databasePerFile();
afterAll(() => expectInvariants(client));

test('progress of a run that another transaction completes is refused and not stored', async () => {
  const { lease, ids } = await enqueueAndClaim(2);
  const before = await storedProgressRows();
  const [, late] = await overlapping(
    (on) => complete(on, lease, [{ id: ids[0], result: 1 }]),
    (on) => extendWithProgress(on, lease, [{ id: ids[0], progress: 99 }]),
  );
  expect(late).toMatchObject({ refused: [ids[0]] });
  expect(await storedProgressRows()).toBe(before);
});

test('eight sessions report progress of one lease at once, and none is refused', async () => {
  const { lease, ids } = await enqueueAndClaim(20);
  const clients = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  await Promise.all(
    clients.map(async (connection, n) => {
      for (let round = 0; round < 10; round++) {
        const some = ids.toSorted(() => Math.random() - 0.5).map((id) => ({ id, progress: n }));
        const told = await extendWithProgress(connection, lease, n % 4 ? some : { progress: n });
        expect(told).toMatchObject({ refused: [] });
      }
    }),
  );
  for (const id of ids) expect((await shownProgress(id))[0]).toBeLessThan(8);
});

test('a repeated progress report writes to no index', async () => {
  const { lease, id } = await enqueueAndClaim(1);
  await extendWithProgress(client, lease, [{ id, progress: 0 }]);
  const counted = () =>
    value<[all: number, hot: number]>(
      client,
      `select array[pg_stat_get_xact_tuples_updated('tock.progress'::regclass)::int,
         pg_stat_get_xact_tuples_hot_updated('tock.progress'::regclass)::int]`,
    );
  await client.query('begin');
  const before = await counted();
  for (let n = 0; n < 10; n++)
    await extendWithProgress(client, lease, [{ id, progress: n, note: `step ${n}` }]);
  const after = await counted();
  await client.query('commit');
  expect([after[0] - before[0], after[1] - before[1]]).toEqual([10, 10]);
});

test('progress in an earlier segment works the same, and is dropped with the segment', async () => {
  await startNextSegment(client);
  const first = await enqueueAndClaim(1);
  await extendWithProgress(client, first.lease, { progress: 1 });
  const { lease, id } = await enqueueAndClaim(1);
  await startNextSegment(client);
  const { id: other, lease: open } = await enqueueAndClaim(1);
  await extendWithProgress(client, open, { progress: 5 });
  await extendWithProgress(client, lease, [{ id, progress: 2, note: 'late' }]);
  expect(await shownProgress(id)).toEqual([2, 'late']);
  expect(await shownProgress(first.id)).toEqual([1, null]);
  await complete(client, lease);
  await complete(client, first.lease);
  // Loses all runs that earlier tests left running.
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 hour' where closed_at is null and token <> $1",
    [open],
  );
  await client.query(`select tock.put_queue(name, '{"max_lost": 1}') from tock.queues`);
  await reap(client);
  await closeSegments(client);
  await ageClosedSegments(client, '8 days');
  await dropExpiredSegments(client);
  await client.query(`select tock.put_queue(name, '{"max_lost": 10}') from tock.queues`);
  expect(await task(client, id)).toBeUndefined();
  expect(await shownProgress(other)).toEqual([5, null]);
  expect(await storedProgressRows()).toBe(1);
  await complete(client, open);
});

test('erasing a task deletes its notes, also those for its whole lease', async () => {
  const { lease, ids, id } = await enqueueAndClaim(2);
  await extendWithProgress(client, lease, { note: 'secret of both' });
  await extendWithProgress(client, lease, [{ id, progress: 3, note: 'secret' }]);
  const other = await enqueueAndClaim(1);
  await extendWithProgress(client, other.lease, { note: 'kept' });
  await complete(client, lease);
  await client.query('select tock.erase($1)', [id]);
  expect((await taskById(id)).runs).toMatchObject([{ progress: 3, note: null }]);
  expect((await taskById(ids[1])).runs).toMatchObject([{ note: null }]);
  expect(await shownProgress(other.id)).toEqual([null, 'kept']);
});

test.each([
  ['a number', 5, 'progress'],
  ['an empty object', {}, 'progress'],
  ['nothing but null', { progress: null, note: null }, 'progress'],
  ['an unknown key', { percent: 5 }, 'progress'],
  ['an id beside all', { id: '1', progress: 5 }, 'progress'],
  ['no object', [5], 'progress[0]'],
  ['no id', [{ progress: 5 }], 'progress[0].id'],
  ['an id twice', [1, 1].map((id) => ({ id: `${id}`, progress: 5 })), 'progress[1].id'],
  ['above 100', [{ id: '1', progress: 100.01 }], 'progress[0].progress'],
  ['progress that is a text', { progress: '50' }, 'progress.progress'],
  ['a note that is a number', { note: 5 }, 'progress.note'],
  ['a long note', [{ id: '1', note: 'x'.repeat(501) }], 'progress[0].note'],
])('progress is refused with the name of the field for %s', async (_, progress, field) => {
  const { lease, id } = await enqueueAndClaim(1);
  const refused = await refusal(extendWithProgress(client, lease, progress));
  expect(refused).toMatchObject({ code: 'TK422', detail: field });
  expect(await shownProgress(id)).toEqual([null, null]);
});

test('a note of 500 characters is accepted in any alphabet', async () => {
  const { lease, id } = await enqueueAndClaim(1);
  const note = '🚀я'.repeat(250);
  await extendWithProgress(client, lease, { progress: 100, note });
  expect(await shownProgress(id)).toEqual([100, note]);
});
