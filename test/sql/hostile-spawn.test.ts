import { expect, test } from 'vitest';
import { client, db, oneDatabase } from './own.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  promote,
  refusal,
  rows,
  type Run,
  task,
  value,
} from './support.ts';

oneDatabase();

let queues = 0;
const newQueue = () => `h${++queues}`;
const stateOf = async (id: string) => (await task(client, id))?.state;

type Whole = { payload: unknown; result: unknown; children: Record<string, unknown>[] };

/** Completes all of a lease, one by one, each with a result. */
async function doAll(queue: string, result: unknown = null): Promise<Run[]> {
  const runs = await claim(client, queue, { limit: 100 });
  if (runs.length) {
    const results = runs.map((run) => ({ id: run.id, result }));
    await complete(client, leaseOf(runs), results);
  }
  return runs;
}

async function waits(queue: string, spawn: object, options: object = {}, result: unknown = 'r') {
  const [id = ''] = await enqueue(client, queue, [{ payload: 'p', ...options }]);
  await promote(client);
  const lease = leaseOf(await claim(client, queue));
  const results = [{ id, result, spawn: { wait: true, ...spawn } }];
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
  return { id, lease, results };
}

async function key(scopes: string[], of: string[]) {
  for (const queue of of) await client.query('select tock.put_queue($1)', [queue]);
  return value<string>(client, 'select key from tock.create_key($1, $2, $3)', ['k', scopes, of]);
}
const httpComplete = (k: string, lease: string, body: object) =>
  client.query('select tock.http_complete($1, $2, $3)', [k, lease, JSON.stringify(body)]);

test('A1 a key for one queue cannot spawn into others by way of a pipeline', async () => {
  const mine = newQueue();
  const theirs = newQueue();
  const k = await key(['enqueue', 'claim'], [mine]);
  const [id] = await enqueue(client, mine, [{}]);
  const lease = leaseOf(await claim(client, mine));
  const spawn = { tasks: [{ payload: 'forged', pipeline: [mine, theirs] }] };
  const error = await refusal(httpComplete(k, lease, { results: [{ id, spawn }] }));
  expect(error.code).toBe('TK403');
});

test("A2 a key for one queue cannot read others' results by after and gather", async () => {
  const mine = newQueue();
  const theirs = newQueue();
  const k = await key(['enqueue', 'claim'], [mine]);
  const [secret] = await enqueue(client, theirs, [{}]);
  await complete(client, leaseOf(await claim(client, theirs)), [{ id: secret, result: 'secret' }]);
  const [id] = await enqueue(client, mine, [{}]);
  const lease = leaseOf(await claim(client, mine));
  const spawn = { tasks: [{ after: [secret], gather: true }] };
  const error = await refusal(
    httpComplete(k, lease, { results: [{ id, spawn }] }).then(async () => {
      const [run] = await claim(client, mine);
      return Promise.reject({ code: `it has read ${JSON.stringify(run?.payload)}` });
    }),
  );
  expect(error).toMatchObject({ code: 'TK403' });
});

test('B1 a child that is the task itself, by its unique key, does not hold it up for ever', async () => {
  const queue = newQueue();
  const [id = ''] = await enqueue(client, queue, [{ unique_key: 'k' }]);
  const lease = leaseOf(await claim(client, queue));
  const spawn = { tasks: [{ unique_key: 'k' }], wait: true };
  const answer = await complete(client, lease, [{ id, spawn }]).catch((e) => e.code);
  if (answer === 'TK422') return;
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  await promote(client);
  expect((await rows(client, 'select * from tock.parents($1)', [id])).map((p) => p.id)).not.toContain(id);
  expect(await stateOf(id)).not.toBe('waiting');
});

test('B2 a child that comes after the task itself does not hold both up for ever', async () => {
  const queue = newQueue();
  const children = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  const spawn = { queue: children, tasks: [{ after: [id] }], wait: true };
  const answer = await complete(client, lease, [{ id, spawn }]).catch((e) => e.code);
  if (answer === 'TK422') return;
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  await promote(client);
  expect([await stateOf(id), (await claim(client, children)).length]).not.toEqual(['waiting', 0]);
});

