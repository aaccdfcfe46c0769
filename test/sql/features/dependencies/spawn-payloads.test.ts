import { describe, expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  promote,
  refusal,
  rows,
  task,
} from '../../verbs.ts';
import {
  change,
  completeAll,
  newQueue,
  payloadOf,
  type ResumedPayload,
  rerun,
  spawnAndWait,
  stateOf,
  waitAgain,
} from './spawns.ts';

databasePerFile();

/** Reruns a task that has waited for its children, continued and ended. */
async function ranAgain(queue: string, children: string, dead: boolean) {
  const { id } = await spawnAndWait(queue, { queue: children, tasks: [{}] });
  await completeAll(children);
  if (dead) await fail(client, leaseOf(await claim(client, queue)), { fatal: true });
  else await completeAll(queue);
  return rerun(id);
}

describe('a task that is rerun and changed may spawn and wait: its payload is in the field payload', () => {
  const payloads = [null, 'a text', ['children', 'a'], { payload: 1 }];
  test.each(payloads)('%j', async (payload) => {
    const [queue, children] = [newQueue(), newQueue()];
    // Of the tasks some have died, the others were completed.
    await change(await ranAgain(queue, children, payload === null), { payload });
    const run = await waitAgain(queue, children, 1);
    expect(run?.payload).toMatchObject({ payload, result: 'r', children: [{ state: 'done' }] });
    await completeAll(children, 'of c');
    const whole = await payloadOf(queue);
    expect(Object.keys(whole).sort()).toEqual(['children', 'payload', 'result']);
    expect(whole).toMatchObject({ payload, result: 1, children: [{ result: 'of c' }] });
  });
});

test('a task with its parents’ results keeps them when it is rerun and changed', async () => {
  const [queue, parents] = [newQueue(), newQueue()];
  const [parent = ''] = await enqueue(client, parents, [{}]);
  const [id = ''] = await enqueue(client, queue, [
    { payload: 1, depends_on: [parent], include_results: true },
  ]);
  await completeAll(parents, 'of x');
  await completeAll(queue);
  await change(await rerun(id), { payload: 2 });
  expect(await payloadOf(queue)).toEqual({
    payload: 2,
    parents: [{ id: parent, state: 'done', result: 'of x' }],
  });
});

describe('a waiting task with any payload in its row continues after its children, and so do all others', () => {
  test.each(['null', '[1]', '{"result": 1}', undefined])('%s', async (text) => {
    const [queue, children, others] = [newQueue(), newQueue(), newQueue()];
    const { id } = await spawnAndWait(queue, { queue: children, tasks: [{}] });
    const [other = ''] = await enqueue(client, others, [{ delay_seconds: 1000 }]);
    await rows(client, 'update tock.waiting set payload = $2 where task_id = $1', [id, text]);
    await completeAll(children, 'c');
    await makeDue(client, others);
    await promote(client);
    expect([await stateOf(id), await stateOf(other)]).toEqual(['ready', 'ready']);
    const { payload, children: childList } = await payloadOf(queue);
    expect([payload, childList[0]?.result]).toEqual([JSON.parse(text ?? 'null'), 'c']);
  });
});

test('a task with its parents’ results spawns in each stage of its pipeline', async () => {
  const [parents, a, b, children] = [newQueue(), newQueue(), newQueue(), newQueue()];
  const [parent = ''] = await enqueue(client, parents, [{}]);
  const options = { pipeline: [a, b], depends_on: [parent], include_results: true };
  const [id = ''] = await enqueue(client, a, [{ payload: 1, ...options }]);
  await completeAll(parents, 'of x');
  const first = await waitAgain(a, children, 'r1');
  expect(first?.payload).toMatchObject({ payload: 1, parents: [{ id: parent, result: 'of x' }] });
  await completeAll(children, 'c1');
  const [second] = await completeAll(a, 'to b');
  expect(second?.payload).toMatchObject({ result: 'r1', children: [{ result: 'c1' }] });
  expect((await waitAgain(b, children, 'r3'))?.payload).toBe('to b');
  await completeAll(children, 'c3');
  const [fourth] = await claim(client, b);
  expect(fourth?.payload).toMatchObject({ payload: 'to b', children: [{ result: 'c3' }] });
  await change(id, { payload: 'changed' });
  await fail(client, fourth?.lease as string, { retry_in_seconds: 0 });
  expect(await payloadOf(b)).toMatchObject({ payload: 'changed', children: [{ result: 'c3' }] });
});

