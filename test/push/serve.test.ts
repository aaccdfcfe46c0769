import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Fatal, RetryIn } from '../../client/errors.ts';
import { lambdaHandler, nodeListener, type PushedTask, serve } from '../../client/receiver.ts';
import type { Claimed } from '../../client/types.ts';
import { signatureHeaders } from '../../functions/push/secret.ts';
import { push as pushTo, secretsAt } from './receiver.ts';

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
  [secret = ''] = (await secretsAt()).current;
  server = createServer(nodeListener(await receive()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterAll(() => server.close());

const push = (task: Partial<Claimed>, generation?: number) => pushTo(url, task, generation);
const headersFor = async (body: string) => signatureHeaders(await secretsAt(), '7', body);

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
  const headers = await headersFor('{"to":"ann"}');
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

/** A signed request to the receiver in this process. */
const signed = async (body: string) =>
  new Request(url, { method: 'POST', body, headers: await headersFor(body) });

test('a signed body that is no JSON, and any other error of the check, is a 401', async () => {
  const call = serve(({ payload }) => payload, { secret });
  expect((await call(await signed('{"to":'))).status).toBe(401);
  const { verify } = Webhook.prototype;
  onTestFinished(() => {
    Webhook.prototype.verify = verify;
  });
  Webhook.prototype.verify = () => {
    throw new TypeError('a fault of the library');
  };
  expect((await call(await signed('{"to":"ann"}'))).status).toBe(401);
  // The library has parsed the body, and no second parser reads it.
  Webhook.prototype.verify = () => ({ to: 'bob' });
  expect(await (await call(await signed('{"to":"ann"}'))).json()).toEqual({ to: 'bob' });
});

test('the largest payload is received, and more than 5 MiB is refused with 413', async () => {
  const call = await receive();
  const MiB = 1024 * 1024;
  const largest = JSON.stringify({ to: 'x'.repeat(4 * MiB) });
  expect((await call(await signed(largest))).status).toBe(200);
  let pulls = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (++pulls === 20) controller.close();
      else controller.enqueue(new Uint8Array(MiB));
    },
  });
  const { headers } = await signed('{}');
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' };
  expect((await call(new Request(url, init))).status).toBe(413);
  expect(pulls).toBeLessThan(8);
});

/** Starts a server that lasts as long as the test. */
async function listen(listener: RequestListener): Promise<AddressInfo> {
  const one = createServer(listener);
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void one.close());
  return one.address() as AddressInfo;
}

/** The first bytes of the answer to these bytes on a connection of their own, which stays open. */
function answerTo(to: AddressInfo, bytes: string): Promise<string> {
  const socket = connect(to.port, to.address);
  onTestFinished(() => void socket.destroy());
  socket.write(bytes);
  return new Promise((resolve, reject) => {
    socket.on('data', (data) => resolve(data.toString()));
    socket.on('error', reject);
  });
}

test('a Node server answers 413 to a body over its limit while it is still being sent', async () => {
  const small = serve(() => 'unexpected', { secret, max_body_bytes: 1000 });
  const to = await listen(nodeListener(small));
  const head = 'POST / HTTP/1.1\r\nhost: x\r\n';
  const refused = /^HTTP\/1\.1 413 .*\r\nconnection: close\r\n.*larger than 1000 bytes/is;
  const chunked = `transfer-encoding: chunked\r\n\r\n800\r\n${' '.repeat(0x800)}\r\n`;
  expect(await answerTo(to, head + chunked)).toMatch(refused);
  expect(await answerTo(to, `${head}content-length: 1001\r\n\r\n`)).toMatch(refused);
  expect(await answerTo(to, `${head}content-length: 2\r\n\r\n{}`)).toMatch(/^HTTP\/1\.1 401 /);
});

test('a sender that hangs up in the middle of its body does not end the process', async () => {
  const listener = nodeListener(await receive());
  const { promise: answered, resolve: answering } = Promise.withResolvers<void>();
  const to = await listen((incoming, outgoing) => answering(listener(incoming, outgoing)));
  const socket = connect(to.port, to.address);
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{', () =>
    socket.destroy(),
  );
  // A rejected promise of a listener would end the process.
  await expect(answered).resolves.toBeUndefined();
});

test('a Lambda function receives a task, also one whose body is in Base64', async () => {
  const lambda = lambdaHandler(await receive());
  const body = '{"to":"bob 😀"}';
  const headers = await headersFor(body);
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
