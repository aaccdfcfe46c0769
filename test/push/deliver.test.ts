import { beforeAll, expect, test } from 'vitest';
import { Fatal, RetryIn } from '../../client/errors.ts';
import { deliver } from '../../functions/push/deliver.ts';
import { conditionTimeout } from '../timeout.ts';
import {
  type Answering,
  claimToPush,
  env,
  push,
  secretsAt,
  there,
  useReceiver,
  verify,
} from './receiver.ts';

useReceiver();
let secret: string;
beforeAll(async () => {
  secret = (await secretsAt()).current[0] as string;
});

// biome-ignore lint/suspicious/noExplicitAny: whatever is thrown
const failed = (sent: Promise<unknown>): Promise<any> =>
  sent.then(
    () => Promise.reject(new Error('it was delivered')),
    (error) => error,
  );

/** What happens to a task after this error: it is dead, or retried after a delay, or after its backoff. */
const kind = (error: unknown) =>
  error instanceof Fatal ? 'fatal' : error instanceof RetryIn ? error.seconds : 'again';

/** The name of the error of a push, and what happens to its task. */
async function failure(sent: Promise<unknown>) {
  const error = await failed(sent);
  return [error.name, kind(error)];
}

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
  ['application/json', '['.repeat(2000) + ']'.repeat(2000), expect.stringMatching(/^\[{2000}/)],
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
  ['again', 'Unavailable', [401, 408, 425, 500, 503, 599]],
  ['again', 'TooManyRequests', [429]],
  ['again', 'Redirected', [301, 302, 303, 304]],
  ['fatal', 'Refused', [400, 403, 404, 409, 422]],
  ['fatal', 'Gone', [410]],
  ['fatal', 'NonRetryable', [489]],
])('an answer means %s, %s: %j', async (what, name, statuses) => {
  for (const status of statuses) {
    const error = await failed(push(there.on('/status', status)));
    expect([kind(error), error.name, error.details.status]).toEqual([what, name, status]);
    expect(error.message).toContain(`${status} from ${there.url}/status`);
  }
});

test('an endpoint can make any failure final', async () => {
  const saying = (value: string) =>
    there.on('/never', (response) =>
      response.writeHead(503, { 'NonRetryable-Error': value }).end('no such'),
    );
  const error = await failed(push(saying('true')));
  expect([error.name, error.details.body]).toEqual(['NonRetryable', 'no such']);
  expect(kind(error)).toBe('fatal');
  expect(kind(await failed(push(saying('false'))))).toBe('again');
});

test.each([
  ['7', 7],
  ['0', 0],
  ['99999999999', 86_400],
  [new Date(Date.now() + 3_600_000).toUTCString(), 3600],
  ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
  ['-5', 'again'],
  ['1e3', 'again'],
  ['2030-01-01', 'again'],
])('Retry-After: %s is obeyed', async (value, wanted) => {
  const url = there.on('/later', (response) =>
    response.writeHead(429, { 'retry-after': value }).end(),
  );
  const actual = kind(await failed(push(url)));
  if (wanted !== 3600) expect(actual).toBe(wanted);
  else expect(Math.abs((actual as number) - 3600)).toBeLessThanOrEqual(100);
});

test('an error has a part of the answer, and the URL without its query string', async () => {
  const url = there.on('/long', (response) => response.writeHead(400).end('x'.repeat(100_000)));
  const error = await failed(push(`${url}?token=secret`));
  expect(error.details.body).toHaveLength(2000);
  expect(error.message).not.toContain('secret');
});

test('up to three redirects with 307 or 308 are followed, with the same body and signature', async () => {
  const redirect = (from: string, location: string, status = 307) =>
    there.on(from, (response) => response.writeHead(status, { location }).end());
  redirect('/r3', '/end');
  redirect('/r2', `${there.url}/r3`, 308);
  expect(await push(redirect('/r1', '/r2'))).toMatchObject({ status: 200, body: { ok: true } });
  expect(verify(secret, there.at('/end')[0] as never)).toEqual({ a: 1 });
  expect(await failure(push(redirect('/r0', '/r1')))).toEqual(['Redirected', 'again']);
  expect(await failure(push(there.on('/nowhere', 307)))).toEqual(['Redirected', 'again']);
});

test('each target of a redirect is checked, and https must stay https', async () => {
  const requests: string[] = [];
  const redirecting = (to: string, more: object) =>
    failed(
      deliver('https://example.com/', claimToPush(), {
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
  expect(await failure(push('http://127.0.0.1:1/'))).toEqual(['NoAnswer', 'again']);
  expect(await failure(push(breaking(200)))).toEqual(['NoAnswer', 'again']);
});

/** An endpoint whose answer breaks off. */
const breaking = (status: number) =>
  there.on('/broken', (response) => {
    response
      .writeHead(status, { 'content-length': '100', 'retry-after': '50' })
      .write('x', () => response.destroy());
  });

test.each([
  [410, 'fatal', 'Gone'],
  [503, 50, 'Unavailable'],
])('status %i counts even if the body breaks off', async (status, what, name) => {
  const error = await failed(push(breaking(status)));
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
