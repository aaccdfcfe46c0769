import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { alarmCycle } from '../../functions/alarm/cycle.ts';
import { createWorker, defineConsumer } from '../../functions/worker.ts';
import { type Cluster, cluster } from './cluster.ts';

let tock: Cluster;
const handled: string[] = [];
const consumers = ['one', 'two'].map((queue) =>
  defineConsumer({ queue, handler: (task) => void handled.push(`${queue} ${task.payload}`) }),
);

beforeAll(async () => {
  tock = await cluster({ one: 1, two: 2, leaving: 1 });
});
beforeEach(() => void handled.splice(0));
afterAll(() => tock.drop());

async function enqueue(payload: string): Promise<void> {
  for (const queue of ['one', 'two']) {
    const reply = await tock.send(`POST /v1/queues/${queue}/tasks`, { payload });
    expect(reply.status).toBe(201);
  }
}

test('the cron trigger ticks on each node and runs the consumers of its queues', async () => {
  await enqueue('cron');
  tock.sent();
  const worker = createWorker({ consumers, connect: tock.connect, seconds: 5 });
  await worker.scheduled(null, tock.bindings());
  expect(handled.sort()).toEqual(['one cron', 'two cron']);
  const ticks = tock.sent().filter(({ text }) => text.includes('tock.tick()'));
  expect(ticks.map(({ node }) => node)).toEqual([1, 2]);
});

test('the alarm does so too, and goes on for the others if a node is down', async () => {
  await enqueue('alarm');
  const cycle = (down: number[]) => alarmCycle(tock.connect, tock.bindings(down), consumers, 5);
  const { errors } = await cycle([1]);
  expect(errors).toMatchObject([{ code: '08001' }]);
  expect(handled).toEqual(['two alarm']);
  expect(await cycle([])).toMatchObject({ errors: [] });
  expect(handled.sort()).toEqual(['one alarm', 'two alarm']);
});

test('an enqueue wakes the consumer of its queue on its node', async () => {
  const worker = createWorker({ consumers, connect: tock.connect, seconds: 5 });
  const headers = { authorization: `Bearer ${tock.key}`, 'content-type': 'application/json' };
  const work: Promise<unknown>[] = [];
  const execution = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) };
  const init = { method: 'POST', headers, body: '{"payload": "woken"}' };
  const request = new Request('https://tock.example/v1/queues/two/tasks', init);
  const context = { ...execution, passThroughOnException: () => {} };
  const reply = await worker.fetch(request, tock.bindings(), context);
  expect(reply.status).toBe(201);
  await vi.waitUntil(() => handled.length > 0);
  expect(handled).toEqual(['two woken']);
  await Promise.all(work);
});

describe('of a queue that moves', () => {
  const leaving = defineConsumer({
    queue: 'leaving',
    handler: (task) => void handled.push(`${task.payload}`),
  });
  const others = [leaving, ...consumers.slice(1)];
  const send = async (payloads: string[]) => {
    const reply = await tock.send('POST /v1/queues/leaving/tasks', { payloads });
    expect(reply.status).toBe(201);
  };
  const first = ['a', 'b', 'c'];
  beforeAll(() => send(first));

  test('the consumer on the new node waits, and those of other queues do not', async () => {
    await tock.recordMove('leaving');
    await tock.flip('leaving');
    await send(['d', 'e']);
    await tock.send('POST /v1/queues/two/tasks', { payload: 'x' });
    const { errors } = await alarmCycle(tock.connect, tock.bindings([1]), others, 5);
    expect(errors).toMatchObject([{ code: '08001' }]);
    expect(handled).toEqual(['two x']);
  });

  test('the old tasks come first', async () => {
    const { errors } = await alarmCycle(tock.connect, tock.bindings(), others, 5);
    expect(errors).toEqual([]);
    expect(handled).toEqual([...first, 'd', 'e']);
  });

  test('after the move the new node works alone', async () => {
    for (const node of [1, 2]) await tock.rows(node, 'delete from tock_nodes.moves');
    expect(await tock.rows(1, "select tock.leave_queue('leaving')::int as tasks")).toEqual([
      { tasks: 0 },
    ]);
    await send(['f']);
    const worker = createWorker({ consumers: others, connect: tock.connect, seconds: 5 });
    await worker.scheduled(null, tock.bindings());
    expect(handled).toEqual(['f']);
  });
});
