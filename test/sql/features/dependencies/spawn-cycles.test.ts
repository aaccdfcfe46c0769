import { describe, expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  promote,
  refusal,
  task,
  value,
  waitForState,
} from '../../verbs.ts';
import {
  completeAll,
  makeRechecksDue,
  payloadOf,
  spawnAndWait,
  stateOf,
  statesOf,
} from './spawns.ts';

databasePerTest();

/** Completes a task so that it waits for `tasks`, and returns the error of this call. */
async function refused(queue: string, id: string, children: string, tasks: object[]) {
  const lease = leaseOf(await claim(client, queue));
  const spawn = { queue: children, tasks, wait: true };
  const error = await refusal(complete(client, lease, [{ id, spawn }]));
  expect(await stateOf(id)).toBe('running');
  expect(await complete(client, lease, [{ id }])).toEqual({ completed: 1, refused: [] });
  return [error.code, error.detail, error.message];
}

describe('a completion is refused whose task would wait', () => {
  const waitsForIt = 'this task waits for the task that would wait for it';

  test('for itself, by its key', async () => {
    const [id = ''] = await enqueue(client, 'q', [{ unique_key: 'k' }]);
    expect(await refused('q', id, 'q', [{}, { unique_key: 'k' }])).toEqual([
      'TK422',
      'results[0].spawn.tasks[1].unique_key',
      'the unique_key of this task names the task that would wait for it',
    ]);
  });

  test('for a task that depends on it, indirectly too', async () => {
    const [id = '', other = ''] = await enqueue(client, 'q', [{}, {}]);
    const direct = await refused('q', id, 'c', [{}, { depends_on: [id] }, {}]);
    expect(direct).toEqual(['TK422', 'results[0].spawn.tasks[1]', waitsForIt]);
    const [later = ''] = await enqueue(client, 'later', [{ depends_on: [other] }]);
    const [code, field] = await refused('q', other, 'c', [{ depends_on: [later] }, {}]);
    expect([code, field]).toEqual(['TK422', 'results[0].spawn.tasks[0]']);
    await waitForState(client, later, 'ready');
  });

  test('for a task that waits for it, named by its unique key', async () => {
    const [idB = ''] = await enqueue(client, 'b', [{ unique_key: 'b' }]);
    const key = { unique_key: 'a' };
    const { id: idA } = await spawnAndWait('a', { queue: 'b', tasks: [{ unique_key: 'b' }] }, key);
    const [, field, message] = await refused('b', idB, 'a', [{ unique_key: 'a' }]);
    expect([field, message]).toEqual(['results[0].spawn.tasks[0]', waitsForIt]);
    expect(await stateOf(idA)).toBe('ready');
  });

  test.each([1, 2])('for a task at its concurrency key with a limit of %d', async (limit) => {
    await client.query("select tock.put_queue('q', $1)", [{ concurrency_limit: limit }]);
    const [id = ''] = await enqueue(client, 'q', [{ concurrency_key: 'g' }]);
    await promote(client);
    const [code, field] = await refused('q', id, 'q', [{ concurrency_key: 'g' }]);
    expect([code, field]).toEqual(['TK422', 'results[0].spawn.tasks[0].concurrency_key']);
  });

  test('for a task that waits for admission at its own concurrency key', async () => {
    const keyed = { unique_key: 'k', on_conflict: 'rerun' };
    const [id = ''] = await enqueue(client, 'q', [keyed]);
    await promote(client);
    const [code, field] = await refused('q', id, 'q', [{ ...keyed, payload: 1 }]);
    expect([code, field]).toEqual(['TK422', 'results[0].spawn.tasks[0].concurrency_key']);
  });

  test('for a task that waits for admission at the concurrency key of a task that waits for it', async () => {
    const keyed = { concurrency_key: 'g' };
    const { id: top } = await spawnAndWait('q', { queue: 'c', tasks: [{}] }, keyed);
    const child = await value<string>(client, 'select id from tock.parents($1)', [top]);
    const [, field, message] = await refused('c', child, 'q', [keyed]);
    expect([field, message]).toEqual(['results[0].spawn.tasks[0]', waitsForIt]);
    await waitForState(client, top, 'ready');
  });
});

