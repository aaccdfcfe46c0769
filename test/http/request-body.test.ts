import { afterEach, expect, test, vi } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { BODY_STALL_MS } from '../../functions/timeouts.ts';

const toFake: ('setInterval' | 'clearInterval' | 'performance')[] = [
  'setInterval',
  'clearInterval',
  'performance',
];

const connected = vi.fn();
const unknown = () => Promise.reject(Object.assign(new Error('no such key'), { code: 'TK401' }));
const app = createApp((_env, use) => {
  connected();
  return use(async (text, [asking] = []) => {
    if (text.includes('known_key')) return asking === 'tock_2' ? unknown() : [{ known: true }];
    return [{ body: '{"ids":["1"]}' }];
  });
});
afterEach(() => {
  connected.mockClear();
  vi.useRealTimers();
});

const MiB = 1024 * 1024;
const key = { authorization: 'Bearer tock_1' };

/** Sends a body in pieces. The result says how many bytes the server has read. */
async function upload(piece: () => Uint8Array | Promise<Uint8Array>, headers: object) {
  let bytes = 0;
  const cancel = vi.fn();
  const body = new ReadableStream(
    {
      async pull(to) {
        const chunk = await piece();
        if (chunk.length === 0) return to.close();
        bytes += chunk.length;
        to.enqueue(chunk);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
  const init = { method: 'POST', headers: { ...headers }, body, duplex: 'half' } as RequestInit;
  const reply = await app.request('/v1/queues/q/tasks', init);
  return { status: reply.status, answer: await reply.json(), bytes, cancel };
}

const endless = () => new Uint8Array(MiB);

test('the body of a request without a valid form of key is not read', async () => {
  for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Basic a:b' }]) {
    const { status, bytes } = await upload(endless, headers);
    expect({ status, bytes }).toEqual({ status: 401, bytes: 0 });
  }
});

test('a large body of an unknown key is not read to its end', async () => {
  const headers = { authorization: 'Bearer tock_2' };
  const answer = await upload(endless, { ...headers, 'content-length': '9000' });
  expect(answer).toMatchObject({ status: 401, bytes: 0 });
  const unsaid = await upload(endless, headers);
  expect(unsaid).toMatchObject({ status: 401, bytes: MiB });
  expect(connected).toHaveBeenCalledTimes(2);
});

test('a body with a Content-Length over the limit is refused unread', async () => {
  const { status, bytes } = await upload(endless, { ...key, 'content-length': String(2 ** 30) });
  expect({ status, bytes }).toEqual({ status: 413, bytes: 0 });
});

test('a body without a length is read only up to the limit', async () => {
  const { status, bytes, cancel } = await upload(endless, key);
  expect({ status, bytes }).toEqual({ status: 413, bytes: 6 * MiB });
  expect(cancel).toHaveBeenCalled();
  // A false Content-Length does not help.
  const lying = await upload(endless, { ...key, 'content-length': '2' });
  expect(lying).toMatchObject({ status: 413, bytes: 6 * MiB });
});

test('a body that arrives too slowly is refused, and no database connection was opened for it', async () => {
  vi.useFakeTimers({ toFake });
  const first = [new TextEncoder().encode('{"payload":')];
  const slow = () => {
    const piece = first.pop();
    if (piece) return piece;
    vi.advanceTimersByTime(BODY_STALL_MS);
    return new Promise<Uint8Array>(() => {});
  };
  const { status, answer, cancel } = await upload(slow, key);
  expect(status).toBe(408);
  expect(answer).toMatchObject({ type: '/errors/TK408', field: 'body' });
  expect(answer.detail).toMatch(/^The body arrived too slowly/);
  expect(cancel).toHaveBeenCalled();
  expect(connected).not.toHaveBeenCalled();
});

test('a body that takes longer than its time limit is refused', async () => {
  vi.useFakeTimers({ toFake });
  const enough = () => {
    vi.advanceTimersByTime(50);
    return new Uint8Array(1024);
  };
  const { status, answer } = await upload(enough, key);
  expect(status).toBe(408);
  expect(answer.detail).toMatch(/^The body did not arrive within 30 seconds/);
});

test('a body that ends early is a 400, and a body in pieces is read completely', async () => {
  const broken = () => Promise.reject(new Error('gone'));
  expect(await upload(broken, key)).toMatchObject({ status: 400 });
  expect(connected).not.toHaveBeenCalled();
  const pieces = ['{"pay', 'load": "', 'é"}', ''].map((text) => new TextEncoder().encode(text));
  const byByte = pieces.flatMap((piece) => [...piece]).map((byte) => Uint8Array.of(byte));
  for (const of of [pieces, [...byByte, new Uint8Array()]]) {
    expect((await upload(() => of.shift() as Uint8Array, key)).status).toBe(201);
  }
});

test('a URL may have 8,192 characters', async () => {
  const ask = (length: number) => app.request(`/v1/tasks?tenant=${'x'.repeat(length)}`);
  expect((await ask(8000)).status).toBe(401);
  const reply = await ask(8192);
  expect(reply.status).toBe(414);
  expect(await reply.json()).toMatchObject({ type: '/errors/TK414' });
});
