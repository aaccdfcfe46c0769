import type { z } from '@hono/zod-openapi';
import { expect, expectTypeOf, test } from 'vitest';
import type { Claimed, NewTask, TaskOptions, Tock } from '../../client/index.ts';
import type { task } from '../../functions/routes/task_schemas.ts';

type Queues = { email: { to: string }; resize: { url: string; width: number } };

// tsc checks this function: each line below a @ts-expect-error must be an error.
async function typed(tock: Tock<Queues>): Promise<void> {
  await tock.enqueue('email', { to: 'ann' }, { delay_seconds: 5 });
  // @ts-expect-error there is no such queue
  await tock.enqueue('mail', { to: 'ann' });
  // @ts-expect-error that is another queue's payload
  await tock.enqueue('email', { url: 'u', width: 1 });
  // @ts-expect-error there is no such option
  await tock.enqueue('email', { to: 'ann' }, { delay: 5 });
  // @ts-expect-error a task has a payload
  await tock.enqueueMany('resize', [{ priority: 1 }]);
  const lease = await tock.claim('resize');
  expectTypeOf(lease?.tasks[0]?.payload).toEqualTypeOf<Queues['resize'] | undefined>();
  await tock.work('email', (claimed, { signal, progress }) => {
    expectTypeOf(claimed).toEqualTypeOf<Claimed<{ to: string }>>();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    progress(10, 'begun');
  });
  await tock.work({
    resize: ({ payload }) => payload.width,
    // @ts-expect-error that is another queue's payload
    email: ({ payload }) => payload.width,
  });
  // @ts-expect-error there is no such queue
  await tock.work({ mail: () => {} });
}

test('payloads are typed by their queues', () => {
  expect(typed).toBeTypeOf('function');
});

type Filled<T> = { [K in keyof T]-?: NonNullable<T[K]> };
type Asked = z.input<typeof task>;

test('the options of a task are those that the server accepts', () => {
  expectTypeOf<keyof TaskOptions | 'payload'>().toEqualTypeOf<keyof Asked>();
  expectTypeOf<Filled<TaskOptions>>().toExtend<Filled<Omit<Asked, 'payload'>>>();
  expectTypeOf<Filled<Omit<Asked, 'payload'>>>().toExtend<Filled<TaskOptions>>();
  expectTypeOf<NewTask>().toExtend<Asked>();
});
