import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  type Run,
  refusal,
  release,
  task,
  value,
} from '../../verbs.ts';

let db: Database;
let client: pg.Client;
let queues = 0;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(async () => {
  await expectInvariants(client);
  await db.drop();
});

/** Claims tasks in one lease, over one or several streams. */
async function leased(count: number, streams = 2): Promise<[lease: string, runs: Run[]]> {
  const queue = `q${++queues}`;
  const tasks = numberedTasks(count).map((numberedTask, n) => ({
    ...numberedTask,
    priority: n % streams,
  }));
  // A call of more than 5,000 tasks would take several slots, and so several streams.
  for (let n = 0; n < count; n += 5000) await enqueue(client, queue, tasks.slice(n, n + 5000));
  const runs = await claim(client, queue, { limit: count, worker: 'w' });
  expect(runs).toHaveLength(count);
  return [leaseOf(runs), runs];
}

const ids = (runs: Run[]) => runs.map((run) => run.id);
const state = async (run: Run | undefined) => (await task(client, run?.id as string))?.state;
const open = (lease: string) =>
  value(client, 'select count(*)::int from tock.leases where token = $1 and closed_at is null', [
    lease,
  ]);

test('one call completes all tasks of a lease, and a repeat answers the same', async () => {
  const [lease, runs] = await leased(20);
  expect(await state(runs[0])).toBe('running');
  const answer = { completed: 20, refused: [] };
  expect(await complete(client, lease)).toEqual(answer);
  const ended = (await task(client, runs[0]?.id as string))?.ended_at;
  expect(await complete(client, lease)).toEqual(answer);
  expect((await task(client, runs[0]?.id as string))?.ended_at).toEqual(ended);
  for (const run of runs) expect(await state(run)).toBe('done');
});

test('a task keeps its result, and the other tasks of its lease keep running', async () => {
  const [lease, runs] = await leased(3);
  const results = [{ id: runs[1]?.id, result: { sum: 3 } }];
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
  expect(await task(client, runs[1]?.id as string)).toMatchObject({
    state: 'done',
    result: { sum: 3 },
    runs: [{ state: 'done', worker: 'w', attempt: 1 }],
  });
  expect(await state(runs[0])).toBe('running');
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
});

test('a different result is refused, and changes nothing', async () => {
  const [lease, runs] = await leased(2);
  const [first, second] = ids(runs);
  await complete(client, lease, [{ id: first, result: 1 }]);
  expect(await complete(client, lease, [{ id: first, result: 2 }])).toEqual({
    completed: 0,
    refused: [first],
  });
  const both = [
    { id: first, result: 2 },
    { id: second, result: 2 },
  ];
  expect(await complete(client, lease, both)).toEqual({ completed: 1, refused: [first] });
  expect((await task(client, first as string))?.result).toBe(1);
});

test('a lease is closed when its last task is completed, one by one', async () => {
  const [lease, runs] = await leased(5);
  for (const id of ids(runs)) {
    expect(await open(lease)).not.toBe(0);
    expect(await complete(client, lease, [{ id }])).toEqual({ completed: 1, refused: [] });
  }
  expect(await open(lease)).toBe(0);
});

test('a part of a lease, then the rest', async () => {
  const [lease, runs] = await leased(10);
  await complete(
    client,
    lease,
    ids(runs.slice(0, 4)).map((id) => ({ id, result: 'part' })),
  );
  expect(await complete(client, lease)).toEqual({ completed: 10, refused: [] });
  expect((await task(client, runs[0]?.id as string))?.result).toBe('part');
  expect(await task(client, runs[9]?.id as string)).toMatchObject({ state: 'done', result: null });
});

test('tasks of another lease are refused, and those of this lease are completed', async () => {
  const [lease, runs] = await leased(2);
  const [other, theirs] = await leased(2);
  const mixed = [...ids(theirs), ...ids(runs)].map((id) => ({ id, result: 1 }));
  expect(await complete(client, lease, mixed)).toEqual({ completed: 2, refused: ids(theirs) });
  expect(await state(theirs[0])).toBe('running');
  expect(await complete(client, lease, [{ id: theirs[0]?.id }])).toBeUndefined();
  expect(await complete(client, other)).toMatchObject({ completed: 2 });
});

