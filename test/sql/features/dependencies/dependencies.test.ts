import { describe, expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  reap,
  refusal,
  task,
  value,
} from '../../verbs.ts';

databasePerFile();

let queues = 0;
const newQueue = () => `q${++queues}`;
const stateOf = async (id: string) => (await task(client, id))?.state;
async function states(ids: string[]): Promise<(string | undefined)[]> {
  const all = [];
  for (const id of ids) all.push(await stateOf(id));
  return all;
}

/** Promotes until a task is in a state: a child that missed its parent's end is found by the next sweep. */
async function becomes(id: string, state: string): Promise<void> {
  const look = async () => {
    await promote(client);
    return stateOf(id);
  };
  await expect.poll(look).toBe(state);
}

/** Claims ready tasks, one by default. */
async function take(queue: string, limit = 1) {
  return claim(client, queue, { limit });
}

const ends: [string, (lease: string, id: string) => Promise<unknown>][] = [
  ['with its lease', (lease) => complete(client, lease)],
  ['with a result', (lease, id) => complete(client, lease, [{ id, result: 1 }])],
];

for (const [how, end] of ends) {
  test(`a task is ready when its parent is completed ${how}`, async () => {
    const queue = newQueue();
    const [parent = ''] = await enqueue(client, queue, [{ payload: 'parent' }]);
    const [child = ''] = await enqueue(client, queue, [{ payload: 'child', depends_on: [parent] }]);
    const runs = await take(queue);
    expect(runs.map((run) => run.id)).toEqual([parent]);
    expect(await stateOf(child)).toBe('waiting');
    await end(leaseOf(runs), parent);
    expect(await stateOf(child)).toBe('ready');
    expect((await take(queue)).map((run) => run.payload)).toEqual(['child']);
  });
}

test('tasks of one call wait for each other by name, in any order', async () => {
  const queue = newQueue();
  const [load = '', parse = '', fetch = ''] = await enqueue(client, queue, [
    { payload: 'load', depends_on: ['parse', 'fetch'] },
    { payload: 'parse', name: 'parse', depends_on: ['fetch'] },
    { payload: 'fetch', name: 'fetch' },
  ]);
  expect(await states([load, parse, fetch])).toEqual(['waiting', 'waiting', 'ready']);
  await complete(client, leaseOf(await take(queue)));
  expect(await states([load, parse, fetch])).toEqual(['waiting', 'ready', 'done']);
  await complete(client, leaseOf(await take(queue)));
  expect(await states([load, parse, fetch])).toEqual(['ready', 'done', 'done']);
});

test('a task after * becomes ready when all tasks before it in the call have ended', async () => {
  const queue = newQueue();
  const ids = await enqueue(client, queue, [
    ...numberedTasks(20),
    { payload: 'callback', depends_on: ['*'] },
  ]);
  const callback = ids.pop() as string;
  for (let left = 20; left > 0; left -= 4) {
    expect(await stateOf(callback)).toBe('waiting');
    await complete(client, leaseOf(await take(queue, 4)));
  }
  expect(await stateOf(callback)).toBe('ready');
});

describe('when a parent', () => {
  const fates: [string, (queue: string, id: string) => Promise<unknown>][] = [
    ['is dead', async (queue) => fail(client, leaseOf(await take(queue)), { fatal: true })],
    ['is cancelled', (_, id) => client.query('select tock.cancel(array[$1::bigint])', [id])],
  ];
  for (const [what, end] of fates) {
    for (const [choice, is] of [
      ['cancel', 'cancelled'],
      ['run', 'ready'],
      ['wait', 'waiting'],
    ] as const) {
      test(`${what}, its child may ${choice}`, async () => {
        const queue = newQueue();
        const [parent = ''] = await enqueue(client, queue, [{}]);
        const [child = ''] = await enqueue(client, queue, [
          { depends_on: [parent], on_parent_failure: choice },
        ]);
        await end(queue, parent);
        if (choice !== 'wait') await becomes(child, is);
        await promote(client);
        expect(await stateOf(child)).toBe(is);
      });
    }
  }
});

for (const [bad, message, field] of [
  [[{ depends_on: ['b'] }], 'no task of this call is named b', 'tasks[0].depends_on[0]'],
  [[{ name: 'a' }, { name: 'a' }], 'the name a is used twice in this call', 'tasks[1].name'],
  [
    [
      {},
      { name: 'a', depends_on: ['b'] },
      { name: 'b', depends_on: ['c'] },
      { name: 'c', depends_on: ['a'] },
    ],
    'this task and others wait for each other in a cycle',
    'tasks[1].depends_on',
  ],
  [
    [{ name: 'a', depends_on: ['a'] }],
    'this task and others wait for each other in a cycle',
    'tasks[0].depends_on',
  ],
  [
    [{ depends_on: ['12345678901'] }],
    'task 12345678901 does not exist, or its history is gone',
    'tasks[0].depends_on[0]',
  ],
  [
    [{ name: '12' }],
    'name must be a string of 1 to 200 characters, not only digits and not *',
    'tasks[0].name',
  ],
  [[{ include_results: true }], 'include_results needs depends_on', 'tasks[0].include_results'],
] as const) {
  test(`refused: ${JSON.stringify(bad)}`, async () => {
    const queue = newQueue();
    expect(await refusal(enqueue(client, queue, bad))).toMatchObject({
      code: 'TK422',
      message,
      detail: field,
    });
  });
}

