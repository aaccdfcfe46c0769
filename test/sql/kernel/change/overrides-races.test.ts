import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  promote,
  refusal,
  release,
  task,
} from '../../verbs.ts';
import { startNextSegment } from '../segment/segments.ts';
import { begin, blocked, invariantsAfterEach, overlapping } from '../sessions.ts';
import {
  type ChangeOutcome,
  cancel,
  cancelRequests,
  change,
  ends,
  expectNothingLeft,
} from './changes.ts';

databasePerTest();
invariantsAfterEach();

const addTask = async (options: object = {}) =>
  (await enqueue(client, 'q', [{ payload: 'sent', ...options }]))[0] as string;

type Call = (on: pg.Client, ids: string[]) => Promise<ChangeOutcome[]>;
const prioritized: Call = (on, ids) => change(on, ids, { priority: 3 });

test.each<[call: string, first: string, one: Call, other: Call, changed: boolean]>([
  ['cancel', 'change', prioritized, cancel, true],
  ['change', 'cancel', cancel, prioritized, false],
])(
  'a %s waits for a concurrent %s, and then the task is cancelled',
  async (_, __, one, other, changed) => {
    const id = await addTask();
    const [, answer] = await overlapping(
      (on) => one(on, [id]),
      (on) => other(on, [id]),
    );
    expect(answer).toEqual([{ id, state: 'cancelled', changed }]);
    expect((await task(client, id))?.state).toBe('cancelled');
    await expectNothingLeft(client);
  },
);

test.each([
  ['ready', {}],
  ['waiting', { delay_seconds: 1000 }],
  ['running', {}],
])('two concurrent changes of a %s task both hold, the later one last', async (state, options) => {
  const id = await addTask(options);
  const lease = state === 'running' ? leaseOf(await claim(client, 'q')) : null;
  const [, answer] = await overlapping(
    (on) => change(on, [id], { priority: 3, payload: 'one' }),
    (on) => change(on, [id], { payload: 'two' }),
  );
  expect(answer).toMatchObject([{ id, changed: true }]);
  if (lease) await release(client, lease);
  await makeDue(client, 'q');
  await promote(client);
  const changed = { id, priority: 3, payload: 'two' };
  expect(await claim(client, 'q', { limit: 9 })).toMatchObject([changed]);
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

test.each(Object.keys(ends))(
  'a task cancelled in an open transaction, and meanwhile %s, is retried at most once',
  async (how) => {
    for (const state of ['ready', 'running']) {
      const id = await addTask();
      const open = await begin();
      const claimed = state === 'running' ? await claim(client, 'q') : undefined;
      expect(await cancel(open, [id])).toMatchObject([{ changed: true }]);
      await ends[how]?.(client, leaseOf(claimed ?? (await claim(client, 'q'))));
      await open.query('commit');
      const again = await claim(client, 'q', { limit: 9 });
      if ((await task(client, id))?.state === 'waiting') {
        expect(again).toEqual([]);
      } else {
        expect(again).toMatchObject([{ id }]);
        expect(await cancel(client, [id])).toEqual([{ id, state: 'running', changed: true }]);
        expect(await cancelRequests(client, leaseOf(again))).toEqual([id]);
        await ends[how]?.(client, leaseOf(again));
      }
      await expectNothingLeft(client);
      expect((await task(client, id))?.state).toBe('cancelled');
    }
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
});

test('an earlier change between two attempts does not override a later one', async () => {
  const id = await addTask();
  const open = await begin();
  const first = await claim(client, 'q');
  await change(open, [id], { payload: 'first', priority: 1 });
  await fail(client, leaseOf(first), { retry_in_seconds: 60 });
  await open.query('commit');
  await change(client, [id], { payload: 'second' });
  await makeDue(client, 'q');
  await promote(client);
  const second = await claim(client, 'q');
  expect(second).toMatchObject([{ id, attempt: 2, payload: 'second', priority: 5 }]);
  await change(client, [id], { delay_seconds: 0 });
  await fail(client, leaseOf(second), { retry_in_seconds: 0 });
  expect(await claim(client, 'q')).toMatchObject([{ id, payload: 'second', priority: 1 }]);
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
  const payloads = Object.fromEntries(last.map((run) => [run.id, run.payload]));
  expect(payloads).toEqual({ [ids[1]]: 'new', [ids[2]]: null });
  expect((await task(client, ids[0]))?.state).toBe('cancelled');
  await complete(client, leaseOf(last));
  await expectNothingLeft(client);
});

test('a change and a cancel of tasks in two segments lock them in the same order', async () => {
  await enqueue(client, 'x', [{}]);
  await enqueue(client, 'y', [{}]);
  const [a] = (await enqueue(client, 'y', [{}])) as [string];
  await startNextSegment(client);
  const [c, b] = (await enqueue(client, 'x', [{}, {}])) as [string, string];
  const stop = await begin();
  await cancel(stop, [c]);
  const call = (on: pg.Client) => change(on, [a, b, c], { priority: 1 });
  const changing = await blocked(await db.connect(), call);
  const cancelling = await blocked(await db.connect(), (on) => cancel(on, [a, b]));
  await stop.query('rollback');
  expect((await changing()).filter((row) => row.changed)).toHaveLength(3);
  expect((await cancelling()).map((row) => row.state)).toEqual(['cancelled', 'cancelled']);
});
