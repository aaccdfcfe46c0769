import { describe, expect, test } from 'vitest';
import { begin, overlapping } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, refusal, task, value } from '../../verbs.ts';
import {
  cancel,
  change,
  completeAll,
  newQueue,
  payloadOf,
  spawnAndWait,
  stateOf,
} from './spawns.ts';

databasePerFile();

const readyTasks =
  'select coalesce(sum(ready), 0)::integer from tock.queue_stats() where queue = $1';
const ready = (queue: string) => value<number>(client, readyTasks, [queue]);

test('a task waits for its children and continues under its id with their results', async () => {
  const queue = newQueue();
  const parts = newQueue();
  const [id = ''] = await enqueue(client, queue, [{ payload: { pages: 3 } }]);
  const spawn = {
    queue: parts,
    tasks: [1, 2, 3].map((page) => ({ payload: { page }, name: `page ${page}` })),
    wait: true,
  };
  const lease = leaseOf(await claim(client, queue));
  const results = [{ id, result: 'split', spawn }];
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
  expect(await stateOf(id)).toBe('waiting');
  const runs = await claim(client, parts, { limit: 10 });
  expect(runs.map((run) => run.payload)).toEqual([{ page: 1 }, { page: 2 }, { page: 3 }]);
  expect((await task(client, runs[0]?.id as string))?.options).toMatchObject({ parent: id });
  await complete(
    client,
    leaseOf(runs),
    runs.slice(0, 2).map((run, n) => ({ id: run.id, result: n })),
  );
  expect(await stateOf(id)).toBe('waiting');
  await fail(client, leaseOf(runs), [{ id: runs[2]?.id, fatal: true }]);
  const [again] = await claim(client, queue);
  expect(again).toMatchObject({ id, attempt: 1 });
  const children = ['done', 'done', 'dead'].map((state, n) => {
    return { id: runs[n]?.id, name: `page ${n + 1}`, state, result: n < 2 ? n : null };
  });
  expect(again?.payload).toEqual({ payload: { pages: 3 }, result: 'split', children });
  await complete(client, again?.lease as string, [{ id, result: 'joined' }]);
  expect(await task(client, id)).toMatchObject({ state: 'done', result: 'joined' });
  expect((await task(client, id))?.runs.map((run) => run.state)).toEqual(['done', 'done']);
});

test('a task may spawn several times, and its payload is not nested', async () => {
  const queue = newQueue();
  const [id = ''] = await enqueue(client, queue, [{ payload: 0 }]);
  for (let round = 1; round <= 3; round++) {
    const [run] = await claim(client, queue);
    expect(run?.id).toBe(id);
    const spawn = { tasks: [{ payload: round }], wait: true };
    await complete(client, run?.lease as string, [{ id, result: round, spawn }]);
    const [child] = await claim(client, queue);
    expect(child?.payload).toBe(round);
    await complete(client, child?.lease as string);
    const children = [{ id: child?.id, state: 'done', result: null }];
    const payload = { payload: 0, result: round, children };
    expect(await task(client, id)).toMatchObject({ state: 'ready', payload });
  }
});

test('tasks spawned without waiting exist once the completion commits, and not before', async () => {
  const queue = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  const other = await begin();
  await complete(other, lease, [{ id, spawn: { tasks: [{}, {}] } }]);
  await other.query('rollback');
  expect(await stateOf(id)).toBe('running');
  expect(await ready(queue)).toBe(0);
  await complete(client, lease, [{ id, spawn: { tasks: [{}, {}] } }]);
  expect(await stateOf(id)).toBe('done');
  expect(await ready(queue)).toBe(2);
});

