import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { defineConsumer } from '../../functions/consumers/define.ts';
import { type ConsumerService, startConsumerService } from './service.ts';

let there: ConsumerService;
beforeAll(async () => {
  there = await startConsumerService();
});
afterAll(() => there.database.drop());

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
    const [fits, fails] = await there.tock.enqueueMany(queue, [
      { payload: good },
      { payload: bad },
    ]);
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
  const ids = await there.tock.enqueueMany(
    'ways',
    ['fine', 'fatal', 'retry'].map((how) => ({ payload: { how } })),
  );
  expect(await there.drain([consumer])).toMatchObject({ done: 1, failed: 2, again_seconds: null });
  const states = await Promise.all(ids.map(async (id) => (await there.tock.task(id))?.state));
  expect(states).toEqual(['done', 'dead', 'waiting']);
  expect(seen).toContainEqual({ how: 'fine', attempt: 1, trace: {} });
  const error = (await there.tock.task(ids[2] ?? ''))?.runs[0]?.error;
  expect(error).toMatchObject({ name: 'RetryIn', message: 'busy' });
});

describe('completeWith', () => {
  const insert = 'insert into public.effects (task) values ($1)';
  const effects = async (id: string) =>
    (await there.owner.query('select from public.effects where task = $1', [id])).rowCount;
  beforeAll(async () => {
    await there.owner.query('create table public.effects (task bigint primary key)');
    await there.owner.query('grant insert on public.effects to tock_edge');
    await there.owner.query(`create function public.put_effect(p_task bigint) returns void language sql
      volatile security definer as 'insert into public.effects values (p_task)'`);
  });

  test.for([
    ['a statement', insert],
    ['a function', 'select public.put_effect($1)'],
  ])('runs %s and completes its task', async ([, text = '']) => {
    const queue = `with-${text.length}`;
    const handler = async (
      { id }: { id: string },
      {
        completeWith,
      }: { completeWith(text: string, values: unknown[], r: unknown): Promise<void> },
    ) => {
      await completeWith(text, [id], { invoice: 7 });
      throw new Error('too late to fail');
    };
    const id = await there.tock.enqueue(queue, 1);
    expect(await there.drain([defineConsumer({ queue, handler })])).toMatchObject({ done: 1 });
    expect(await there.tock.task(id)).toMatchObject({ state: 'done', result: { invoice: 7 } });
    expect(await effects(id)).toBe(1);
  });

  test('undoes its statement when the lease is lost', async () => {
    const id = await there.tock.enqueue('robbed', 1);
    let thrown: unknown;
    const robbed = defineConsumer({
      queue: 'robbed',
      async handler(task, { completeWith }) {
        if (thrown) return;
        await there.owner.query("update tock.leases set leased_until = now() - interval '1 s'");
        await there.owner.query('select tock.reap(p_sweep => true)');
        await completeWith(insert, [task.id]).catch((error) => {
          thrown = error;
        });
      },
    });
    expect(await there.drain([robbed])).toMatchObject({ lost: 1, done: 1 });
    expect(thrown).toMatchObject({ name: 'LeaseLost' });
    expect(await effects(id)).toBe(0);
  });

  test('fails the task if its statement is refused', async () => {
    const id = await there.tock.enqueue('refused', 1);
    const refused = defineConsumer({
      queue: 'refused',
      handler: (_, { completeWith }) =>
        completeWith('insert into public.effects (task) values (null)'),
    });
    expect(await there.drain([refused])).toMatchObject({ failed: 1, done: 0 });
    expect((await there.tock.task(id))?.state).toBe('waiting');
  });
});

test('defineConsumer() refuses invalid options', () => {
  const handler = () => {};
  expect(() => defineConsumer({ queue: '', handler })).toThrow(RangeError);
  expect(() => defineConsumer({ queue: 'q', concurrency: 0, handler })).toThrow('concurrency');
  expect(() => defineConsumer({ queue: 'q', batch: 1.5, handler })).toThrow('batch');
  expect(() => defineConsumer({ queue: 'q', lease_seconds: -1, handler })).toThrow('lease_seconds');
  // Without this check, each task would use up all its attempts.
  expect(() => defineConsumer({ queue: 'q', handler: undefined as never })).toThrow(
    'a function as its handler',
  );
  const schema = { parse: (payload: unknown) => payload } as never;
  expect(() => defineConsumer({ queue: 'q', schema, handler })).toThrow('Standard Schema');
});
