import { describe, expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  refusal,
  rows,
  task,
  waitForState,
} from '../../verbs.ts';
import { cancel, newQueue, stateOf, statesOf } from './spawns.ts';

databasePerFile();

/** Claims ready tasks, one by default. */
const take = (queue: string, limit = 1) => claim(client, queue, { limit });

test.each<[string, object?]>([['with its lease'], ['with a result', { result: 1 }]])(
  'a task is ready when its parent is completed %s',
  async (_, result) => {
    const queue = newQueue();
    const [parent = ''] = await enqueue(client, queue, [{ payload: 'parent' }]);
    const [child = ''] = await enqueue(client, queue, [{ payload: 'child', depends_on: [parent] }]);
    const runs = await take(queue);
    expect(runs.map((run) => run.id)).toEqual([parent]);
    expect(await stateOf(child)).toBe('waiting');
    await complete(client, leaseOf(runs), result && [{ id: parent, ...result }]);
    expect(await stateOf(child)).toBe('ready');
    expect((await take(queue)).map((run) => run.payload)).toEqual(['child']);
  },
);

test('tasks of one call wait for each other by name, in any order', async () => {
  const queue = newQueue();
  const ids = await enqueue(client, queue, [
    { payload: 'load', depends_on: ['parse', 'fetch'] },
    { payload: 'parse', name: 'parse', depends_on: ['fetch'] },
    { payload: 'fetch', name: 'fetch' },
  ]);
  expect(await statesOf(ids)).toEqual(['waiting', 'waiting', 'ready']);
  await complete(client, leaseOf(await take(queue)));
  expect(await statesOf(ids)).toEqual(['waiting', 'ready', 'done']);
  await complete(client, leaseOf(await take(queue)));
  expect(await statesOf(ids)).toEqual(['ready', 'done', 'done']);
});

test('a task after * becomes ready when all tasks before it in the call have ended', async () => {
  const queue = newQueue();
  const ids = await enqueue(client, queue, [...numberedTasks(20), { depends_on: ['*'] }]);
  const callback = ids.pop() as string;
  for (let left = 20; left > 0; left -= 4) {
    expect(await stateOf(callback)).toBe('waiting');
    await complete(client, leaseOf(await take(queue, 4)));
  }
  expect(await stateOf(callback)).toBe('ready');
});

describe.each<[string, (queue: string, id: string) => Promise<unknown>]>([
  ['is dead', async (queue) => fail(client, leaseOf(await take(queue)), { fatal: true })],
  ['is cancelled', (_, id) => cancel(id)],
])('when a parent %s', (how, end) => {
  test.each([
    ['cancel', 'cancelled'],
    ['run', 'ready'],
    ['wait', 'waiting'],
  ])('its child may %s', async (on_parent_failure, state) => {
    const queue = newQueue();
    const [parent = ''] = await enqueue(client, queue, [{}]);
    const [child = ''] = await enqueue(client, queue, [
      { depends_on: [parent], on_parent_failure },
    ]);
    await end(queue, parent);
    await waitForState(client, child, state);
    await promote(client);
    expect(await stateOf(child)).toBe(state);
    if (state !== 'waiting' || how !== 'is dead') return;
    // A child that waits becomes ready when the redriven parent is done.
    await client.query('select tock.redrive($1)', [queue]);
    const [again] = await take(queue);
    expect(again?.id).not.toBe(parent);
    await complete(client, again?.lease as string);
    expect(await stateOf(child)).toBe('ready');
  });
});

const cycle = 'this task and others wait for each other in a cycle';

test.each<[tasks: object[], message: string, field: string]>([
  [[{ depends_on: ['b'] }], 'no task of this call is named b', '0].depends_on[0]'],
  [[{ name: 'a' }, { name: 'a' }], 'the name a is used twice in this call', '1].name'],
  [
    [
      {},
      { name: 'a', depends_on: ['b'] },
      { name: 'b', depends_on: ['c'] },
      { name: 'c', depends_on: ['a'] },
    ],
    cycle,
    '1].depends_on',
  ],
  [[{ name: 'a', depends_on: ['a'] }], cycle, '0].depends_on'],
  [
    [{ depends_on: ['12345678901'] }],
    'task 12345678901 does not exist, or its history is gone',
    '0].depends_on[0]',
  ],
  [
    [{ name: '12' }],
    'name must be a string of 1 to 200 characters, not only digits and not *',
    '0].name',
  ],
  [[{ include_results: true }], 'include_results needs depends_on', '0].include_results'],
])('refused: %j', async (tasks, message, field) => {
  const refused = await refusal(enqueue(client, newQueue(), tasks));
  expect(refused).toMatchObject({ code: 'TK422', message, detail: `tasks[${field}` });
});

test('a cancelled child names the parent that cancelled it, and its own children are cancelled too', async () => {
  const queue = newQueue();
  const chain = Array.from({ length: 50 }, (_, n) => ({
    name: `t${n}`,
    depends_on: n === 0 ? [] : [`t${n - 1}`],
  }));
  const ids = await enqueue(client, queue, chain);
  await fail(client, leaseOf(await take(queue)), { fatal: true });
  expect(await statesOf(ids)).toEqual(['dead', ...Array(49).fill('cancelled')]);
  expect(await task(client, ids[1] as string)).toMatchObject({
    error: { name: 'ParentFailed', message: `task ${ids[0]}, which this task depends on, is dead` },
  });
  const left =
    'select from tock.dependency_waits where child = any (array(select unnest($1::bigint[]) >> 20))';
  expect(await rows(client, left, [ids])).toEqual([]);
});

test('a child keeps its own delay and its own concurrency key', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{}]);
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const ids = await enqueue(client, queue, [
    { depends_on: [parent], run_at: soon },
    { depends_on: [parent], concurrency_key: 'g' },
    { depends_on: [parent], concurrency_key: 'g' },
    { depends_on: [parent], delay_seconds: 3600 },
  ]);
  const reschedule = 'select tock.reschedule(array[$1::bigint], now())';
  // A child that is rescheduled still waits for its parents.
  await client.query(reschedule, [ids[3]]);
  await promote(client);
  expect(await statesOf(ids)).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
  await complete(client, leaseOf(await take(queue)));
  expect(await statesOf(ids)).toEqual(['waiting', 'ready', 'waiting', 'ready']);
  expect((await task(client, ids[0] as string))?.run_at?.toISOString()).toBe(soon);
  await client.query(reschedule, [ids[0]]);
  expect(await stateOf(ids[0] as string)).toBe('ready');
});

test('a task whose parents have ended is ready at once', async () => {
  const queue = newQueue();
  const parents = await enqueue(client, queue, numberedTasks(30));
  await complete(client, leaseOf(await take(queue, 30)));
  const twice = [...parents, ...parents];
  const [child = ''] = await enqueue(client, queue, [{ depends_on: twice }]);
  expect(await stateOf(child)).toBe('ready');
  // A parent that is named twice counts once.
  expect((await task(client, child))?.options).toMatchObject({ depends_on: parents });
});
