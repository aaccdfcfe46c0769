import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fatal, RetryIn } from '../../client/errors.ts';
import { lambdaHandler, nodeListener, type PushedTask, serve } from '../../client/receiver.ts';
import type { Claimed } from '../../client/types.ts';
import { deliver } from '../../functions/push/deliver.ts';
import { postByFetch } from '../../functions/push/post.ts';
import { secretsOf, signatureHeaders } from '../../functions/push/secret.ts';
import { conditionTimeout } from '../timeout.ts';
import { claimToPush } from './receiver.ts';

const env = { TOCK_PUSH_SECRET: 's'.repeat(32), TOCK_PUSH_PRIVATE: 'allow' };
const secrets = (generation: number) =>
  secretsOf(env, { queue: 'mail', generation, previous_until: null });
const handled: PushedTask<{ to?: string; fails?: string }>[] = [];
const errors: unknown[] = [];
let url: string;
let server: ReturnType<typeof createServer>;
let secret: string;

const receive = async () =>
  serve<{ to?: string; fails?: string }>(
    (task, { signal }) => {
      signal.throwIfAborted();
      handled.push(task);
      const { fails, to } = task.payload;
      if (fails === 'fatal') throw new Fatal('no such address');
      if (fails === 'later') throw new RetryIn(90.2, 'busy');
      if (fails === 'always') throw new TypeError('a fault');
      return to === undefined ? undefined : { sent: to };
    },
    { secret: ['whsec_b3RoZXI=', secret], on_error: (error) => errors.push(error) },
  );

beforeAll(async () => {
  [secret = ''] = (await secrets(1)).current;
  server = createServer(nodeListener(await receive()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterAll(() => server.close());

/** Pushes a task as the Worker does. */
const push = async (task: Partial<Claimed>, generation = 1) =>
  deliver(url, claimToPush(task), {
    env,
    post: postByFetch,
    secrets: await secrets(generation),
    signal: AbortSignal.timeout(conditionTimeout),
  });

test('a receiver gets a signed task, and its return value is the result', async () => {
  const pushed = { id: '7', run_id: '9', queue: 'mail', attempt: 2, max_attempts: 4 };
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const task = { ...pushed, payload: { to: 'ann 😀' }, headers: { traceparent } };
  expect(await push(task)).toEqual({ status: 200, body: { sent: 'ann 😀' } });
  expect(handled.at(-1)).toMatchObject({ ...pushed, payload: { to: 'ann 😀' } });
  expect(handled.at(-1)?.headers.get('traceparent')).toBe(traceparent);
  expect(await push({ payload: {} })).toMatchObject({ status: 204 });
});

test('what a handler throws decides about the task', async () => {
  await expect(push({ payload: { fails: 'fatal' } })).rejects.toMatchObject({
    name: 'NonRetryable',
    details: { status: 489, body: 'no such address' },
  });
  await expect(push({ payload: { fails: 'later' } })).rejects.toMatchObject({ seconds: 91 });
  await expect(push({ payload: { fails: 'always' } })).rejects.toMatchObject({
    name: 'Unavailable',
    details: { status: 500, body: 'TypeError: a fault' },
  });
  expect(errors).toMatchObject([Fatal, RetryIn, TypeError].map(({ name }) => ({ name })));
});

test('a request with another signature, another body, an old time or no signature is refused', async () => {
  const before = handled.length;
  await expect(push({ payload: { to: 'eve' } }, 2)).rejects.toMatchObject({
    details: { status: 401 },
  });
  const headers = await signatureHeaders(await secrets(1), '7', '{"to":"ann"}');
  const call = async (change: object, body = '{"to":"ann"}') =>
    (await fetch(url, { method: 'POST', body, headers: { ...headers, ...change } })).status;
  expect(await call({})).toBe(200);
  expect(await call({}, '{"to":"eve"}')).toBe(401);
  expect(await call({ 'webhook-id': '8' })).toBe(401);
  expect(await call({ 'webhook-timestamp': '1600000000' })).toBe(401);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
  expect((await fetch(url)).status).toBe(405);
  expect(handled).toHaveLength(before + 1);
});

test('a sender that hangs up in the middle of its body does not end the process', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{', () =>
    socket.destroy(),
  );
  await closed;
  expect(await push({ payload: { to: 'ann' } })).toMatchObject({ status: 200 });
});

test('a Lambda function receives a task, also one whose body is in Base64', async () => {
  const lambda = lambdaHandler(await receive());
  const body = '{"to":"bob 😀"}';
  const headers = await signatureHeaders(await secrets(1), '7', body);
  const event = { headers, requestContext: { http: { method: 'POST' } } };
  for (const coded of [
    { body },
    { body: Buffer.from(body).toString('base64'), isBase64Encoded: true },
  ]) {
    const { statusCode, body: answer } = await lambda({ ...event, ...coded });
    expect([statusCode, JSON.parse(answer)]).toEqual([200, { sent: 'bob 😀' }]);
  }
  expect(await lambda({ ...event, body: '{}' })).toMatchObject({ statusCode: 401 });
});

test('a receiver without a secret, or with one that is none, is refused at once', () => {
  expect(() => serve(() => {}, { secret: '' })).toThrow(/^secret: /);
  expect(() => serve(() => {}, { secret: [] })).toThrow(/^secret: /);
});