test('a completion may wait for a task at a concurrency key with free places, whichever tasks hold it', async () => {
  await client.query(`select tock.put_queue('q', '{"concurrency_limit": 2}')`);
  const keyed = { concurrency_key: 'g' };
  const { id: top } = await spawnAndWait('q', { queue: 'c', tasks: [{}] }, keyed);
  const [run] = await claim(client, 'c');
  const spawn = { queue: 'q', tasks: [keyed], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, spawn }]);
  await promote(client);
  expect((await completeAll('q')).length).toBe(1);
  expect((await completeAll('c')).length).toBe(1);
  await waitForState(client, top, 'ready');
});

test('a completion is accepted if its child is a newer task than the one that holds the unique key', async () => {
  const keyed = { unique_key: 'k', on_conflict: 'replace' };
  const [id = ''] = await enqueue(client, 'q', [keyed]);
  const lease = leaseOf(await claim(client, 'q'));
  const tasks = [{ ...keyed, payload: 'for the child' }];
  await complete(client, lease, [{ id, result: 'r', spawn: { tasks, wait: true } }]);
  const [child] = await completeAll('q', 'c');
  expect([child?.id === id, child?.payload]).toEqual([false, 'for the child']);
  expect(await payloadOf('q')).toMatchObject({ result: 'r', children: [{ id: child?.id }] });
});

/** Two tasks that wait for each other. Their transactions were open at once, so neither call could see the cycle. */
async function unseen() {
  const [idA = ''] = await enqueue(client, 'a', [{ unique_key: 'a' }]);
  const [idB = ''] = await enqueue(client, 'b', [{ unique_key: 'b' }]);
  const [first, second] = [leaseOf(await claim(client, 'a')), leaseOf(await claim(client, 'b'))];
  const spawnOf = (queue: string) => ({ queue, tasks: [{ unique_key: queue }], wait: true });
  const other = await begin();
  await complete(other, first, [{ id: idA, spawn: spawnOf('b') }]);
  await complete(client, second, [{ id: idB, spawn: spawnOf('a') }]);
  await other.query('commit');
  return [idA, idB] as const;
}

test('of two tasks in an undetected cycle one is cancelled and the other continues', async () => {
  const [idA, idB] = await unseen();
  await makeRechecksDue();
  await makeRechecksDue();
  await makeRechecksDue();
  expect((await statesOf([idA, idB])).sort()).toEqual(['cancelled', 'ready']);
  const tasks = [await task(client, idA), await task(client, idB)];
  const [over, on] = tasks[0]?.state === 'cancelled' ? tasks : tasks.reverse();
  expect(over?.error).toEqual({
    name: 'WaitsForItself',
    message: `task ${on?.id}, which this task depends on, is waiting for it`,
  });
});

test('promotion finds a cycle without a notification', async () => {
  const ids = await unseen();
  const states = async () => {
    await promote(client);
    return (await statesOf([...ids])).sort();
  };
  await expect.poll(states).toEqual(['cancelled', 'ready']);
});

test('a long chain of waiting tasks is not taken for a cycle', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  let last = id;
  const chain = [];
  for (let n = 0; n < 30; n++) {
    [last = ''] = await enqueue(client, 'r', [{ depends_on: [last] }]);
    chain.push(last);
  }
  const lease = leaseOf(await claim(client, 'q'));
  await complete(client, lease, [{ id, spawn: { queue: 'c', tasks: [{}, {}], wait: true } }]);
  await makeRechecksDue();
  await makeRechecksDue();
  expect(await statesOf([id, ...chain])).toEqual(Array(31).fill('waiting'));
});
