import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fatal, RetryIn } from '../../client/errors.ts';
import type { Claimed } from '../../client/types.ts';
import { deliver } from '../../functions/push/deliver.ts';
import { postByFetch } from '../../functions/push/post.ts';
import { secretsOf } from '../../functions/push/secret.ts';
import { conditionTimeout } from '../timeout.ts';
import {
  type Answering,
  type Receiver,
  receiver,
  claimToPush as task,
  verify,
} from './receiver.ts';

let there: Receiver;
let secret: string;
const env = { TOCK_PUSH_SECRET: 'm'.repeat(32), TOCK_PUSH_PRIVATE: 'allow' };
const of = { queue: 'q', generation: 1, previous_until: null };

beforeAll(async () => {
  there = await receiver();
  secret = (await secretsOf(env, of)).current[0] as string;
});
afterAll(() => there.close());

async function push(url: string, more: Partial<Claimed> = {}) {
  const signal = AbortSignal.timeout(conditionTimeout);
  const secrets = await secretsOf(env, of);
  return deliver(url, task(more), { env, post: postByFetch, secrets, signal });
}

// biome-ignore lint/suspicious/noExplicitAny: whatever is thrown
const failed = (sent: Promise<unknown>): Promise<any> =>
  sent.then(
    () => Promise.reject(new Error('it was delivered')),
    (error) => error,
  );

/** What happens to a task after this error: it is dead, or retried after a delay, or after its backoff. */
const kind = (error: unknown) =>
  error instanceof Fatal ? 'fatal' : error instanceof RetryIn ? error.seconds : 'again';

test('a push is a signed POST with headers that describe the task', async () => {
  const headers = {
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    tracestate: 'congo=1',
    baggage: 'shop=7',
    authorization: 'Bearer x',
    cookie: 'a=b',
    host: 'evil.example',
    'webhook-id': 'forged',
    'tock-queue': 'forged',
    'content-length': '1',
    'transfer-encoding': 'chunked',
    'x-forwarded-for': '10.0.0.1',
  };
  const url = there.on('/plain', 200);
  expect(await push(url, { headers })).toEqual({ status: 200, body: null });
  const [got] = there.at('/plain');
  expect(verify(secret, got as never)).toEqual({ a: 1 });
  expect(got?.headers).toMatchObject({
    host: new URL(there.url).host,
    traceparent: headers.traceparent,
    tracestate: 'congo=1',
    baggage: 'shop=7',
    'content-type': 'application/json',
    'webhook-id': '77',
    'tock-queue': 'q',
    'tock-run': '78',
    'tock-attempt': '2',
    'tock-max-attempts': '10',
  });
  for (const name of ['authorization', 'cookie', 'x-forwarded-for']) {
    expect(got?.headers).not.toHaveProperty(name);
  }
});

const content =
  (type: string, body: string | Buffer): Answering =>
  (response) =>
    response.setHeader('content-type', type).end(body);

test.each([
  ['application/json', '{"a":[1,null]}', { a: [1, null] }],
  ['application/problem+json; charset=utf-8', '{"a":1}', { a: 1 }],
  ['application/json', '{"a":', '{"a":'],
  ['application/json', '{"a\\u0000":"\\ud800"}', { 'a\ufffd': '\ufffd' }],
  [
    'application/json',
    `${'['.repeat(2000)}${']'.repeat(2000)}`,
    expect.stringMatching(/^\[{2000}/),
  ],
  ['text/plain', '{"a":1}', '{"a":1}'],
  ['text/plain', 'a\0b', 'a\ufffdb'],
  ['', Buffer.from([0xff, 0x41]), '\ufffdA'],
])('an answer of %s %s is kept', async (type, body, kept) => {
  const url = there.on('/kept', content(type, body));
  expect(await push(url)).toEqual({ status: 200, body: kept });
});

test('of a huge answer only the beginning is read and kept', async () => {
  let sent = 0;
  const url = there.on('/huge', (response) => {
    const more = () => {
      while (!response.destroyed && sent < 1e9) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536, 'x'))) return response.once('drain', more);
      }
      return response.end();
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    more();
  });
  const { body, cut } = await push(url);
  expect([(body as string).length, cut]).toEqual([65_536, true]);
  expect(sent).toBeLessThan(1e8);
});

test.each([
  [401, 'again', 'Unavailable'],
  [408, 'again', 'Unavailable'],
  [425, 'again', 'Unavailable'],
  [429, 'again', 'TooManyRequests'],
  [500, 'again', 'Unavailable'],
  [503, 'again', 'Unavailable'],
  [599, 'again', 'Unavailable'],
  [400, 'fatal', 'Refused'],
  [403, 'fatal', 'Refused'],
  [404, 'fatal', 'Refused'],
  [409, 'fatal', 'Refused'],
  [422, 'fatal', 'Refused'],
  [410, 'fatal', 'Gone'],
  [489, 'fatal', 'NonRetryable'],
  [301, 'again', 'Redirected'],
  [302, 'again', 'Redirected'],
  [303, 'again', 'Redirected'],
  [304, 'again', 'Redirected'],
])('an answer with status %i means: %s', async (status, what, name) => {
  const error = await failed(push(there.on('/status', status)));
  expect([kind(error), error.name, error.details.status]).toEqual([what, name, status]);
  expect(error.message).toContain(`${status} from ${there.url}/status`);
});