describe('sizes', () => {
  const bytesOf = (table: string, id: string) => {
    const sizes = `select bytes, octet_length(payload::text) as real from tock.${table}`;
    return rows(client, `${sizes} where task_id = $1`, [id]);
  };

  test('results of a second wait are included if they fit, whatever the size of the first', async () => {
    const [queue, children] = [newQueue(), newQueue()];
    await spawnAndWait(queue, { queue: children, tasks: [{}] });
    await completeAll(children, 'x'.repeat(150_000));
    const run = await waitAgain(queue, children);
    expect((run?.payload as ResumedPayload | undefined)?.children[0]?.result).toHaveLength(150_000);
    await completeAll(children, 'y'.repeat(150_000));
    expect((await payloadOf(queue)).children[0]?.result).toHaveLength(150_000);
  });

  test('many small results are included, because they fit', async () => {
    const [queue, children] = [newQueue(), newQueue()];
    await client.query('select tock.put_queue($1, $2)', [queue, '{"max_payload_bytes": 17000}']);
    await spawnAndWait(queue, { queue: children, tasks: Array(100).fill({}) });
    const result = Array(30).fill(1);
    await completeAll(children, result);
    const whole = await payloadOf(queue);
    expect(whole.children.map((child) => child.result)).toEqual(Array(100).fill(result));
  });

  test('a payload and a result that are too large together are refused', async () => {
    const [queue, children] = [newQueue(), newQueue()];
    const [id = ''] = await enqueue(client, queue, [{ payload: 'x'.repeat(200_000) }]);
    const lease = leaseOf(await claim(client, queue));
    const spawn = { queue: children, tasks: [{}], wait: true };
    const result = 'y'.repeat(100_000);
    const refused = await refusal(complete(client, lease, [{ id, result, spawn }]));
    expect(refused).toMatchObject({ code: 'TK422', detail: 'results[0].result' });
    expect([await stateOf(id), await claim(client, children)]).toEqual(['running', []]);
    await complete(client, lease, [{ id, result: 'y', spawn }]);
    await completeAll(children, result);
    expect(JSON.stringify(await payloadOf(queue)).length).toBeLessThan(262_144);
  });

  test('bytes count the whole payload, changed or not, while the task waits and afterwards', async () => {
    const [queue, children] = [newQueue(), newQueue()];
    const spawn = { queue: children, tasks: [{}] };
    const { id } = await spawnAndWait(queue, spawn, {}, 'z'.repeat(1000));
    for (const payload of ['p', 5, 'changed']) {
      if (payload !== 'p') await change(id, { payload });
      const [row] = await bytesOf('waiting', id);
      expect(row?.bytes).toBe(row?.real);
    }
    await completeAll(children, 'c'.repeat(1000));
    await change(id, { payload: 'again' });
    const [run] = await claim(client, queue);
    await change(id, { payload: 'and again' });
    await fail(client, run?.lease as string, { retry_in_seconds: 0 });
    const sizes = await bytesOf('runs', id);
    expect(sizes.length).toBe(3);
    for (const row of sizes) expect(row.bytes).toBe(row.real);
    expect((await task(client, id))?.payload).toMatchObject({ payload: 'and again' });
  });

  test('a claim of many such tasks is bounded by their bytes, changed or not', async () => {
    const [queue, parents] = [newQueue(), newQueue()];
    const [parent = ''] = await enqueue(client, parents, [{}]);
    const tasks = Array(60).fill({ payload: 1, depends_on: [parent], include_results: true });
    const ids = await enqueue(client, queue, tasks);
    await completeAll(parents, 'x'.repeat(200_000));
    await promote(client);
    await client.query('select tock.change($1::bigint[], $2)', [ids, '{"payload": 2}']);
    const runs = await claim(client, queue, { limit: 60 });
    expect(runs.length).toBeGreaterThan(1);
    expect(JSON.stringify(runs).length).toBeLessThan(5_000_000);
  });
});

test.each([
  ['left right ', [{ name: 'left' }, { name: 'right', depends_on: ['left'] }, {}]],
  ['', [{ unique_key: 'u' }, { unique_key: 'u' }]],
])(
  'children have their names, and tasks with one unique key are one child (%s)',
  async (names, tasks) => {
    const [queue, children] = [newQueue(), newQueue()];
    await spawnAndWait(queue, { queue: children, tasks });
    for (const _ of ['before', 'after']) await completeAll(children);
    expect((await payloadOf(queue)).children.map(({ name }) => name ?? '').join(' ')).toBe(names);
  },
);

test('a child’s parent is the spawning task, under any of its ids, or the parent that the child names', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const [id = ''] = await enqueue(client, queue, [{}]);
  await fail(client, leaseOf(await claim(client, queue)), { retry_in_seconds: 0 });
  const [run] = await claim(client, queue);
  const spawn = { queue: children, tasks: [{}, { parent: '77' }] };
  await complete(client, run?.lease as string, [{ id: run?.run_id, spawn }]);
  const childTasks = await Promise.all(
    (await completeAll(children)).map((child) => task(client, child.id)),
  );
  expect(childTasks.map((childTask) => childTask?.options?.parent)).toEqual([id, '77']);
});
