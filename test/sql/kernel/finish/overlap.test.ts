import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  pidOf,
  release,
  task,
  waitUntilBlocked,
} from '../../verbs.ts';

let db: Database;
let first: pg.Client;
let second: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  first = await db.connect();
  second = await db.connect();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

async function leased(count: number): Promise<{ lease: string; ids: string[] }> {
  const ids = await enqueue(first, 'q', numberedTasks(count));
  return { lease: leaseOf(await claim(first, 'q', { limit: count })), ids };
}

/** Makes the second call while the first one's transaction is open, and commits when the second one waits. */
async function overlapping<A, B>(
  firstCall: () => Promise<A>,
  secondCall: () => Promise<B>,
): Promise<[A, B]> {
  await first.query('begin');
  const answer = await firstCall();
  const pid = await pidOf(second);
  const other = secondCall();
  await waitUntilBlocked(await db.connect(), pid);
  await first.query('commit');
  return [answer, await other];
}

test('a completion repeated before it was answered answers the same', async () => {
  const { lease, ids } = await leased(3);
  const results = ids.slice(0, 2).map((id) => ({ id, result: 'r' }));
  const both = await overlapping(
    () => complete(first, lease, results),
    () => complete(second, lease, results),
  );
  expect(both).toEqual(Array(2).fill({ completed: 2, refused: [] }));
  expect(await complete(first, lease)).toMatchObject({ completed: 3 });
  await expectInvariants(first);
});

test('a whole completion repeated before it was answered answers the same', async () => {
  const { lease } = await leased(3);
  const both = await overlapping(
    () => complete(first, lease),
    () => complete(second, lease),
  );
  expect(both).toEqual(Array(2).fill({ completed: 3, refused: [] }));
});

test('a failure repeated before it was answered retries each task once', async () => {
  const { lease, ids } = await leased(2);
  const failures = ids.map((id) => ({ id, error: 'e', retry_in_seconds: 0 }));
  const both = await overlapping(
    () => fail(first, lease, failures),
    () => fail(second, lease, failures),
  );
  expect(both).toEqual(Array(2).fill({ failed: 2, dead: 0, refused: [] }));
  expect(await claim(first, 'q', { limit: 9 })).toHaveLength(2);
  await expectInvariants(first);
});

test('a release repeated before it was answered gives each task back once', async () => {
  const { lease, ids } = await leased(2);
  const both = await overlapping(
    () => release(first, lease, ids.slice(0, 1)),
    () => release(second, lease, ids.slice(0, 1)),
  );
  expect(both).toEqual(Array(2).fill({ released: 1, refused: [] }));
  expect(await claim(first, 'q', { limit: 9 })).toHaveLength(1);
  await expectInvariants(first);
});

test('of a concurrent completion and failure the first counts, and the other is refused', async () => {
  const { lease, ids } = await leased(2);
  const [, late] = await overlapping(
    () => complete(first, lease, [{ id: ids[0], result: 1 }]),
    () => fail(second, lease, [{ id: ids[0], error: 'late' }, { id: ids[1] }]),
  );
  expect(late).toEqual({ failed: 1, dead: 0, refused: [ids[0]] });
  expect(await task(first, ids[0] as string)).toMatchObject({
    state: 'done',
    result: 1,
    error: null,
  });
  await expectInvariants(first);
});

test('a whole completion beside a failed part completes and counts the others', async () => {
  const { lease, ids } = await leased(3);
  const [, whole] = await overlapping(
    () => fail(first, lease, [{ id: ids[0], fatal: true }]),
    () => complete(second, lease),
  );
  expect(whole).toEqual({ completed: 2, refused: [] });
  expect((await task(first, ids[0] as string))?.state).toBe('dead');
  await expectInvariants(first);
});

test('a part after a concurrent whole completion changes nothing', async () => {
  const { lease, ids } = await leased(2);
  const [, part] = await overlapping(
    () => complete(first, lease),
    () => fail(second, lease, [{ id: ids[0], error: 'late' }]),
  );
  expect(part).toBeUndefined();
  expect((await task(first, ids[0] as string))?.state).toBe('done');
  await expectInvariants(first);
});
