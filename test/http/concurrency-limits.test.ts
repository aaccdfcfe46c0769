import { afterEach, expect, test, vi } from 'vitest';
import type { Query } from '../../functions/database/types.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { enter } from '../../functions/http/concurrency_limits.ts';
import { deferred } from '../client/service.ts';
import { sleep } from '../sleep.ts';

const headers = { authorization: 'Bearer tock_1', 'content-type': 'application/json' };
const empty =
  '{"lease":null,"leased_until":null,"tasks":[],"state":"empty","retry_after_seconds":1}';
const lease = '5e1f7c0a-3b6d-4d58-9a52-7c1e00000001';

/** A database that answers when the test calls release(). */
function held() {
  const waiting: (() => void)[] = [];
  const query: Query = async (text) => {
    if (text.includes('known_key')) return [{ known: true }];
    return new Promise((resolve) => waiting.push(() => resolve([{ body: '{"completed":1}' }])));
  };
  const app = createApp((_env, use) => use(query));
  const send = (path: string, env: Bindings, body: BodyInit = '{}', key = 'tock_1') => {
    const all = { ...headers, authorization: `Bearer ${key}` };
    const init = { method: 'POST', headers: all, body, duplex: 'half' } as RequestInit;
    return app.request(path, init, env);
  };
  const arrived = (count: number) => expect.poll(() => waiting.length).toBe(count);
  const release = () => {
    for (const go of waiting.splice(0)) go();
  };
  return { send, arrived, release };
}

afterEach(() => vi.useRealTimers());

test("enqueues over the isolate's limit are refused at once, and calls that end work never are", async () => {
  const { send, arrived, release } = held();
  const env = { TOCK_MOST_AT_ONCE: '3' };
  const enqueue = () => send('/v1/queues/q/tasks', env);
  const first = [enqueue(), enqueue(), enqueue()];
  await arrived(3);
  const fourth = await enqueue();
  expect(fourth.status).toBe(503);
  expect(fourth.headers.get('retry-after')).toMatch(/^[123]$/);
  expect(await fourth.json()).toMatchObject({
    detail: expect.stringContaining('limit of 3 concurrent enqueues'),
    hint: expect.stringMatching(/Retry-After/),
  });
  const ends = ['complete', 'fail', 'release', 'extend'].flatMap((verb) =>
    [1, 2, 3, 4].map(() => send(`/v1/leases/${lease}/${verb}`, env)),
  );
  await arrived(19);
  const others = [send('/v1/queues/q/claim', env), send('/v1/tasks/cancel', env, '{"ids":["1"]}')];
  await arrived(21);
  release();
  for (const reply of await Promise.all(first)) expect(reply.status).toBe(201);
  for (const reply of await Promise.all([...ends, ...others])) expect(reply.status).toBe(200);
  const after = enqueue();
  await arrived(1);
  release();
  expect((await after).status).toBe(201);
});

test('a key that uses up the limit leaves spare slots to other keys', async () => {
  const { send, arrived, release } = held();
  const env = { TOCK_MOST_AT_ONCE: '8' };
  const enqueue = (key: string) => send('/v1/queues/q/tasks', env, '{}', key);
  const first = Array.from({ length: 8 }, () => enqueue('tock_1'));
  await arrived(8);
  expect((await enqueue('tock_1')).status).toBe(503);
  const others = [enqueue('tock_2'), enqueue('tock_3')];
  await arrived(10);
  expect((await enqueue('tock_4')).status).toBe(503);
  expect((await enqueue('tock_1')).status).toBe(503);
  release();
  for (const reply of await Promise.all([...first, ...others])) expect(reply.status).toBe(201);
});

test('without a free slot the body is not read', async () => {
  const { send, arrived, release } = held();
  const env = { TOCK_MOST_AT_ONCE: '1' };
  const first = send('/v1/queues/q/tasks', env);
  await arrived(1);
  const pull = vi.fn((to: ReadableStreamDefaultController) => to.enqueue(new Uint8Array(9)));
  const body = new ReadableStream({ pull }, { highWaterMark: 0 });
  expect((await send('/v1/queues/q/tasks', env, body)).status).toBe(503);
  expect(pull).not.toHaveBeenCalled();
  release();
  await first;
});

test('large bodies share a limit of memory, and small bodies and calls that end work are accepted', async () => {
  const { send, arrived, release } = held();
  // The limit is 160 pieces of 64 KiB. The first piece of each body is not counted.
  const large = () => `{"payload":"${'x'.repeat(100_000)}"}${' '.repeat(4 * 1024 * 1024)}`;
  const env = { TOCK_MOST_AT_ONCE: '10' };
  const first = [1, 2].map(() => send('/v1/queues/q/tasks', env, large()));
  await arrived(2);
  const third = await send('/v1/queues/q/tasks', env, large());
  expect(third.status).toBe(503);
  expect(await third.json()).toMatchObject({ detail: expect.stringContaining('large bodies') });
  const others = [
    send('/v1/queues/q/tasks', env),
    send(`/v1/leases/${lease}/complete`, env, `{}${' '.repeat(4 * 1024 * 1024)}`),
  ];
  await arrived(4);
  release();
  for (const reply of await Promise.all([...first, ...others])) expect(reply.ok).toBe(true);
  const after = send('/v1/queues/q/tasks', env, large());
  await arrived(1);
  release();
  expect((await after).status).toBe(201);
});

test('polls have a thirtieth of the limit, and waiting calls twice the limit', async () => {
  let looking = 0;
  let most = 0;
  let came = 0;
  const { open, opened } = deferred();
  const app = createApp((_env, use) => {
    let looks = 0;
    return use(async () => {
      if (looks++ === 0) {
        // No call gets its first answer before all calls have arrived.
        if (++came === 120) open();
        await opened;
        return [{ body: empty }];
      }
      most = Math.max(most, ++looking);
      // During this pause another poll may start.
      await sleep(5);
      looking--;
      return [{ body: empty }];
    });
  });
  const env = { TOCK_MOST_AT_ONCE: '60' };
  const body = '{"wait_seconds": 3}';
  const calls = Array.from({ length: 125 }, () =>
    app.request('/v1/queues/q/claim', { method: 'POST', headers, body }, env),
  );
  const replies = (await Promise.all(calls)).map(({ status }) => status);
  expect(replies.filter((status) => status === 503)).toHaveLength(5);
  expect(replies.filter((status) => status === 200)).toHaveLength(120);
  expect(most).toBe(2);
});

test('a slot that was never released expires after two minutes', () => {
  vi.useFakeTimers();
  const env = { TOCK_MOST_AT_ONCE: '2' };
  expect(enter('rest', env, 'k')).not.toBeNull();
  vi.advanceTimersByTime(60_000);
  expect(enter('rest', env, 'k')).not.toBeNull();
  expect(enter('rest', env, 'k')).toBeNull();
  vi.advanceTimersByTime(60_001);
  expect(enter('rest', env, 'k')).not.toBeNull();
  expect(enter('rest', env, 'k')).toBeNull();
  vi.advanceTimersByTime(120_001);
});