test('an unknown lease completes no run', async () => {
  const [lease, runs] = await leased(1);
  const unknown = '00000000-0000-4000-8000-000000000001';
  const close = `${lease.slice(0, 28)}${lease[28] === '0' ? '1' : '0'}${lease.slice(29)}`;
  const far = `${lease.slice(0, 29)}fffffff`;
  for (const token of [unknown, close, far]) {
    expect(await complete(client, token)).toBeUndefined();
    expect(await complete(client, token, [{ id: runs[0]?.id }])).toBeUndefined();
  }
  expect(await state(runs[0])).toBe('running');
});

test('two workers that complete the last two tasks concurrently leave nothing running', async () => {
  const [lease, runs] = await leased(2, 1);
  const other = await db.connect();
  await client.query('begin');
  await other.query('begin');
  expect(await complete(client, lease, [{ id: runs[0]?.id }])).toMatchObject({ completed: 1 });
  expect(await complete(other, lease, [{ id: runs[1]?.id }])).toMatchObject({ completed: 1 });
  await client.query('commit');
  await other.query('commit');
  expect([await state(runs[0]), await state(runs[1])]).toEqual(['done', 'done']);
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 s' where token = $1",
    [lease],
  );
  expect(await value(client, 'select tock.reap(p_sweep => true)')).toBe(0);
  expect(await open(lease)).toBe(0);
  expect([await state(runs[0]), await state(runs[1])]).toEqual(['done', 'done']);
});

test('a large lease is completed with ten thousand results in one call', async () => {
  const [lease, runs] = await leased(10_000, 1);
  const results = runs.map((run) => ({ id: run.id, result: run.payload }));
  expect(await complete(client, lease, results)).toEqual({ completed: 10_000, refused: [] });
  expect((await task(client, runs[7777]?.id as string))?.result).toBe(runs[7777]?.payload);
  expect(await open(lease)).toBe(0);
});

describe('a completion is refused with the name of the field for', () => {
  test.each([
    ['results that are no array', { id: '1' }, 'results'],
    ['no results', [], 'results'],
    ['a result without an id', [{ id: '1' }, { result: 1 }], 'results[1].id'],
    ['an id that is none', [{ id: 'abc' }], 'results[0].id'],
    ['a negative id', [{ id: -5 }], 'results[0].id'],
    ['an id beyond bigint', [{ id: '9223372036854775808' }], 'results[0].id'],
    ['an id twice', [{ id: '5' }, { id: '6' }, { id: '5' }], 'results[2].id'],
    ['an unknown key', [{ id: '5', outcome: 1 }], 'results[0]'],
    ['a huge result', [{ id: '5', result: 'x'.repeat(300_000) }], 'results[0].result'],
  ])('%s', async (_, results, field) => {
    const [lease] = await leased(1);
    expect(await refusal(complete(client, lease, results))).toMatchObject({
      code: 'TK422',
      detail: field,
    });
    expect(await open(lease)).toBe(1);
  });
});

test('a whole completion counts the completed runs of a lease over several streams, failed runs aside', async () => {
  for (const [low, high] of [
    [1, 3],
    [3, 1],
  ] as const) {
    const queue = `rows-${low}`;
    await enqueue(client, queue, numberedTasks(low, 0, { priority: 1 }));
    await enqueue(client, queue, numberedTasks(high, 0, { priority: 2 }));
    const runs = await claim(client, queue, { limit: 9 });
    const lease = leaseOf(runs);
    const failed = runs.filter((run) => run.priority === 1).map(({ id }) => ({ id, fatal: true }));
    await fail(client, lease, failed);
    expect(await complete(client, lease)).toMatchObject({ completed: high });
    expect(await complete(client, lease)).toMatchObject({ completed: high });
  }
});

test.each([
  [
    'complete',
    (lease: string, part?: string[]) =>
      complete(
        client,
        lease,
        part?.map((id) => ({ id })),
      ),
  ],
  [
    'fail',
    (lease: string, part?: string[]) =>
      fail(client, lease, part?.map((id) => ({ id, fatal: true })) ?? { fatal: true }),
  ],
  ['release', (lease: string, part?: string[]) => release(client, lease, part)],
])(
  'to %s a whole lease answers the same when it is repeated, after some runs ended by id',
  async (_, end) => {
    const [lease, runs] = await leased(6);
    const part = runs.filter((run) => run.priority === 0).map((run) => run.id);
    expect(Object.values((await end(lease, part)) ?? {})).toContain(3);
    const answer = await end(lease);
    expect(Object.values(answer ?? {})).toContain(6);
    expect(await end(lease)).toEqual(answer);
  },
);
