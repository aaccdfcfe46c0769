import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import {
  blocked,
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
  rows,
  task,
} from './support.ts';
import { asked, cancel, change } from './wishes.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((one) => one.drop())));

const begin = async () => {
  const other = await db.connect();
  await other.query('begin');
  return other;
};

const one = async (options: object = {}) =>
  (await enqueue(client, 'q', [{ payload: 'sent', ...options }]))[0] as string;

/** The second call is made while the first one's transaction is open, and answered after it. */
async function overlapping<A, B>(
  first: (on: pg.Client) => Promise<A>,
  second: (on: pg.Client) => Promise<B>,
): Promise<[A, B]> {
  const [one, two] = [await begin(), await db.connect()];
  const answer = await first(one);
  const pid = await pidOf(two);
  const other = second(two);
  await blocked(client, pid);
  await one.query('commit');
  return [answer, await other];
}

const nothingLeft = async () => {
  for (let round = 0; round < 3; round++) {
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
    await makeDue(client, 'q');
    await promote(client);
  }
};

test('of a change and a cancel at once the cancel waits, and cancels what the change made', async () => {
  const id = await one();
  const [, answer] = await overlapping(
    (on) => change(on, [id], { priority: 3 }),
    (on) => cancel(on, [id]),
  );
  expect(answer).toEqual([{ id, state: 'cancelled', changed: true }]);
  expect((await task(client, id))?.state).toBe('cancelled');
  await nothingLeft();
  await expectWhole(client);
});

test('of a cancel and a change at once the change waits, and finds the task cancelled', async () => {
  const id = await one();
  const [, answer] = await overlapping(
    (on) => cancel(on, [id]),
    (on) => change(on, [id], { priority: 3 }),
  );
  expect(answer).toEqual([{ id, state: 'cancelled', changed: false }]);
  await nothingLeft();
  await expectWhole(client);
});

test.each([
  ['ready', {}],
  ['waiting', { delay_seconds: 1000 }],
])('two changes of a %s task at once both hold, the later one last', async (_, options) => {
  const id = await one(options);
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
  await expectWhole(client);
});

test('two changes of a running task at once hold together for its next attempt', async () => {
  const id = await one();
  const lease = leaseOf(await claim(client, 'q'));
  await overlapping(
    (on) => change(on, [id], { priority: 3, payload: 'one' }),
    (on) => change(on, [id], { payload: 'two' }),
  );
  await release(client, lease);
  expect(await claim(client, 'q')).toMatchObject([{ id, priority: 3, payload: 'two' }]);
});

test('a change waits two seconds for another one of the same task, no more', async () => {
  const id = await one();
  const open = await begin();
  await change(open, [id], { priority: 3 });
  expect((await refusal(change(client, [id], { priority: 4 }))).code).toBe('55P03');
  expect((await refusal(cancel(client, [id]))).code).toBe('55P03');
  await open.query('rollback');
  expect(await cancel(client, [id])).toEqual([{ id, state: 'cancelled', changed: true }]);
});

test('a cancel that finds a task claimed meanwhile says running, and the worker hears of it', async () => {
  const id = await one();
  const open = await begin();
  await change(open, [id], { priority: 3 });
  const canceller = await db.connect();
  const pid = await pidOf(canceller);
  const answer = cancel(canceller, [id]);
  await blocked(client, pid);
  const lease = leaseOf(await claim(client, 'q'));
  await open.query('commit');
  expect(await answer).toEqual([{ id, state: 'running', changed: true }]);
  expect(await asked(client, lease)).toEqual([id]);
  await complete(client, lease);
  await expectWhole(client);
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
  'a task cancelled in an open transaction is not tried again after it, though it was %s meanwhile',
  async (how) => {
    for (const state of ['ready', 'running']) {
      const id = await one();
      const open = await begin();
      const claimed = state === 'running' ? await claim(client, 'q') : undefined;
      expect(await cancel(open, [id])).toMatchObject([{ changed: true }]);
      await ends[how]?.(leaseOf(claimed ?? (await claim(client, 'q'))));
      expect((await task(client, id))?.state).toBe('waiting');
      await open.query('commit');
      await nothingLeft();
      expect((await task(client, id))?.state).toBe('cancelled');
    }
    await expectWhole(client);
  },
);

test('a task cancelled for longer than its next attempt waits is tried that once', async () => {
  const id = await one();
  const lease = leaseOf(await claim(client, 'q'));
  const open = await begin();
  await cancel(open, [id]);
  await release(client, lease);
  await makeDue(client, 'q');
  await promote(client);
  await open.query('commit');
  const again = await claim(client, 'q', { limit: 9 });
  expect(again).toMatchObject([{ id, attempt: 1 }]);
  await fail(client, leaseOf(again), { retry_in_seconds: 0 });
  await nothingLeft();
  expect((await task(client, id))?.state).toBe('cancelled');
  await expectWhole(client);
});

test('beside a cancel of other tasks only what is tried again waits, and not for its end', async () => {
  const ids = (await enqueue(client, 'q', [{}, {}])) as [string, string];
  const lease = leaseOf(await claim(client, 'q', { limit: 1 }));
  const open = await begin();
  await cancel(open, [ids[1]]);
  await release(client, lease);
  const alone = "select id from tock.claim(p_queue => 'q', p_limit => 9, p_alone => true)";
  const got = await rows<{ id: string }>(client, alone);
  expect(got.map((run) => run.id).toSorted()).toEqual(ids.toSorted());
  await open.query('rollback');
});

test('a replacement cancelled while its original starts stops the original, too', async () => {
  const id = await one();
  const worker = await begin();
  const lease = leaseOf(await claim(worker, 'q'));
  await change(client, [id], { priority: 3 });
  expect(await cancel(client, [id])).toMatchObject([{ state: 'cancelled', changed: true }]);
  await worker.query('commit');
  expect((await task(client, id))?.state).toBe('running');
  expect(await asked(client, lease)).toEqual([id]);
  await fail(client, lease, { retry_in_seconds: 0 });
  expect((await task(client, id))?.state).toBe('cancelled');
  await nothingLeft();
  await expectWhole(client);
});

test('a cancel and a change wait for the end of an attempt, and hold for the next', async () => {
  const ids = (await enqueue(client, 'q', [{}, {}, {}])) as [string, string, string];
  const worker = await begin();
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  await fail(worker, lease, { retry_in_seconds: 0 });
  const [one, two] = [await db.connect(), await db.connect()];
  const pids = [await pidOf(one), await pidOf(two)];
  const answers = [cancel(one, [ids[0]]), change(two, [ids[1]], { payload: 'new' })];
  for (const pid of pids) await blocked(client, pid);
  await worker.query('commit');
  expect(await Promise.all(answers)).toEqual([
    [{ id: ids[0], state: 'cancelled', changed: true }],
    [{ id: ids[1], state: 'ready', changed: true }],
  ]);
  const got = await claim(client, 'q', { limit: 9 });
  expect(got.map((run) => [run.id, run.payload]).toSorted()).toEqual(
    [
      [ids[1], 'new'],
      [ids[2], null],
    ].toSorted(),
  );
  await nothingLeft();
  await expectWhole(client);
});
