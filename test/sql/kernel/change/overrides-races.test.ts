import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  pidOf,
  promote,
  reap,
  refusal,
  release,
  task,
  waitUntilBlocked,
} from '../../verbs.ts';
import { startNextSegment } from '../segment/segments.ts';
import { cancel, cancelRequests, change, expectNothingLeft } from './changes.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

const begin = async () => {
  const other = await db.connect();
  await other.query('begin');
  return other;
};

const addTask = async (options: object = {}) =>
  (await enqueue(client, 'q', [{ payload: 'sent', ...options }]))[0] as string;

/** Makes the second call while the first one's transaction is open, and commits when the second one waits. */
async function overlapping<A, B>(
  first: (on: pg.Client) => Promise<A>,
  second: (on: pg.Client) => Promise<B>,
): Promise<[A, B]> {
  const [holder, waiter] = [await begin(), await db.connect()];
  const answer = await first(holder);
  const pid = await pidOf(waiter);
  const other = second(waiter);
  await waitUntilBlocked(client, pid);
  await holder.query('commit');
  return [answer, await other];
}

test('a cancel waits for a concurrent change, and cancels the changed task', async () => {
  const id = await addTask();
  const [, answer] = await overlapping(
    (on) => change(on, [id], { priority: 3 }),
    (on) => cancel(on, [id]),
  );
  expect(answer).toEqual([{ id, state: 'cancelled', changed: true }]);
  expect((await task(client, id))?.state).toBe('cancelled');
  await expectNothingLeft(client);
  await expectInvariants(client);
});

test('a change waits for a concurrent cancel, and finds the task cancelled', async () => {
  const id = await addTask();
  const [, answer] = await overlapping(
    (on) => cancel(on, [id]),
    (on) => change(on, [id], { priority: 3 }),
  );
  expect(answer).toEqual([{ id, state: 'cancelled', changed: false }]);
  await expectNothingLeft(client);
  await expectInvariants(client);
});

test.each([
  ['ready', {}],
  ['waiting', { delay_seconds: 1000 }],
])('two concurrent changes of a %s task both hold, the later one last', async (_, options) => {
  const id = await addTask(options);
  const [, answer] = await overlapping(
    (on) => change(on, [id], { priority: 3, payload: 'one' }),
    (on) => change(on, [id], { payload: 'two' }),
  );
  expect(answer).toMatchObject([{ id, changed: true }]);
  await makeDue(client, 'q');
  await promote(client);
  expect(await claim(client, 'q', { limit: 9 })).toMatchObject([
    { id, priority: 3, payload: 'two' },
  ]);
  await expectInvariants(client);
});

test('two concurrent changes of a running task both hold for its next attempt', async () => {
  const id = await addTask();
  const lease = leaseOf(await claim(client, 'q'));
  await overlapping(
    (on) => change(on, [id], { priority: 3, payload: 'one' }),
    (on) => change(on, [id], { payload: 'two' }),
  );
  await release(client, lease);
  expect(await claim(client, 'q')).toMatchObject([{ id, priority: 3, payload: 'two' }]);
});

test('a change waits at most two seconds for another one that holds its stream, and so does a cancel of the task', async () => {
  const [id, other] = (await enqueue(client, 'q', [{}, {}])) as [string, string];
  const open = await begin();
  await change(open, [id], { priority: 3 });
  expect((await refusal(change(client, [other], { priority: 4 }))).code).toBe('TK503');
  expect((await refusal(cancel(client, [id]))).code).toBe('55P03');
  expect(await cancel(client, [other])).toMatchObject([{ changed: true }]);
  await open.query('rollback');
  expect(await cancel(client, [id])).toEqual([{ id, state: 'cancelled', changed: true }]);
});

const ends: Record<string, (lease: string) => Promise<unknown>> = {
  failed: (lease) => fail(client, lease, { retry_in_seconds: 0 }),
  'failed, to be tried again later': (lease) => fail(client, lease, { retry_in_seconds: 60 }),
  released: (lease) => release(client, lease),
  lost: async (lease) => {
    await expire(client, lease);
    await reap(client);
  },
};

test.each(Object.keys(ends))(
  'a task cancelled in an open transaction, and meanwhile %s, is retried at most once',
  async (how) => {
    for (const state of ['ready', 'running']) {
      const id = await addTask();
      const open = await begin();
      const claimed = state === 'running' ? await claim(client, 'q') : undefined;
      expect(await cancel(open, [id])).toMatchObject([{ changed: true }]);
      await ends[how]?.(leaseOf(claimed ?? (await claim(client, 'q'))));
      await open.query('commit');
      const again = await claim(client, 'q', { limit: 9 });
      if ((await task(client, id))?.state === 'waiting') {
        expect(again).toEqual([]);
      } else {
        expect(again).toMatchObject([{ id }]);
        expect(await cancel(client, [id])).toEqual([{ id, state: 'running', changed: true }]);
        expect(await cancelRequests(client, leaseOf(again))).toEqual([id]);
        await ends[how]?.(leaseOf(again));
      }
      await expectNothingLeft(client);
      expect((await task(client, id))?.state).toBe('cancelled');
    }
    await expectInvariants(client);
  },
);