test('B3 a child after a task that comes after its parent: a cycle by way of ids', async () => {
  const queue = newQueue();
  const children = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const [later = ''] = await enqueue(client, newQueue(), [{ after: [id] }]);
  const lease = leaseOf(await claim(client, queue));
  const spawn = { queue: children, tasks: [{ after: [later] }], wait: true };
  const answer = await complete(client, lease, [{ id, spawn }]).catch((e) => e.code);
  if (answer === 'TK422') return;
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  await promote(client);
  expect([await stateOf(id), await stateOf(later)]).not.toEqual(['waiting', 'waiting']);
});

test('B4 two tasks that wait for each other by unique keys', async () => {
  const [a, b] = [newQueue(), newQueue()];
  const [one = ''] = await enqueue(client, a, [{ unique_key: 'a' }]);
  const [two = ''] = await enqueue(client, b, [{ unique_key: 'b' }]);
  const spawnOf = (queue: string, unique_key: string) => ({ queue, tasks: [{ unique_key }], wait: true });
  const [la, lb] = [leaseOf(await claim(client, a)), leaseOf(await claim(client, b))];
  await complete(client, la, [{ id: one, spawn: spawnOf(b, 'b') }]);
  const answer = await complete(client, lb, [{ id: two, spawn: spawnOf(a, 'a') }]).catch((e) => e.code);
  if (answer === 'TK422') return;
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  await promote(client);
  expect([await stateOf(one), await stateOf(two)]).not.toEqual(['waiting', 'waiting']);
});

test('B5 a child of the same gate does not wait for its parent for ever', async () => {
  const queue = newQueue();
  const [id = ''] = await enqueue(client, queue, [{ gate: 'g' }]);
  await promote(client);
  const lease = leaseOf(await claim(client, queue));
  const spawn = { tasks: [{ gate: 'g' }], wait: true };
  const answer = await complete(client, lease, [{ id, spawn }]).catch((e) => e.code);
  if (answer === 'TK422') return;
  await rows(client, 'select tock.promote(100, true)');
  expect((await claim(client, queue)).length).toBe(1);
});

test('C1 the children of a second round have their results, as these fit', async () => {
  const queue = newQueue();
  const children = newQueue();
  const { id } = await waits(queue, { queue: children, tasks: [{}] });
  await doAll(children, 'x'.repeat(150_000));
  const [run] = await claim(client, queue);
  expect((run?.payload as Whole).children[0]?.result).toHaveLength(150_000);
  const spawn = { queue: children, tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id, result: 'r', spawn }]);
  await doAll(children, 'y'.repeat(150_000));
  const [again] = await claim(client, queue);
  expect((again?.payload as Whole).children[0]?.result).toHaveLength(150_000);
});

test("C2 a payload that would grow beyond the queue's max_payload_bytes", async () => {
  const queue = newQueue();
  const children = newQueue();
  const big = 'x'.repeat(200_000);
  await waits(queue, { queue: children, tasks: [{}] }, { payload: big }, big);
  await doAll(children, 'c'.repeat(60_000));
  const [run] = await claim(client, queue);
  const bytes = JSON.stringify(run?.payload).length;
  expect(bytes).toBeLessThanOrEqual(262_144);
});

test('C3 bytes of a waiting task are those of its payload', async () => {
  const queue = newQueue();
  const { id } = await waits(queue, { queue: newQueue(), tasks: [{}] }, {}, 'z'.repeat(1000));
  const [row] = await rows<{ bytes: number; real: number }>(
    client,
    'select bytes, octet_length(payload::text) as real from tock.waiting where task_id = $1',
    [id],
  );
  expect(row?.bytes).toBe(row?.real);
});

test('C4 two tasks that are one by their unique key are two children, not four', async () => {
  const queue = newQueue();
  const children = newQueue();
  await waits(queue, { queue: children, tasks: [{ unique_key: 'u' }, { unique_key: 'u' }] });
  await doAll(children);
  const [run] = await claim(client, queue);
  expect((run?.payload as Whole).children.length).toBeLessThanOrEqual(2);
});

test('C5 children have their names', async () => {
  const queue = newQueue();
  const children = newQueue();
  await waits(queue, { queue: children, tasks: [{ name: 'left' }, { name: 'right' }] });
  await doAll(children);
  const [run] = await claim(client, queue);
  expect((run?.payload as Whole).children.map((c) => c.name)).toEqual(['left', 'right']);
});

