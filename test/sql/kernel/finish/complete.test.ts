import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
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
import { spreadTasks } from '../sessions.ts';

databasePerFile();
afterAll(() => expectInvariants(client));

let queues = 0;

/** Claims tasks in one lease, over one or several streams. */
async function leased(count: number, streams = 2): Promise<[lease: string, runs: Run[]]> {
  const queue = `q${++queues}`;
  const tasks = spreadTasks(count, streams);
  // A call of more than 5,000 tasks would take several slots, and so several streams.
  for (let n = 0; n < count; n += 5000) await enqueue(client, queue, tasks.slice(n, n + 5000));
  const runs = await claim(client, queue, { limit: count, worker: 'w' });
  expect(runs).toHaveLength(count);
  return [leaseOf(runs), runs];
}

const ids = (runs: Run[]) => runs.map((run) => run.id);
const state = async (run: Run | undefined) => (await task(client, run?.id as string))?.state;
const ofLease = 'select count(*)::int from tock.leases where token = $1 and closed_at is null';
const open = (lease: string) => value(client, ofLease, [lease]);

test('one call completes all tasks of a lease, and a repeat answers the same', async () => {
  const [lease, runs] = await leased(20);
  const answer = { completed: 20, refused: [] };
  expect(await complete(client, lease)).toEqual(answer);
  const ended = await task(client, runs[0]?.id as string);
  expect(await complete(client, lease)).toEqual(answer);
  expect(await task(client, runs[0]?.id as string)).toEqual(ended);
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
  const refused = [first];
  const other = await complete(client, lease, [{ id: first, result: 2 }]);
  expect(other).toEqual({ completed: 0, refused });
  const both = [first, second].map((id) => ({ id, result: 2 }));
  expect(await complete(client, lease, both)).toEqual({ completed: 1, refused });
  expect((await task(client, first as string))?.result).toBe(1);
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

test('a large lease is completed with ten thousand results in one call', async () => {
  const [lease, runs] = await leased(10_000, 1);
  const results = runs.map((run) => ({ id: run.id, result: run.payload }));
  expect(await complete(client, lease, results)).toEqual({ completed: 10_000, refused: [] });
  expect((await task(client, runs[7777]?.id as string))?.result).toBe(runs[7777]?.payload);
  expect(await open(lease)).toBe(0);
});

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
])('a completion is refused with the name of the field for %s', async (_, results, field) => {
  const [lease] = await leased(1);
  const refused = await refusal(complete(client, lease, results));
  expect(refused).toMatchObject({ code: 'TK422', detail: field });
  expect(await open(lease)).toBe(1);
});

test.each([
  [1, 3],
  [3, 1],
])(
  'a whole completion of a lease over two streams with %i and %i runs counts all but the failed',
  async (low, high) => {
    const queue = `rows-${low}`;
    await enqueue(client, queue, numberedTasks(low, 0, { priority: 1 }));
    await enqueue(client, queue, numberedTasks(high, 0, { priority: 2 }));
    const runs = await claim(client, queue, { limit: 9 });
    const lease = leaseOf(runs);
    const failed = runs.filter((run) => run.priority === 1).map(({ id }) => ({ id, fatal: true }));
    await fail(client, lease, failed);
    for (let call = 0; call < 2; call++)
      expect(await complete(client, lease)).toMatchObject({ completed: high });
  },
);

const named = (part?: string[], end = {}) => part?.map((id) => ({ id, ...end }));
type End = (lease: string, part?: string[]) => Promise<object | undefined>;
const wholeEnds: Record<string, End> = {
  complete: (lease, part) => complete(client, lease, named(part)),
  fail: (lease, part) => fail(client, lease, named(part, { fatal: true }) ?? { fatal: true }),
  release: (lease, part) => release(client, lease, part),
};

test.each(Object.entries(wholeEnds))(
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
