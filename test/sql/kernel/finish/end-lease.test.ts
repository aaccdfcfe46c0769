import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  extend,
  fail,
  leaseOf,
  numberedTasks,
  release,
  task,
  value,
} from '../../verbs.ts';
import { moveNearSegmentEnd, startNextSegment } from '../segment/segments.ts';
import { begin, invariantsAfterEach, leased, overlapping } from '../sessions.ts';

// The functions that end runs are compiled for the current segment. A lease of another segment takes a slower way.
databasePerTest();
invariantsAfterEach();

const segmentOf = (id: string) =>
  value<number>(client, 'select tock.segment_of($1::bigint >> 20)', [id]);

const again = { error: { name: 'Boom' }, retry_in_seconds: 0 };

async function claimOne(queue: string, on = client) {
  const [run] = await claim(on, queue);
  if (!run) throw new Error(`Nothing was ready in ${queue}.`);
  return run;
}

/** The verbs that end a part of a lease: each with a queue, the expected answer and the task's next state. */
type End = (lease: string, id: string) => Promise<unknown>;
const failed = (dead: number) => ({ failed: 1, dead });
const ends: [queue: string, end: End, answer: object, state: string][] = [
  ['failed', (lease, id) => fail(client, lease, [{ id, ...again }]), failed(0), 'ready'],
  ['later', (lease) => fail(client, lease, { retry_in_seconds: 99 }), failed(0), 'waiting'],
  ['dead', (lease, id) => fail(client, lease, [{ id, fatal: true }]), failed(1), 'dead'],
  ['released', (lease) => release(client, lease), { released: 1 }, 'ready'],
  ['done', (lease, id) => complete(client, lease, [{ id, result: 7 }]), { completed: 1 }, 'done'],
];

/** Claims a task for each verb, lets `meanwhile` happen, and then ends the tasks. */
async function endAfter(meanwhile: () => Promise<unknown>): Promise<void> {
  const held: { id: string; lease: string }[] = [];
  for (const [queue] of ends) {
    await enqueue(client, queue, numberedTasks(1));
    held.push(await claimOne(queue));
  }
  await meanwhile();
  for (const [n, [, end, counts, state]] of ends.entries()) {
    const answer = { ...counts, refused: [] };
    const { id, lease } = held[n] as (typeof held)[0];
    expect(await end(lease, id)).toEqual(answer);
    expect(await task(client, id)).toMatchObject({ state });
    expect(await end(lease, id)).toEqual(answer);
  }
  const open = 'select count(*)::int from tock.leases where closed_at is null';
  expect(await value(client, open)).toBe(0);
  await expectInvariants(client);
  for (const queue of ['failed', 'released']) {
    const run = await claimOne(queue);
    expect(await segmentOf(run.run_id)).toBe(2);
    expect(await complete(client, run.lease)).toMatchObject({ completed: 1 });
  }
}

test('a lease of a closed segment ends like any other', () =>
  endAfter(() => startNextSegment(client)));

test('a retry after the sequence has entered the next segment lies there', () =>
  endAfter(() => moveNearSegmentEnd(client, 0)));

test('retries at the boundary of a segment lie on both sides, and none is lost', async () => {
  const ids = await enqueue(client, 'edge', numberedTasks(20));
  const runs = await claim(client, 'edge', { limit: 20 });
  await moveNearSegmentEnd(client, 10);
  expect(await release(client, leaseOf(runs))).toEqual({ released: 20, refused: [] });
  const next = (await drain(client, 'edge')).flat();
  expect(next.map((run) => run.id)).toEqual(ids);
  const segments = [0, 19].map((n) => segmentOf(next[n]?.run_id as string));
  expect(await Promise.all(segments)).toEqual([1, 2]);
});

test('retries proceed while the next segment is compiled', async () => {
  const { lease, ids } = await leased(2);
  const [first, second] = ids as [string, string];
  await fail(client, lease, [{ id: second, fatal: true }]);
  const [, failed] = await overlapping(
    (on) => complete(on, lease, [{ id: first, result: 1 }]),
    (on) => fail(on, lease, [{ id: first, ...again }]),
    'rollback',
    () => startNextSegment(client),
  );
  expect(failed).toEqual({ failed: 1, dead: 0, refused: [] });
  expect(await value(client, 'select min(outcome) from tock.leases where runs > 0')).toBe('done');
  expect(await claimOne('q')).toMatchObject({ id: first, attempt: 2 });
});

test('a task that one call completes and another fails is done, and is not retried', async () => {
  const { lease, ids } = await leased(2);
  const [first, second] = ids as [string, string];
  const [, failed] = await overlapping(
    (on) => complete(on, lease, [{ id: first, result: 1 }]),
    (on) =>
      fail(
        on,
        lease,
        [first, second].map((id) => ({ id, ...again })),
      ),
  );
  expect(failed).toEqual({ failed: 1, dead: 0, refused: [first] });
  expect(await task(client, first)).toMatchObject({ state: 'done', result: 1 });
  expect((await drain(client, 'q')).flat()).toMatchObject([{ id: second, attempt: 2 }]);
});