test('D1 a task that is run again with another payload may spawn and wait', async () => {
  const queue = newQueue();
  const children = newQueue();
  const { id } = await waits(queue, { queue: children, tasks: [{}] });
  await doAll(children);
  await doAll(queue);
  expect(await stateOf(id)).toBe('done');
  const again = await value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);
  await client.query('select tock.change(array[$1::bigint], $2)', [again, '{"payload": 5}']);
  const [run] = await claim(client, queue);
  expect(run?.payload).toBe(5);
  const spawn = { queue: children, tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, result: 1, spawn }]);
  await doAll(children);
  expect((await claim(client, queue))[0]?.payload).toMatchObject({ payload: 5, result: 1 });
});

test('D2 the payload of a task that is run again', async () => {
  const queue = newQueue();
  const children = newQueue();
  const { id } = await waits(queue, { queue: children, tasks: [{}] });
  await doAll(children);
  await doAll(queue);
  await client.query('select tock.rerun(array[$1::bigint])', [id]);
  const [run] = await claim(client, queue);
  console.log('D2', JSON.stringify(run?.payload));
  const spawn = { queue: children, tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, result: 1, spawn }]);
  await doAll(children);
  const [last] = await claim(client, queue);
  console.log('D2', JSON.stringify(last?.payload));
});

test('D3 a completion is repeated after the task was moved while it waits', async () => {
  const queue = newQueue();
  const { id, lease, results } = await waits(queue, { queue: newQueue(), tasks: [{}] });
  const to = newQueue();
  console.log('D3', await rows(client, 'select * from tock.move(array[$1::bigint], $2)', [id, to]));
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
});

test('D4 run_at that was asked for while it ran holds for what comes after its children', async () => {
  const queue = newQueue();
  const children = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  const run_at = new Date(Date.now() + 3600_000).toISOString();
  const changed = await rows(client, 'select * from tock.change(array[$1::bigint], $2)', [id, JSON.stringify({ run_at })]);
  console.log('D4', changed);
  await complete(client, lease, [{ id, spawn: { queue: children, tasks: [{}], wait: true } }]);
  await doAll(children);
  expect(await stateOf(id)).toBe('waiting');
});

test('E1 pending: what comes for the key of a task that has started and waits is a task of its own', async () => {
  const queue = newQueue();
  const children = newQueue();
  const unique = { unique_key: 'doc', on_conflict: 'replace' };
  const { id } = await waits(queue, { queue: children, tasks: [{}] }, unique, 'split of p');
  const [other] = await enqueue(client, queue, [{ payload: 'new', ...unique }]);
  await doAll(children);
  const runs = await claim(client, queue, { limit: 10 });
  console.log('E1', id, other, JSON.stringify(runs.map((r) => [r.id, r.payload])));
  expect(other).not.toBe(id);
});

test('E2 rerun: what comes for the key of a task that waits for its children runs after it', async () => {
  const queue = newQueue();
  const children = newQueue();
  const unique = { unique_key: 'doc', on_conflict: 'rerun' };
  const { id } = await waits(queue, { queue: children, tasks: [{}] }, unique, 'split of p');
  const [other] = await enqueue(client, queue, [{ payload: 'new', ...unique }]);
  await doAll(children);
  await promote(client);
  const runs = await claim(client, queue, { limit: 10 });
  console.log('E2', id, other, JSON.stringify(runs.map((r) => [r.id, r.payload])));
  expect(other).not.toBe(id);
});

test('E3 with gate_retry yield a task that waits keeps its place inside its gate', async () => {
  const queue = newQueue();
  const children = newQueue();
  await client.query('select tock.put_queue($1, $2)', [queue, '{"gate_retry": "yield"}']);
  const [first = '', second = ''] = await enqueue(client, queue, [{ gate: 'g' }, { gate: 'g' }]);
  await promote(client);
  const lease = leaseOf(await claim(client, queue));
  await complete(client, lease, [{ id: first, spawn: { queue: children, tasks: [{}], wait: true } }]);
  await rows(client, 'select tock.promote(100, true)');
  expect([await stateOf(first), await stateOf(second)]).toEqual(['waiting', 'waiting']);
});