for (const wait of [false, true]) {
  test(`a completion that is repeated spawns once (wait ${wait})`, async () => {
    const queue = newQueue();
    const children = newQueue();
    const [id = ''] = await enqueue(client, queue, [{}, {}]);
    const lease = leaseOf(await claim(client, queue, { limit: 2 }));
    const results = [{ id, result: 1, spawn: { queue: children, tasks: [{}, {}], wait } }];
    const others = await Promise.all([1, 2, 3, 4, 5, 6].map(() => db.connect()));
    const answers = await Promise.all(others.map((other) => complete(other, lease, results)));
    answers.push(await complete(client, lease, results));
    for (const answer of answers) expect(answer).toEqual({ completed: 1, refused: [] });
    expect(await ready(children)).toBe(2);
    const others2 = [{ id, result: 1, spawn: { queue: children, tasks: [{}], wait } }];
    expect(await complete(client, lease, others2)).toEqual({ completed: 0, refused: [id] });
    expect(await ready(children)).toBe(2);
  });
}

test('a payload changed while the task waits replaces its whole payload, once', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const [id = ''] = await enqueue(client, queue, [{ payload: 1 }]);
  const lease = leaseOf(await claim(client, queue));
  await change(id, { payload: 2 });
  const spawn = { queue: children, tasks: [{}], wait: true };
  await complete(client, lease, [{ id, result: 'r', spawn }]);
  expect((await task(client, id))?.payload).toEqual({ payload: 2, result: 'r' });
  await change(id, { payload: 3 });
  await completeAll(children);
  const whole = { payload: 3, result: 'r', children: [{ state: 'done' }] };
  const [run] = await claim(client, queue);
  expect(run?.payload).toMatchObject(whole);
  await fail(client, run?.lease as string, { retry_in_seconds: 0 });
  expect(await payloadOf(queue)).toMatchObject(whole);
});

test('a completion of a run that another call has ended meanwhile spawns nothing', async () => {
  const queue = newQueue();
  const children = newQueue();
  const [id = '', second = ''] = await enqueue(client, queue, [{}, {}]);
  const lease = leaseOf(await claim(client, queue, { limit: 2 }));
  const both = [id, second].map((taskId) => ({
    id: taskId,
    result: 1,
    spawn: { queue: children, tasks: [{ payload: taskId }] },
  }));
  const [, answer] = await overlapping(
    (on) => complete(on, lease, [{ id, result: 1 }]),
    (on) => complete(on, lease, both),
  );
  expect(answer).toEqual({ completed: 1, refused: [id] });
  expect((await claim(client, children, { limit: 5 })).map((run) => run.payload)).toEqual([second]);
});

test('a task with a pending cancel spawns no children', async () => {
  const queue = newQueue();
  const children = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  await cancel(id);
  await complete(client, lease, [{ id, spawn: { queue: children, tasks: [{}], wait: true } }]);
  expect(await stateOf(id)).toBe('cancelled');
  expect(await ready(children)).toBe(0);
});

test('a stage of a pipeline may wait for its children, and then the task continues', async () => {
  const [a, b, children] = [newQueue(), newQueue(), newQueue()];
  const { id } = await spawnAndWait(a, { queue: children, tasks: [{}] }, { pipeline: [a, b] });
  await completeAll(children);
  expect((await completeAll(a, 'on')).map((run) => run.id)).toEqual([id]);
  expect(await claim(client, b)).toMatchObject([{ id, payload: 'on' }]);
});

describe('refused', () => {
  const bad: [unknown, string, string][] = [
    [
      1,
      'results[0].spawn',
      'spawn must be an object with tasks, and if needed queue, wait and on_failure',
    ],
    [{ tasks: [] }, 'results[0].spawn.tasks', 'tasks must be an array of one task or more'],
    [{ tasks: [{}], wait: 1 }, 'results[0].spawn.wait', 'wait must be true or false'],
    [{ tasks: [{}], on_failure: 'run' }, 'results[0].spawn.on_failure', 'on_failure needs wait'],
    [
      { tasks: [{}, { priority: 11 }] },
      'results[0].spawn.tasks[1].priority',
      'priority must be a whole number from 0 (first) to 9',
    ],
  ];
  test.each(bad)('%j', async (spawn, detail, message) => {
    const queue = newQueue();
    const [id = ''] = await enqueue(client, queue, [{}]);
    const lease = leaseOf(await claim(client, queue));
    const refused = await refusal(complete(client, lease, [{ id, spawn }]));
    expect(refused).toMatchObject({ code: 'TK422', detail, message });
    expect(await stateOf(id)).toBe('running');
  });
});