test('a task that one call fails and another completes is retried, and is not done', async () => {
  const { lease, ids } = await leased(2);
  const [first, second] = ids as [string, string];
  const [, completed] = await overlapping(
    (on) => fail(on, lease, [{ id: first, ...again }]),
    (on) =>
      complete(
        on,
        lease,
        [first, second].map((id) => ({ id, result: 1 })),
      ),
  );
  expect(completed).toEqual({ completed: 1, refused: [first] });
  expect((await drain(client, 'q')).flat()).toMatchObject([{ id: first, attempt: 2 }]);
});

test('each of many leases that are completed and failed concurrently ends in one way', async () => {
  await enqueue(client, 'race', numberedTasks(150));
  const held = (await drain(client, 'race', { limit: 1 })).flat();
  const [completing, failing] = [await db.connect(), await db.connect()];
  const done = held.map(({ id, lease }) => complete(completing, lease, [{ id, result: 1 }]));
  const failed = held.map(({ id, lease }) => fail(failing, lease, [{ id, ...again }]));
  const completions = await Promise.all(done);
  const failures = await Promise.all(failed);
  for (const [n] of held.entries())
    expect((completions[n]?.completed ?? 0) + (failures[n]?.failed ?? 0)).toBe(1);
  const went = failures.filter((answer) => answer?.failed === 1).length;
  expect((await drain(client, 'race')).flat()).toHaveLength(went);
});

test('a pending change holds for a task whose first run lies in a closed segment', async () => {
  const [id] = (await enqueue(client, 'q', numberedTasks(1))) as [string];
  const first = await claimOne('q');
  await startNextSegment(client);
  await fail(client, first.lease, { retry_in_seconds: 0 });
  const second = await claimOne('q');
  const open = await begin();
  await open.query('select tock.cancel(array[$1]::bigint[])', [id]);
  await fail(client, second.lease, { retry_in_seconds: 0 });
  await open.query('commit');
  const third = await claimOne('q');
  expect([await segmentOf(second.run_id), await segmentOf(third.run_id)]).toEqual([2, 2]);
  // The third run sees only the pending change at the first run.
  await fail(client, third.lease, { retry_in_seconds: 0 });
  expect(await task(client, id)).toMatchObject({ state: 'cancelled' });
});

test("a retried run that is named by its task's id and its own is retried once", async () => {
  const [id] = (await enqueue(client, 'q', numberedTasks(1))) as [string];
  await fail(client, (await claimOne('q')).lease, { retry_in_seconds: 0 });
  const { lease, run_id } = await claimOne('q');
  const named = [id, run_id].map((name) => ({ id: name, ...again }));
  expect(await fail(client, lease, named)).toEqual({ failed: 2, dead: 0, refused: [] });
  expect(await fail(client, lease, named)).toEqual({ failed: 2, dead: 0, refused: [] });
  const third = await claimOne('q');
  expect(third).toMatchObject({ id, attempt: 3 });
  expect(await claim(client, 'q')).toEqual([]);
  // Of two outcomes for one run, the one by its own id counts.
  const both = [
    { id, fatal: true },
    { id: third.run_id, ...again },
  ];
  expect(await fail(client, third.lease, both)).toEqual({ failed: 2, dead: 0, refused: [] });
  expect(await task(client, id)).toMatchObject({ state: 'ready' });
});

test('thousands of retried runs end by either id, and runs of other leases are refused', async () => {
  const count = 3000;
  await enqueue(client, 'q', numberedTasks(count));
  const [first] = await drain(client, 'q', { limit: count });
  await fail(client, leaseOf(first ?? []), { retry_in_seconds: 0 });
  const runs = await claim(client, 'q', { limit: count });
  expect(runs).toHaveLength(count);
  const named = runs.map(({ id, run_id }, n) => ({ id: n % 2 ? id : run_id }));
  const strangers = ['4', '1', '3'].map((id) => ({ id }));
  expect(await complete(client, leaseOf(runs), [...strangers, ...named])).toEqual({
    completed: count,
    refused: ['4', '1', '3'],
  });
});

test('an unknown lease is refused, with or without named runs', async () => {
  const none = null as unknown as string;
  expect(await complete(client, none, [{ id: '1' }])).toBeUndefined();
  expect(await fail(client, none, [{ id: '1', ...again }])).toBeUndefined();
  expect(await release(client, none, ['1'])).toBeUndefined();
  expect(await extend(client, none)).toBeUndefined();
});
