import { expect, test, vi } from 'vitest';
import { createWorker, defineConsumer } from '../../functions/worker.ts';
import { there, useConsumerService } from '../consumers/service.ts';

useConsumerService();

test('a message of a foreign client wakes the consumer of its queue', async () => {
  const handler = vi.fn();
  const consumers = [defineConsumer({ queue: 'foreign', handler })];
  const worker = createWorker({ consumers, connect: there.connect });
  const held: Promise<unknown>[] = [];
  const context = {
    waitUntil: (promise: Promise<unknown>) => void held.push(promise),
    passThroughOnException() {},
  };
  const request = new Request('http://tock/accounts/a/queues/foreign/messages', {
    method: 'POST',
    headers: { authorization: `Bearer ${there.key}` },
    body: '{"body": {"n": 1}}',
  });
  const answer = await worker.fetch(request, { TOCK_COMPAT: 'cloudflare' }, context);
  expect(await answer.json()).toMatchObject({ success: true });
  for (let n = 0; n < held.length; n++) await held[n];
  expect(handler.mock.calls).toMatchObject([[{ payload: { n: 1 } }, expect.anything()]]);
});
