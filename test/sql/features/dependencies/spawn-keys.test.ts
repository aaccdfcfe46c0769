import { describe, expect, test } from 'vitest';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, promote, refusal, task } from '../../verbs.ts';
import { completeAll, newQueue, payloadOf, spawnAndWait, stateOf, statesOf } from './spawns.ts';

databasePerFile();

test('a task with the unique key of one that has started and waits for children is a new task', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const keyed = { unique_key: 'doc', on_conflict: 'replace' };
  const { id } = await spawnAndWait(queue, { queue: children, tasks: [{}] }, keyed, 'of p');
  const [other = ''] = await enqueue(client, queue, [{ payload: 'new', ...keyed }]);
  expect(other).not.toBe(id);
  await completeAll(children);
  const [second = ''] = await enqueue(client, queue, [{ payload: 'newer', ...keyed }]);
  const runs = await claim(client, queue, { limit: 10 });
  const payloads = new Map(runs.map((run) => [run.id, run.payload]));
  expect(payloads.get(id)).toMatchObject({ payload: 'p', result: 'of p' });
  expect(payloads.get(second)).toBe('newer');
  expect(second).not.toBe(id);
});

test('a rerun with the key of a task that waits for its children runs after that task', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const keyed = { unique_key: 'doc', on_conflict: 'rerun' };
  const { id } = await spawnAndWait(queue, { queue: children, tasks: [{}] }, keyed);
  const [other = ''] = await enqueue(client, queue, [{ payload: 'new', ...keyed }]);
  const [same = ''] = await enqueue(client, queue, [{ payload: 'newest', ...keyed }]);
  expect([other === id, same]).toEqual([false, other]);
  await promote(client);
  expect(await stateOf(other)).toBe('waiting');
  await completeAll(children);
  expect((await completeAll(queue)).map((run) => run.id)).toEqual([id]);
  await promote(client);
  expect(await claim(client, queue)).toMatchObject([{ id: other, payload: 'newest' }]);
});

test('with the policy unfinished a task keeps its key while it waits for its children', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const { id } = await spawnAndWait(queue, { queue: children, tasks: [{}] }, { unique_key: 'k' });
  expect(await enqueue(client, queue, [{ unique_key: 'k' }])).toEqual([id]);
});

describe('nothing that is merged into a task with its parents’ results is lost: a', () => {
  /** A keyed task with its parents' results. */
  async function gathers(queue: string, options = {}) {
    const parents = newQueue();
    const [parent = ''] = await enqueue(client, parents, [{}]);
    const keyed = { unique_key: 'k', depends_on: [parent], include_results: true };
    const [id = ''] = await enqueue(client, queue, [{ payload: [1], ...keyed, ...options }]);
    await completeAll(parents, 'of x');
    return { id, parent };
  }
  const merge = (queue: string, payload: number, options = {}) =>
    enqueue(client, queue, [
      { unique_key: 'k', on_conflict: 'merge', payload: [payload], ...options },
    ]);

  test('waiting task', async () => {
    const queue = newQueue();
    const { id, parent } = await gathers(queue, { delay_seconds: 1000 });
    expect(await merge(queue, 2)).toEqual([id]);
    expect((await task(client, id))?.payload).toEqual({
      payload: [1, 2],
      parents: [{ id: parent, state: 'done', result: 'of x' }],
    });
  });

  test('ready task', async () => {
    const queue = newQueue();
    const { id } = await gathers(queue);
    for (const payload of [2, 3]) await merge(queue, payload);
    const runs = await claim(client, queue, { limit: 10 });
    expect(runs[0]).toMatchObject({ id, payload: { payload: [1], parents: [{ result: 'of x' }] } });
    expect(runs.slice(1).flatMap((run) => run.payload)).toEqual([2, 3]);
  });

  test('running task', async () => {
    const queue = newQueue();
    const { parent } = await gathers(queue, { max_attempts: 2 });
    const lease = leaseOf(await claim(client, queue));
    for (const payload of [2, 3]) await merge(queue, payload, { unique_policy: 'unfinished' });
    await fail(client, lease, { retry_in_seconds: 0 });
    expect(await payloadOf(queue)).toMatchObject({ payload: [1, 2, 3], parents: [{ id: parent }] });
  });
});

test('completions whose spawns name keys in opposite order do not deadlock', async () => {
  const [children, more] = [newQueue(), newQueue()];
  const others = await Promise.all([0, 1, 2, 3].map(() => db.connect()));
  const mine = others.map(() => newQueue());
  const n = 40;
  for (let round = 0; round < 4; round++) {
    await Promise.all(
      others.map(async (other, w) => {
        await enqueue(other, mine[w] as string, Array(n).fill({}));
        const runs = await claim(other, mine[w] as string, { limit: n });
        const results = runs.map((run, k) => ({
          id: run.id,
          spawn: {
            queue: (w + k) % 2 ? children : more,
            tasks: [{ unique_key: `${round}-${w % 2 ? k : n - 1 - k}` }, {}],
          },
        }));
        expect((await complete(other, leaseOf(runs), results))?.completed).toBe(n);
      }),
    );
  }
});

test('several runs of one completion may spawn the same keyed task, and each has it as its child', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const n = 250;
  await enqueue(client, queue, Array(n).fill({}));
  const runs = await claim(client, queue, { limit: n });
  const tasks = [{ payload: 'own' }, { unique_key: 'common' }];
  const spawn = { queue: children, tasks, wait: true };
  const results = runs.map((run) => ({ id: run.id, spawn }));
  await complete(client, leaseOf(runs), results);
  const kids = await claim(client, children, { limit: 1000 });
  expect(kids.length).toBe(n + 1);
  const common = kids.find((kid) => kid.payload === null)?.id;
  await complete(client, leaseOf(kids));
  await promote(client);
  const on = await claim(client, queue, { limit: n });
  expect(on.length).toBe(n);
  for (const run of on) {
    const { children: two } = run.payload as { children: { id: string }[] };
    expect([two.length, two[1]?.id]).toEqual([2, common]);
  }
});

test('tasks that name each other may not have unique keys, in a spawn too', async () => {
  const queue = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  for (const tasks of [
    [{ unique_key: 'a' }, { depends_on: ['*'] }],
    [{ unique_key: 'a', name: 'a' }],
  ]) {
    expect((await refusal(enqueue(client, queue, tasks))).code).toBe('TK422');
    const error = await refusal(complete(client, lease, [{ id, spawn: { tasks } }]));
    expect([error.code, error.detail]).toEqual(['TK422', 'results[0].spawn.tasks']);
  }
});

test('a refused spawn among several runs is named by its index', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const ids = await enqueue(client, queue, [{}, {}, {}]);
  const lease = leaseOf(await claim(client, queue, { limit: 3 }));
  const [first, second, third] = ids;
  const results = (tasks: object[]) => [
    { id: first, spawn: { queue: children, tasks: [{ unique_key: 'b' }] } },
    { id: second },
    { id: third, spawn: { queue: children, tasks } },
  ];
  for (const bad of [{ tenant: 5 }, { unique_key: 'a', tenant: 5 }]) {
    const error = await refusal(complete(client, lease, results([{}, bad])));
    expect([error.code, error.detail]).toEqual(['TK422', 'results[2].spawn.tasks[1].tenant']);
  }
  expect(await statesOf(ids)).toEqual(['running', 'running', 'running']);
  const other = await db.connect();
  await other.query('begin transaction isolation level repeatable read');
  const error = await refusal(complete(other, lease, results([{ unique_key: 'x' }])));
  expect([error.code, error.detail]).toEqual(['TK409', 'results[0].spawn.unique_key']);
});
