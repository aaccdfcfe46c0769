import { createTestTock } from 'tock/client/testing';
import { expect, test } from 'vitest';
import { greet } from '../src/greetings.ts';
import type { Queues } from '../src/queues.ts';

test('a greeting has the name', async () => {
  const tock = createTestTock<Queues>();
  const id = await tock.enqueue('greetings', { name: 'Ann' });
  await tock.drain({ greetings: greet });
  expect((await tock.task(id))?.result).toEqual({ text: 'Hello Ann' });
});

test('a task without a name is dead at once', async () => {
  const tock = createTestTock<Queues>();
  const id = await tock.enqueue('greetings', { name: '' });
  await tock.drain({ greetings: greet });
  expect(await tock.task(id)).toMatchObject({ state: 'dead', attempt: 1 });
});
