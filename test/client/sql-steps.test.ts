import { expect, test } from 'vitest';
import { RetryIn } from '../../client/sql.ts';
import { expireLeases, noTasksDone } from './service.ts';
import {
  add,
  effects,
  enqueue,
  fresh,
  owner,
  task,
  useSqlDatabase,
  worked,
} from './sql_database.ts';

useSqlDatabase();

test('what a handler writes before it sleeps is written once, and its step is done once', async () => {
  const n = fresh();
  const [queue, ids] = await enqueue(n);
  let charges = 0;
  let middlewareEnds = 0;
  const flow = () =>
    worked(
      queue,
      async (number, context) => {
        await context.step('charge', () => ++charges);
        await add(number, context);
        await context.sleep('nap', { hours: 1 });
      },
      {
        async middleware(_task, run) {
          await run();
          middlewareEnds++;
        },
      },
    );
  expect((await flow()).counts).toEqual({ ...noTasksDone, released: 1 });
  expect(await effects(n)).toEqual([]);
  await wake();
  expect((await flow()).counts).toEqual({ ...noTasksDone, done: 1 });
  expect([await effects(n), charges, middlewareEnds]).toEqual([[n], 1, 2]);
  expect(await task(ids[0])).toMatchObject({ state: 'done', attempt: 1 });
});

/** Makes due what sleeps or is tried again. */
async function wake(): Promise<void> {
  for (const table of ['waiting', 'steps'])
    await owner.query(
      `update tock.${table} set due_at = now() where due_at < now() + interval '2 hours'`,
    );
  await owner.query('select tock.promote(p_sweep => true)');
}

test('what step.sql writes is committed with the step, once, whatever happens to the attempt', async () => {
  const [one, two, three] = [fresh(), fresh(), fresh()];
  const [queue, ids] = await enqueue(one);
  let attempts = 0;
  const flow = () =>
    worked(queue, async (n, context) => {
      const { step, client } = context;
      const both = await Promise.all([
        step.sql('one', (on) => add(n, { client: on }).then(() => 'first')),
        step.sql('two', (on) => add(two, { client: on }).then(() => 'second')),
      ]);
      await add(three, { client });
      if (++attempts === 1) throw new RetryIn(0);
      return both;
    });
  const { counts } = await flow();
  expect(counts).toEqual({ ...noTasksDone, done: 1, failed: 1 });
  expect(await effects(one, two, three)).toEqual([one, two, three].sort((a, b) => a - b));
  expect(await task(ids[0])).toMatchObject({ result: ['first', 'second'] });
});

test('a step.sql that fails writes nothing, and is tried again by its own', async () => {
  const n = fresh();
  const [queue, ids] = await enqueue(n);
  let tries = 0;
  const flow = () =>
    worked(queue, (_n, { step }) =>
      step.sql(
        'pay',
        async (client) => {
          await add(n, { client });
          if (++tries < 3) throw new Error('no');
          return tries;
        },
        { max_attempts: 3, backoff_seconds: 60 },
      ),
    );
  for (let pass = 1; pass <= 2; pass++) {
    expect((await flow()).counts).toEqual({ ...noTasksDone, released: 1 });
    expect(await effects(n)).toEqual([]);
    await wake();
  }
  expect((await flow()).counts).toEqual({ ...noTasksDone, done: 1 });
  expect([await effects(n), (await task(ids[0])).result]).toEqual([[n], 3]);
});

test('a lost lease rolls back what step.sql wrote', async () => {
  const n = fresh();
  const [queue] = await enqueue(n);
  const stop = new AbortController();
  const { counts } = await worked(
    queue,
    async (_n, { step }) => {
      await step.sql('one', async (client) => {
        await add(n, { client });
        await expireLeases(owner);
        stop.abort();
      });
    },
    { signal: stop.signal },
  );
  expect(counts).toEqual({ ...noTasksDone, lost: 1 });
  expect(await effects(n)).toEqual([]);
});

test('step.sql after a write outside of steps, and one that ends the transaction, are refused', async () => {
  const [one, two] = [fresh(), fresh()];
  const [queue] = await enqueue(one, two);
  const { counts, heard } = await worked(queue, async (n, { step, client }) => {
    if (n === one) await add(n, { client });
    await step.sql('a', (on) => on.query(n === two ? 'commit' : 'select 1').then(() => 1));
  });
  expect(counts).toEqual({ ...noTasksDone, failed: 2 });
  expect(heard).toMatchObject([
    { message: expect.stringMatching(/has written with its client before/) },
    { message: expect.stringMatching(/has ended its transaction/) },
  ]);
  expect(await effects(one, two)).toEqual([]);
});