test('an endpoint can make any failure final', async () => {
  const saying = (value: string): Answering => {
    return (response) => response.writeHead(503, { 'NonRetryable-Error': value }).end('no such');
  };
  const error = await failed(push(there.on('/never', saying('true'))));
  expect([kind(error), error.name, error.details.body]).toEqual([
    'fatal',
    'NonRetryable',
    'no such',
  ]);
  expect(kind(await failed(push(there.on('/never', saying('false')))))).toBe('again');
});

test.each([
  ['7', 7],
  ['0', 0],
  ['99999999999', 86_400],
  [() => new Date(Date.now() + 3_000_000).toUTCString(), 3000],
  ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
  ['-5', 'again'],
  ['soon', 'again'],
  ['1e3', 'again'],
  ['2030-01-01', 'again'],
])('Retry-After: %s is obeyed', async (expected, wanted) => {
  const value = typeof expected === 'function' ? expected() : expected;
  const url = there.on('/later', (response) =>
    response.writeHead(429, { 'retry-after': value }).end(),
  );
  const actual = kind(await failed(push(url)));
  if (wanted !== 3000) expect(actual).toBe(wanted);
  else expect(Math.abs((actual as number) - 3000)).toBeLessThanOrEqual(100);
});

test('an error has a part of the answer, and the URL without its query string', async () => {
  const url = there.on('/long', (response) => response.writeHead(400).end('x'.repeat(100_000)));
  const error = await failed(push(`${url}?token=secret`));
  expect(error.details.body).toHaveLength(2000);
  expect(error.message).not.toContain('secret');
});

test('up to three redirects with 307 or 308 are followed, with the same body and signature', async () => {
  const to = (path: string, status = 307): Answering => {
    return (response) => response.writeHead(status, { location: path }).end();
  };
  there.on('/r1', to('/r2'));
  there.on('/r2', to(`${there.url}/r3`, 308));
  there.on('/r3', to('/end'));
  expect(await push(`${there.url}/r1`)).toMatchObject({ status: 200, body: { ok: true } });
  expect(verify(secret, there.at('/end')[0] as never)).toEqual({ a: 1 });
  there.on('/r0', to('/r1'));
  const error = await failed(push(`${there.url}/r0`));
  expect([error.name, kind(error)]).toEqual(['Redirected', 'again']);
  there.on('/nowhere', (response) => response.writeHead(307).end());
  expect((await failed(push(`${there.url}/nowhere`))).name).toBe('Redirected');
});

test('each target of a redirect is checked, and https must stay https', async () => {
  const requests: string[] = [];
  const redirecting = (to: string, more: object) =>
    failed(
      deliver('https://example.com/', task(), {
        env: more,
        secrets: { current: [secret], previous: [] },
        signal: AbortSignal.timeout(conditionTimeout),
        post: async (url) => {
          requests.push(url);
          return new Response(null, { status: 307, headers: { location: to } });
        },
      }),
    );
  for (const to of ['https://10.0.0.1/', 'https://[::ffff:169.254.169.254]/', '//localhost/']) {
    const error = await redirecting(to, {});
    expect([error.name, kind(error)]).toEqual(['NotAllowed', 'fatal']);
    expect(error.message).toContain('redirected from https://example.com/');
  }
  const plain = await redirecting('http://example.com/', env);
  expect([plain.name, kind(plain)]).toEqual(['NotAllowed', 'fatal']);
  expect(requests).toEqual(Array(4).fill('https://example.com/'));
});

test('an unreachable endpoint and a broken answer are retried', async () => {
  const nobody = await failed(push('http://127.0.0.1:1/'));
  expect([nobody.name, kind(nobody)]).toEqual(['NoAnswer', 'again']);
  const broken = there.on('/broken', (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('x', () => response.destroy());
  });
  const error = await failed(push(broken));
  expect([error.name, kind(error)]).toEqual(['NoAnswer', 'again']);
});

test.each([
  [410, 'fatal', 'Gone'],
  [503, 50, 'Unavailable'],
])('status %i counts even if the body breaks off', async (status, what, name) => {
  const broken = there.on('/half', (response) => {
    response
      .writeHead(status, { 'content-length': '100', 'retry-after': '50' })
      .write('x', () => response.destroy());
  });
  const error = await failed(push(broken));
  expect([error.name, kind(error), error.details]).toEqual([name, what, { status, body: null }]);
});

test("no error contains the user or the fragment of a redirect's target", async () => {
  const location = 'https://ann:sesame@example.com/#open';
  there.on('/user', (response) => response.writeHead(307, { location }).end());
  const error = await failed(push(`${there.url}/user`));
  expect(error.message).toMatch(
    /^push refused: it contains a user name or password: https:\/\/example.com\/, redirected from /,
  );
});
