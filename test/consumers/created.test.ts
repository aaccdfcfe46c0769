import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { Connect } from '../../functions/database/types.ts';
import type { Bindings } from '../../functions/env.ts';
import {
  type ConsumerHandler,
  createWorker,
  defineConsumer,
  type Middleware,
} from '../../functions/worker.ts';
import { makeMaintenanceDue, value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { there, useConsumerService } from './service.ts';

useConsumerService();
afterEach(() => void vi.useRealTimers());

const withoutTicks = () =>
  there.watched((text) => {
    if (text.includes('tock.tick')) throw new Error('no tock.tick');
  });

const consumer = (queue: string, handler = () => {}) => defineConsumer({ queue, handler });

test('neither a failed tick nor failed consumers prevent the other, and all errors are reported', async () => {
  const id = await there.tock.enqueue('ticked', 1);
  const worked = (queue: string, connect: Connect) =>
    createWorker({ consumers: [consumer(queue)], connect }).scheduled(null, {});
  await expect(worked('ticked', withoutTicks())).rejects.toThrow('no tock.tick');
  expect((await there.tock.task(id))?.state).toBe('done');
  await makeMaintenanceDue(there.owner);
  await expect(worked('no such name!', there.connect)).rejects.toThrow(/name/);
  const done =
    "select max(last_ok_at) from tock.maintenance_jobs where name <> 'deactivate_streams'";
  expect(await value(there.owner, done)).not.toBeNull();
  await expect(worked('no such name!', withoutTicks())).rejects.toThrow(AggregateError);
});

test('a queue has one consumer', () => {
  const consumers = ['a', 'b', 'a'].map((queue) => consumer(queue));
  const message = 'a has two consumers; define one for each queue';
  expect(() => createWorker({ consumers })).toThrow(message);
});

function post(path: string, body: object = {}): Request {
  const headers = { authorization: `Bearer ${there.key}`, 'content-type': 'application/json' };
  return new Request(`http://tock${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

test('without waitUntil(), as on Node, an enqueue wakes no consumer', async () => {
  const handler = vi.fn();
  const worker = createWorker({ consumers: [consumer('node', handler)], connect: there.connect });
  const answer = await worker.fetch(post('/v1/queues/node/tasks'), {});
  expect(answer.status).toBe(201);
  const broken = await worker.fetch(post('/v1/queues/%FF/tasks'), {});
  expect(broken.status).toBe(422);
  expect(handler).not.toHaveBeenCalled();
});

/** An invocation's context. over() resolves when all its promises have settled. */
function execution() {
  const held: Promise<unknown>[] = [];
  const waitUntil = (promise: Promise<unknown>) => void held.push(promise);
  return { waitUntil, passThroughOnException() {}, over: () => Promise.all(held) };
}

test('a consumer that an enqueue wakes claims over its connection, and then closes it', async () => {
  let opened = 0;
  let closed = 0;
  const counting: Connect = async (env, use) => {
    opened++;
    try {
      return await there.connect(env, use);
    } finally {
      closed++;
    }
  };
  const handler = vi.fn();
  const worker = createWorker({ consumers: [consumer('lent', handler)], connect: counting });
  const context = execution();
  await worker.fetch(post('/v1/queues/lent/tasks', { payload: 1 }), {}, context);
  await context.over();
  expect(handler).toHaveBeenCalledOnce();
  const refused = execution();
  await worker.fetch(post('/v1/queues/lent/tasks', { tenant: 5 }), {}, refused);
  await refused.over();
  expect([opened, closed]).toEqual([1, 1]);
});

test('a claim that ends a parent wakes the consumer of its child, and another claim wakes none', async () => {
  const handler = vi.fn();
  const worker = createWorker({ consumers: [consumer('child', handler)], connect: there.connect });
  const parent = await there.tock.enqueue('parent', 1);
  await there.tock.enqueue('child', 2, { depends_on: [parent] });
  const claim = async (body: object) => {
    const context = execution();
    const answer = await worker.fetch(post('/v1/queues/parent/claim', body), {}, context);
    await context.over();
    return (await answer.json()) as { lease: string };
  };
  const { lease } = await claim({});
  expect(handler).not.toHaveBeenCalled();
  await claim({ ends: [{ lease }] });
  expect(handler).toHaveBeenCalledOnce();
});

/** An app whose Durable Object counts its notifications, and fails the first `fails` of them. */
function telling() {
  const heard = { notifications: 0, fails: 0 };
  const ALARM: Bindings['ALARM'] = {
    idFromName: (name) => name,
    get: () => ({
      async fetch() {
        heard.notifications++;
        if (heard.fails-- > 0) throw new Error('nobody there');
        return Response.json({ waiting: false });
      },
    }),
  };
  const worker = createWorker({ connect: there.connect });
  /** Resolves with the answer; over() then waits for what follows it. */
  const begin = async (request: Request) => {
    const context = execution();
    await worker.fetch(request, { ALARM }, context);
    return context;
  };
  const call = async (request: Request) => (await begin(request)).over();
  return { heard, begin, call };
}

test('calls that change data notify the alarm, at most once each half second', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const { heard, begin, call } = telling();
  await call(post('/v1/queues/told/tasks'));
  expect(heard.notifications).toBe(1);
  // The first of these sends one notification for all, half a second after the last one.
  const answered = [1, 2, 3, 4].map(() => begin(post('/v1/queues/told/tasks')));
  const contexts = await Promise.all(answered);
  expect(heard.notifications).toBe(1);
  await vi.advanceTimersByTimeAsync(500);
  await Promise.all(contexts.map((context) => context.over()));
  expect(heard.notifications).toBe(2);
  vi.advanceTimersByTime(500);
  const headers = { authorization: `Bearer ${there.key}` };
  await call(new Request('http://tock/v1/queues', { headers }));
  await call(post('/v1/queues/told/tasks', { priority: 99 }));
  await call(post('/v1/queues/nothing/claim'));
  expect(heard.notifications).toBe(2);
  await call(post('/v1/queues/told/claim'));
  expect(heard.notifications).toBe(3);
});

test('a failed notification is retried by the same call and by the next one', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const { heard, call } = telling();
  const notified = (times: number) =>
    vi.waitUntil(() => heard.notifications === times, { interval: 1, timeout: conditionTimeout });
  heard.fails = 2;
  const first = call(post('/v1/queues/told/tasks'));
  await notified(1);
  await vi.advanceTimersByTimeAsync(100);
  expect(heard.notifications).toBe(2);
  await vi.advanceTimersByTimeAsync(500);
  await first;
  expect(heard.notifications).toBe(3);
  vi.spyOn(console, 'error').mockImplementationOnce(() => {});
  heard.fails = 1;
  vi.advanceTimersByTime(500);
  const failing = call(post('/v1/queues/told/tasks'));
  await notified(4);
  await call(post('/v1/queues/told/tasks'));
  expect(heard.notifications).toBe(5);
  await vi.advanceTimersByTimeAsync(100);
  await failing;
  expect(heard.notifications).toBe(6);
});

test('middleware wraps the attempts of consumers, including the check of their schemas', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const heard: unknown[] = [];
  const middleware: Middleware = async (task, run) => {
    const end = await run().catch((error: Error) => error.message);
    heard.push([task.headers, end]);
    return { end };
  };
  const handler: ConsumerHandler = (_task, { trace }) => trace;
  const schema = z.object({ to: z.string() });
  const consumers = [defineConsumer({ queue: 'around', schema, handler })];
  const worker = createWorker({ consumers, middleware, connect: there.connect });
  const headers = { traceparent, baggage: 'a=1', other: 'x' };
  const id = await there.tock.enqueue('around', { to: 'ann' }, { headers });
  await there.tock.enqueue('around', {});
  await worker.scheduled(null, {});
  const trace = { traceparent, baggage: 'a=1' };
  expect((await there.tock.task(id))?.result).toEqual({ end: trace });
  expect(heard).toHaveLength(2);
  expect(heard).toContainEqual([headers, trace]);
  expect(heard).toContainEqual([null, expect.stringMatching(/^payload.to: /)]);
});
