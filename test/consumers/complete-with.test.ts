import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConsumerHandler } from '../../functions/consumers/context.ts';
import { defineConsumer } from '../../functions/consumers/define.ts';
import { drain } from '../../functions/consumers/drain.ts';
import { transactionalStatement } from '../../functions/consumers/transactional_statement.ts';
import type { Connect } from '../../functions/database/types.ts';
import { there, useConsumerService } from './service.ts';

useConsumerService();
beforeAll(async () => {
  await there.owner.query('create table public.effects (task text)');
  await there.owner.query('grant insert, select on public.effects to tock_edge');
  await there.owner.query(`create function public.put_effect(p_task text) returns void language sql
    volatile security definer as 'insert into public.effects values (p_task)'`);
});
beforeEach(() => {
  there.errors.length = 0;
});

const insert = 'insert into public.effects (task) values ($1)';
let queues = 0;

/** Drains one task with a handler. Returns the counts, and how many effects it had. */
async function worked(handler: ConsumerHandler, connect: Connect = there.connect) {
  const queue = `q${queues++}`;
  const id = await there.tock.enqueue(queue, 1);
  const on_error = (error: unknown) => there.errors.push(error);
  const drained = await drain(connect, {}, [defineConsumer({ queue, handler })], { on_error });
  const { rowCount } = await there.owner.query('select from public.effects where task = $1', [id]);
  return { drained, effects: rowCount, task: await there.tock.task(id) };
}

describe('completeWith() runs a statement of any form', () => {
  test.for([
    `${insert};`,
    `${insert} ; -- one semicolon`,
    `${insert} -- and a comment`,
    '-- a comment first\nselect public.put_effect($1)',
    '/* one /* in another */ ; */ select public.put_effect($1)',
    '(select public.put_effect($1))',
    'values (public.put_effect($1))',
    `${insert} returning task`,
    'with given as (select $1 as task) insert into public.effects (task) select task from given',
    "with given as (select $1 as task, ');' as insert) select public.put_effect(task) from given",
  ])('%s', async (text) => {
    const { effects, task } = await worked(async ({ id }, { completeWith }) => {
      await completeWith(text, [id], { invoice: 7 });
      throw new Error('too late to fail');
    });
    expect(task).toMatchObject({ state: 'done', result: { invoice: 7 } });
    expect(effects).toBe(1);
  });
});

test('quoted text and comments are neither parameters nor verbs', () => {
  const quoted = `select '$2', $$ $3; $$, $a$ '$4' $a$, a$5, "$6;"`;
  const escaped = "select e'\\'$2', 'insert into x' from t where c = 'x'";
  const named = 'with update as (select 1) select * from update';
  const read = true;
  expect(transactionalStatement('completeWith', `${quoted} /* $7 */ -- $8`, 0)).toMatchObject({
    read,
    text: quoted,
  });
  expect(transactionalStatement('completeWith', escaped, 0)).toMatchObject({ read, text: escaped });
  expect(transactionalStatement('completeWith', named, 0)).toMatchObject({ read });
  const update = transactionalStatement('completeWith', 'update x set a = $2 where b = $1', 2);
  expect(update).toMatchObject({ read: false });
});

test('several statements, or another number of parameters, are refused', async () => {
  const statements = [`${insert}; ${insert}`, `${insert}, ($2)`, 'select 1', ''];
  for (const text of statements) {
    // With another number of parameters, a value would take the place of the lease.
    const { drained, effects } = await worked(({ id }, { completeWith }) =>
      completeWith(text, [id]),
    );
    expect(drained).toMatchObject({ done: 0, failed: 1 });
    expect(effects).toBe(0);
    expect(there.errors.pop()).toBeInstanceOf(RangeError);
  }
});

test('a second call of completeWith() is refused', async () => {
  const { drained, effects } = await worked(async ({ id }, { completeWith }) => {
    const both = [completeWith(insert, [id]), completeWith(insert, [id])];
    await Promise.allSettled([...both, both[0]?.then(() => completeWith(insert, [id]))]);
  });
  expect(drained).toMatchObject({ done: 1 });
  expect(effects).toBe(1);
});

test('a handler that repeats completeWith() after a lost answer has its effect once', async () => {
  const losing: Connect = (env, use) =>
    there.connect(env, (query) =>
      use(async (text, values) => {
        const rows = await query(text, values);
        if (!text.includes('public.effects')) return rows;
        throw Object.assign(new Error('the connection broke'), { code: '08006' });
      }),
    );
  const { effects, task } = await worked(async ({ id }, { completeWith }) => {
    await completeWith(insert, [id]).catch(() => completeWith(insert, [id]));
  }, losing);
  expect(effects).toBe(1);
  expect(task?.state).toBe('done');
});

test('after a refused statement completeWith() may be called again', async () => {
  const { drained, effects } = await worked(async ({ id }, { completeWith }) => {
    await completeWith('select 1 / 0').catch(() => completeWith(insert, [id]));
  });
  expect(drained).toMatchObject({ done: 1, failed: 0 });
  expect(effects).toBe(1);
});

test('a handler that does not await completeWith() fails if it fails', async () => {
  const { drained, task } = await worked(
    (_, { completeWith }) => void completeWith('select 1 / 0'),
  );
  expect(drained).toMatchObject({ done: 0, failed: 1 });
  expect(task?.runs[0]?.error).toMatchObject({ message: 'division by zero' });
  const { effects } = await worked(({ id }, { completeWith }) => void completeWith(insert, [id]));
  expect(effects).toBe(1);
});

test('spawned tasks are stored together with the effect, or not at all', async () => {
  let fails = false;
  const spawning: ConsumerHandler<unknown> = async ({ id }, { completeWith, spawn }) => {
    spawn({ queue: 'spawned', tasks: [{ payload: id }] });
    if (fails) await completeWith('select 1 / 0');
    else await completeWith(insert, [id]);
  };
  const spawned = async () => (await there.tock.tasks({ queue: 'spawned' })).tasks.length;
  expect(await worked(spawning)).toMatchObject({ effects: 1, drained: { done: 1 } });
  expect(await spawned()).toBe(1);
  fails = true;
  expect(await worked(spawning)).toMatchObject({ effects: 0, drained: { failed: 1 } });
  expect(await spawned()).toBe(1);
});
