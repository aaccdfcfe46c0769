import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { defineConsumer } from '../../functions/consumers/define.ts';
import { expireLeases } from '../client/service.ts';
import { there, useConsumerService } from './service.ts';

useConsumerService();

const zodOrder = z.object({
  items: z.array(z.object({ price: z.number() })),
  at: z.string().transform((text) => new Date(text)),
});
const valibotOrder = v.object({
  items: v.array(v.object({ price: v.number() })),
  at: v.pipe(
    v.string(),
    v.transform((text) => new Date(text)),
  ),
});
const good = { items: [{ price: 1 }], at: '2026-01-01T00:00:00Z' };
const bad = { items: [{ price: 1 }, { price: 'two' }], at: '2026-01-01T00:00:00Z' };

describe.each([
  ['zod', zodOrder],
  ['valibot', valibotOrder],
] as const)('with a schema of %s', (name, schema) => {
  test('a handler gets the parsed payload, and an invalid payload reaches no handler', async () => {
    const seen: unknown[] = [];
    const queue = `orders-${name}`;
    const consumer = defineConsumer({
      queue,
      concurrency: 2,
      schema,
      handler(task) {
        expectTypeOf(task.payload.at).toEqualTypeOf<Date>();
        seen.push(task.payload);
      },
    });
    const tasks = [{ payload: good }, { payload: bad }];
    const [fits, fails] = await there.tock.enqueueMany(queue, tasks);
    expect(await there.drain([consumer])).toMatchObject({ done: 1, failed: 1 });
    expect(seen).toEqual([{ ...good, at: new Date(good.at) }]);
    expect((await there.tock.task(fits ?? ''))?.state).toBe('done');
    // The task is dead after one attempt, because a retry would have the same payload.
    const message = expect.stringMatching(/^payload\.items\[1\]\.price: .*number/);
    expect(await there.tock.task(fails ?? '')).toMatchObject({
      state: 'dead',
      attempt: 1,
      error: { name: 'Fatal', message },
    });
  });
});

test("a handler's context has the attempt, the trace, the time left and functions to fail", async () => {
  const seen: unknown[] = [];
  const consumer = defineConsumer<{ how: string }>({
    queue: 'ways',
    handler({ payload }, { attempt, fail, retryIn, trace, env, left, progress }) {
      seen.push({ how: payload.how, attempt, trace });
      expect(left()).toBeGreaterThan(1);
      expect(env).toEqual({});
      progress(50, 'half way');
      if (payload.how === 'fatal') fail.fatal('no use');
      if (payload.how === 'retry') retryIn(60, 'busy');
      return 'fine';
    },
  });
  const tasks = ['fine', 'fatal', 'retry'].map((how) => ({ payload: { how } }));
  const ids = await there.tock.enqueueMany('ways', tasks);
  expect(await there.drain([consumer])).toMatchObject({ done: 1, failed: 2, again_seconds: null });
  const states = await Promise.all(ids.map(async (id) => (await there.tock.task(id))?.state));
  expect(states).toEqual(['done', 'dead', 'waiting']);
  expect(seen).toContainEqual({ how: 'fine', attempt: 1, trace: {} });
  const error = (await there.tock.task(ids[2] ?? ''))?.runs[0]?.error;
  expect(error).toMatchObject({ name: 'RetryIn', message: 'busy' });
});

test('completeWith() undoes its statement when the lease is lost', async () => {
  await there.owner.query('create table public.effects (task bigint primary key)');
  await there.owner.query('grant insert on public.effects to tock_edge');
  await there.tock.enqueue('robbed', 1);
  let thrown: unknown;
  const robbed = defineConsumer({
    queue: 'robbed',
    async handler(task, { completeWith }) {
      if (thrown) return;
      await expireLeases(there.owner);
      const insert = 'insert into public.effects (task) values ($1)';
      await completeWith(insert, [task.id]).catch((error) => {
        thrown = error;
      });
    },
  });
  expect(await there.drain([robbed])).toMatchObject({ lost: 1, done: 1 });
  expect(thrown).toMatchObject({ name: 'LeaseLost' });
  expect((await there.owner.query('select from public.effects')).rowCount).toBe(0);
});

test.each([
  [{ queue: '' }, 'queue must be the name of a queue'],
  [{ concurrency: 0 }, 'concurrency'],
  [{ batch: 1.5 }, 'batch'],
  [{ lease_seconds: -1 }, 'lease_seconds'],
  // Without this check, each task would use up all its attempts.
  [{ handler: undefined }, 'a function as its handler'],
  [{ schema: { parse: (payload: unknown) => payload } }, 'Standard Schema'],
])('defineConsumer() refuses %o', (options, message) => {
  const define = () => defineConsumer({ queue: 'q', handler: () => {}, ...options } as never);
  expect(define).toThrow(message);
});

test('a consumer runs no task of a version that it does not know', async () => {
  const queue = 'versions';
  const ran: number[] = [];
  const consumer = (version: number, versions: number[]) =>
    defineConsumer({
      queue,
      version,
      versions,
      async handler(_task, { waitFor }) {
        ran.push(version);
        await waitFor('go', `${queue}/go`);
      },
    });
  expect(() => consumer(2, [1])).toThrow('versions must include version, 2');
  const id = await there.tock.enqueue(queue, null);
  await there.drain([consumer(2, [1, 2])]);
  await there.tock.signal(`${queue}/go`);
  expect(await there.drain([consumer(1, [1])])).toMatchObject({ released: 1, done: 0 });
  expect(await there.drain([consumer(2, [1, 2])])).toMatchObject({ released: 0, done: 0 });
  expect(ran).toEqual([2]);
  await there.tock.change(id, { delay_seconds: 0 });
  expect(await there.drain([consumer(2, [1, 2])])).toMatchObject({ done: 1 });
  expect(ran).toEqual([2, 2]);
});