test('a running task changed in an open transaction, and meanwhile failed, is changed from its third attempt on', async () => {
  const id = await addTask();
  const open = await begin();
  const claimed = await claim(client, 'q');
  await change(open, [id], { payload: 'new', priority: 1 });
  await fail(client, leaseOf(claimed), { retry_in_seconds: 0 });
  await open.query('commit');
  const second = await claim(client, 'q', { limit: 9 });
  expect(second).toMatchObject([{ id, attempt: 2, payload: 'sent', priority: 5 }]);
  await fail(client, leaseOf(second), { retry_in_seconds: 0 });
  const third = await claim(client, 'q', { limit: 9 });
  expect(third).toMatchObject([{ id, attempt: 3, payload: 'new', priority: 1 }]);
  await complete(client, leaseOf(third));
  await expectInvariants(client);
});

test('an earlier change between two attempts does not override a later one', async () => {
  const id = await addTask();
  const open = await begin();
  await claim(client, 'q').then(async (got) => {
    await change(open, [id], { payload: 'first', priority: 1 });
    await fail(client, leaseOf(got), { retry_in_seconds: 60 });
  });
  await open.query('commit');
  await change(client, [id], { payload: 'second' });
  await makeDue(client, 'q');
  await promote(client);
  const second = await claim(client, 'q');
  expect(second).toMatchObject([{ id, attempt: 2, payload: 'second', priority: 5 }]);
  await change(client, [id], { delay_seconds: 0 });
  await fail(client, leaseOf(second), { retry_in_seconds: 0 });
  expect(await claim(client, 'q')).toMatchObject([{ id, payload: 'second', priority: 1 }]);
  await expectInvariants(client);
});

test('a cancel of a task that is being claimed stops the leased run', async () => {
  const id = await addTask();
  const worker = await begin();
  const lease = leaseOf(await claim(worker, 'q'));
  expect(await cancel(client, [id])).toMatchObject([{ state: 'cancelled', changed: true }]);
  await worker.query('commit');
  expect((await task(client, id))?.state).toBe('running');
  expect(await cancelRequests(client, lease)).toEqual([id]);
  await fail(client, lease, { retry_in_seconds: 0 });
  expect((await task(client, id))?.state).toBe('cancelled');
  await expectNothingLeft(client);
  await expectInvariants(client);
});

test('a cancel and a change do not wait for the end of an attempt, and hold after that attempt', async () => {
  const ids = (await enqueue(client, 'q', [{}, {}, {}])) as [string, string, string];
  const worker = await begin();
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  await fail(worker, lease, { retry_in_seconds: 0 });
  expect(await cancel(client, [ids[0]])).toMatchObject([{ state: 'running', changed: true }]);
  expect(await change(client, [ids[1]], { payload: 'new' })).toMatchObject([{ changed: true }]);
  await worker.query('commit');
  const got = await claim(client, 'q', { limit: 9 });
  expect(got.map((run) => run.id).toSorted()).toEqual(ids.toSorted());
  await fail(client, leaseOf(got), { retry_in_seconds: 0 });
  const last = await claim(client, 'q', { limit: 9 });
  expect(last.map((run) => [run.id, run.payload]).toSorted()).toEqual(
    [
      [ids[1], 'new'],
      [ids[2], null],
    ].toSorted(),
  );
  expect((await task(client, ids[0]))?.state).toBe('cancelled');
  await complete(client, leaseOf(last));
  await expectNothingLeft(client);
  await expectInvariants(client);
});

test('a change and a cancel of tasks in two segments lock them in the same order', async () => {
  await enqueue(client, 'x', [{}]);
  await enqueue(client, 'y', [{}]);
  const [a] = (await enqueue(client, 'y', [{}])) as [string];
  await startNextSegment(client);
  const [c, b] = (await enqueue(client, 'x', [{}, {}])) as [string, string];
  const stop = await begin();
  await cancel(stop, [c]);
  const [changer, canceller] = [await db.connect(), await db.connect()];
  const pids = [await pidOf(changer), await pidOf(canceller)] as [number, number];
  const changing = change(changer, [a, b, c], { priority: 1 });
  await waitUntilBlocked(client, pids[0]);
  const cancelling = cancel(canceller, [a, b]);
  await waitUntilBlocked(client, pids[1]);
  await stop.query('rollback');
  expect((await changing).filter((row) => row.changed)).toHaveLength(3);
  expect((await cancelling).map((row) => row.state)).toEqual(['cancelled', 'cancelled']);
  await expectInvariants(client);
});