test('E4 a task whose children take longer than max_wait_seconds goes on', async () => {
  const queue = newQueue();
  const children = newQueue();
  await client.query('select tock.put_queue($1, $2)', [queue, '{"max_wait_seconds": 1}']);
  const { id } = await waits(queue, { queue: children, tasks: [{}] });
  await new Promise((r) => setTimeout(r, 1500));
  await doAll(children);
  await promote(client);
  expect(await stateOf(id)).toBe('ready');
});

test('F1 fails afterwards and is retried: payload and attempts', async () => {
  const queue = newQueue();
  const children = newQueue();
  const { id } = await waits(queue, { queue: children, tasks: [{}] }, { max_attempts: 2 });
  await doAll(children, 7);
  const payload = { payload: 'p', result: 'r', children: [{ state: 'done', result: 7 }] };
  const [one] = await claim(client, queue);
  expect(one?.payload).toMatchObject(payload);
  await fail(client, one?.lease as string, { retry_in_seconds: 0 });
  const [two] = await claim(client, queue);
  expect(two?.payload).toMatchObject(payload);
  expect(two?.attempt).toBe(2);
  const spawn = { queue: children, tasks: [{}], wait: true };
  await complete(client, two?.lease as string, [{ id, result: 2, spawn }]);
  await doAll(children, 8);
  expect((await claim(client, queue))[0]).toMatchObject({
    payload: { payload: 'p', result: 2, children: [{ state: 'done', result: 8 }] },
    attempt: 1,
  });
});

test('F2 a retried run named by both its ids, one of which spawns', async () => {
  const queue = newQueue();
  const children = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  await fail(client, leaseOf(await claim(client, queue)), { retry_in_seconds: 0 });
  const [run] = await claim(client, queue);
  const spawn = { queue: children, tasks: [{}], wait: true };
  const answer = await complete(client, run?.lease as string, [{ id: run?.run_id }, { id, spawn }]).catch((e) => e.code);
  const spawned = (await claim(client, children)).length;
  // refused as a whole, or what it said is done: not 2 completed and nothing spawned
  expect([answer, spawned]).not.toEqual([{ completed: 2, refused: [] }, 0]);
});

test('F3 a plain completion of a run that had spawned is another call', async () => {
  const queue = newQueue();
  const { id, lease } = await waits(queue, { queue: newQueue(), tasks: [{}] });
  expect(await complete(client, lease, [{ id, result: 'r' }])).toEqual({ completed: 0, refused: [id] });
});

test('G1 refused for other reasons: the field is named', async () => {
  const queue = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  const bad: [object, string][] = [
    [{ queue: '*', tasks: [{}] }, 'results[0].spawn.queue'],
    [{ queue: 'no name!', tasks: [{}] }, 'results[0].spawn.queue'],
    [{ queue: '', tasks: [{}] }, 'results[0].spawn.queue'],
    [{ tasks: [5] }, 'results[0].spawn.tasks[0]'],
    [{ tasks: [{ after: ['nobody'] }] }, 'results[0].spawn.tasks[0].after[0]'],
    [{ tasks: [{ payload: 'x'.repeat(300_000) }] }, 'results[0].spawn.tasks[0].payload'],
  ];
  const found: [string, string][] = [];
  for (const [spawn] of bad) {
    const error = await complete(client, lease, [{ id, spawn }]).then(
      (a) => ({ code: 'ok', detail: JSON.stringify(a) }),
      (e) => e,
    );
    found.push([error.code, error.detail]);
    expect(await stateOf(id)).toBe('running');
  }
  expect(found).toEqual(bad.map(([, field]) => ['TK422', field]));
});

test('G2 other errors than 422 name where as well', async () => {
  const queue = newQueue();
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  const other = await db.connect();
  await other.query('begin transaction isolation level repeatable read');
  const error = await refusal(complete(other, lease, [{ id, spawn: { tasks: [{ unique_key: 'x' }] } }]));
  await other.query('rollback');
  await other.end();
  console.log('G2', error);
  expect(error.detail).toMatch(/^results\[0\]\.spawn/);
});
