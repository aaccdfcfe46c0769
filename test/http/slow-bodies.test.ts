import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApp } from '../../functions/app.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

let asked = 0;
const app = createApp(() => {
  asked++;
  throw new Error('nobody should have come this far');
});

const route = '/v1/queues/q/tasks';
const authorization = 'Bearer tock_00000000_0';

/** A body that begins, and does not end. */
function slow(): ReadableStream {
  return new ReadableStream({
    start: (to) => to.enqueue(new TextEncoder().encode('{"payload": ')),
  });
}

test.each([
  ['that says its length', { 'content-length': '100' }],
  ['in chunks', {}],
])(
  'a body that never ends is given up after a minute, without a way to the database opened: one %s',
  async (_, headers) => {
    const init = {
      method: 'POST',
      body: slow(),
      headers: { authorization, ...headers },
      duplex: 'half',
    };
    const answer = vi.fn();
    const sent = Promise.resolve(app.request(route, init as RequestInit)).then((response) => {
      answer();
      return response;
    });
    await vi.advanceTimersByTimeAsync(59_000);
    expect(answer).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    const response = await sent;
    expect(response.status).toBe(408);
    expect(await response.json()).toMatchObject({ type: 'urn:tock:problem:slow', field: 'body' });
    expect(asked).toBe(0);
  },
);

test.each([
  ['that says its length', { 'content-length': '100' }],
  ['in chunks', {}],
])('a body that breaks off is refused: one %s', async (_, headers) => {
  const body = new ReadableStream({
    start: (to) => to.error(new Error('Network connection lost.')),
  });
  const init = { method: 'POST', body, headers: { authorization, ...headers }, duplex: 'half' };
  const response = await app.request(route, init as RequestInit);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ field: 'body', detail: 'The body broke off.' });
});

test('what has come in time leaves no timer behind', async () => {
  await app.request(route, { method: 'POST', body: '[]', headers: { authorization } });
  await app.request('/v1/nothing');
  expect(vi.getTimerCount()).toBe(0);
});
