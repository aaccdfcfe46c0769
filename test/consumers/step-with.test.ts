import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { RetryIn } from '../../client/errors.ts';
import type { ConsumerHandler } from '../../functions/consumers/context.ts';
import { defineConsumer } from '../../functions/consumers/define.ts';
import { drain } from '../../functions/consumers/drain.ts';
import type { Connect } from '../../functions/database/types.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { expireLeases } from '../client/service.ts';
import { blocksOf } from '../docs/blocks.ts';
import { there, useConsumerService } from './service.ts';

useConsumerService();
beforeAll(async () => {
  await there.owner.query('create table public.steps_taken (n integer, task text)');
  await there.owner.query('grant insert, select, update on public.steps_taken to tock_edge');
});
beforeEach(() => {
  there.errors.length = 0;
});

const insert = 'insert into public.steps_taken (n, task) values ($1, $2)';
let queues = 0;

async function worked(handler: ConsumerHandler, connect: Connect = there.connect) {
  const queue = `step-with-${queues++}`;
  const id = await there.tock.enqueue(queue, 1);
  const on_error = (error: unknown) => there.errors.push(error);
  const drained = await drain(connect, {}, [defineConsumer({ queue, handler })], { on_error });
  const { rows } = await there.owner.query(
    'select n from public.steps_taken where task = $1 order by n',
    [id],
  );
  return { drained, effects: rows.map(({ n }) => n), task: await there.tock.task(id), id };
}

test('a statement and its step take effect together, once; the rows are its result', async () => {
  let attempts = 0;
  const { drained, effects, task, id } = await worked(async ({ id }, { step }) => {
    const rows = await step.with('one', `${insert} returning n, task`, [1, id]);
    const none = await step.with('two', `${insert}; -- no rows`, [2, id]);
    const read = await step.with('read', 'select n from public.steps_taken where task = $1', [id]);
    const both = await Promise.all([
      step.with('update', 'update public.steps_taken set n = n + 10 where task = $1', [id]),
      step('plain', () => 'x'),
    ]);
    if (++attempts === 1) throw new RetryIn(0);
    return { rows, none, read, both };
  });
  expect(drained).toMatchObject({ done: 1, failed: 1 });
  expect(effects).toEqual([11, 12]);
  expect(task?.result).toEqual({
    rows: [{ n: 1, task: id }],
    none: null,
    read: [{ n: 1 }, { n: 2 }],
    both: [null, 'x'],
  });
});

test.each(['docs/guides/steps.md', 'docs/steps-compared.md'])(
  'step.with of %s inserts an invoice',
  async (page) => {
    const code = blocksOf(readFileSync(join(checkout, page), 'utf8'))
      .map(({ text }) => text)
      .find((text) => text.includes('await step.with('));
    const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
    const run = AsyncFunction('step', 'payload', 'order', code ?? 'throw page');
    await there.owner.query(`drop schema if exists shop cascade; create schema shop;
    create table shop.invoices (id integer generated always as identity, order_id bigint);
    grant usage on schema shop to tock_edge; grant all on shop.invoices to tock_edge`);
    const { drained } = await worked((_task, { step }) => run(step, { order: 17 }, 17));
    expect(drained).toMatchObject({ done: 1 });
    const { rows } = await there.owner.query('select * from shop.invoices');
    expect(rows).toEqual([{ id: 1, order_id: '17' }]);
  },
);

test('a lost lease undoes the statement', async () => {
  const { drained, effects } = await worked(async ({ id }, { step }) => {
    await expireLeases(there.owner);
    await step.with('one', insert, [1, id]);
  });
  expect(drained).toMatchObject({ done: 0, failed: 0 });
  expect(effects).toEqual([]);
});

test('a statement whose answer was lost is not repeated', async () => {
  let isLost = false;
  const losing: Connect = (env, use) =>
    there.connect(env, (query, most) =>
      use(async (text, values) => {
        const rows = await query(text, values);
        if (isLost || !text.includes('steps_taken')) return rows;
        isLost = true;
        throw new Error('the connection was closed');
      }, most),
    );
  const { effects, task } = await worked(
    async ({ id }, { step }) =>
      step.with('one', `${insert} returning n`, [1, id], { max_attempts: 2, backoff_seconds: 0 }),
    losing,
  );
  expect(isLost).toBe(true);
  expect(effects).toEqual([1]);
  expect(task).toMatchObject({ state: 'done', result: [{ n: 1 }] });
});

test('several statements are refused before anything runs', async () => {
  const { drained, effects } = await worked(async ({ id }, { step }) => {
    await step.with('one', `${insert}; select 1`, [1, id]);
  });
  expect(drained).toMatchObject({ done: 0, failed: 1 });
  expect(effects).toEqual([]);
  expect(there.errors).toMatchObject([{ message: 'step.with: pass exactly one statement' }]);
});

test('a step left for later that is refused fails the attempt before completeWith() sends anything', async () => {
  const { drained, effects, task } = await worked(async ({ id }, { step, completeWith }) => {
    await step('big', () => 'x'.repeat(300_000), { later: true });
    await completeWith(insert, [1, id]);
  });
  expect(drained).toMatchObject({ done: 0, failed: 1, lost: 0 });
  expect(effects).toEqual([]);
  expect(task?.runs[0]?.error).toMatchObject({ name: 'TockError' });
});