test('a child of a dead task becomes ready when the redriven task is done', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{}]);
  const [child = ''] = await enqueue(client, queue, [
    { depends_on: [parent], on_parent_failure: 'wait' },
  ]);
  await fail(client, leaseOf(await take(queue)), { fatal: true });
  expect(await stateOf(child)).toBe('waiting');
  await client.query('select tock.redrive($1)', [queue]);
  const [again] = await take(queue);
  expect(again?.id).not.toBe(parent);
  expect(await stateOf(child)).toBe('waiting');
  await complete(client, again?.lease as string);
  expect(await stateOf(child)).toBe('ready');
});

test('a cancelled child names the parent that cancelled it, and its own children are cancelled too', async () => {
  const queue = newQueue();
  const chain = Array.from({ length: 50 }, (_, n) => ({
    name: `t${n}`,
    depends_on: n === 0 ? [] : [`t${n - 1}`],
  }));
  const ids = await enqueue(client, queue, chain);
  await fail(client, leaseOf(await take(queue)), { fatal: true });
  expect(await states(ids)).toEqual(['dead', ...Array(49).fill('cancelled')]);
  expect(await task(client, ids[1] as string)).toMatchObject({
    error: { name: 'ParentFailed', message: `task ${ids[0]}, which this task depends on, is dead` },
  });
  expect(await value(client, 'select count(*)::integer from tock.dependency_waits')).toBe(
    await value(
      client,
      'select count(*)::integer from tock.waiting where due_after_parents is not null',
    ),
  );
});

describe('a child waits for a parent that', () => {
  const detours: [string, object, (queue: string, id: string) => Promise<unknown>][] = [
    [
      'is tried again at once',
      {},
      async (queue) => fail(client, leaseOf(await take(queue)), { retry_in_seconds: 0 }),
    ],
    [
      'is tried again later',
      {},
      async (queue, id) => {
        await fail(client, leaseOf(await take(queue)), { retry_in_seconds: 0.05 });
        await becomes(id, 'ready');
      },
    ],
    ['was delayed', { delay_seconds: 0.05 }, async (_, id) => becomes(id, 'ready')],
    [
      'is lost',
      {},
      async (queue) => {
        await expire(client, leaseOf(await take(queue)));
        await reap(client);
      },
    ],
    [
      'is released',
      {},
      async (queue) => client.query('select tock.release($1)', [leaseOf(await take(queue))]),
    ],
    [
      'gets another priority',
      {},
      async (_, id) => client.query('select tock.reprioritize(array[$1::bigint], 1)', [id]),
    ],
    ['waits at a concurrency key', { concurrency_key: 'g' }, async (_, id) => becomes(id, 'ready')],
  ];
  for (const [what, options, detour] of detours) {
    test(what, async () => {
      const queue = newQueue();
      const [parent = ''] = await enqueue(client, queue, [options]);
      const [child = ''] = await enqueue(client, queue, [{ depends_on: [parent] }]);
      await detour(queue, parent);
      expect(await stateOf(child)).toBe('waiting');
      const runs = await take(queue);
      expect(runs.map((run) => run.id)).toEqual([parent]);
      await complete(client, leaseOf(runs));
      expect(await stateOf(child)).toBe('ready');
    });
  }
});

test('a child keeps its own delay and its own concurrency key', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{}]);
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const [later = '', limited = '', behind = ''] = await enqueue(client, queue, [
    { depends_on: [parent], run_at: soon },
    { depends_on: [parent], concurrency_key: 'g' },
    { depends_on: [parent], concurrency_key: 'g' },
  ]);
  await promote(client);
  expect(await states([later, limited, behind])).toEqual(['waiting', 'waiting', 'waiting']);
  await complete(client, leaseOf(await take(queue)));
  expect(await states([later, limited, behind])).toEqual(['waiting', 'ready', 'waiting']);
  expect((await task(client, later))?.run_at?.toISOString()).toBe(soon);
  await client.query('select tock.reschedule(array[$1::bigint], now())', [later]);
  expect(await stateOf(later)).toBe('ready');
});

test('a child that is rescheduled still waits for its parents', async () => {
  const queue = newQueue();
  const [parent = ''] = await enqueue(client, queue, [{}]);
  const [child = ''] = await enqueue(client, queue, [
    { depends_on: [parent], delay_seconds: 3600 },
  ]);
  await client.query('select tock.reschedule(array[$1::bigint], now())', [child]);
  await promote(client);
  expect(await stateOf(child)).toBe('waiting');
  await complete(client, leaseOf(await take(queue)));
  expect(await stateOf(child)).toBe('ready');
});

test('a task whose parents have ended is ready at once', async () => {
  const queue = newQueue();
  const parents = await enqueue(client, queue, numberedTasks(30));
  await complete(client, leaseOf(await take(queue, 30)));
  const [child = ''] = await enqueue(client, queue, [{ depends_on: parents }]);
  expect(await stateOf(child)).toBe('ready');
  expect((await task(client, child))?.options).toMatchObject({ depends_on: parents });
});
