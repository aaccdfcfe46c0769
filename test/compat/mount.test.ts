import { OpenAPIHono } from '@hono/zod-openapi';
import { requestId } from 'hono/request-id';
import { expect, test, vi } from 'vitest';
import type { Adapter } from '../../functions/compat/adapter.ts';
import { expectOk } from '../../functions/compat/calls.ts';
import { parseExactly } from '../../functions/compat/exact_json.ts';
import { mountCompat } from '../../functions/compat/mount.ts';
import type { Env } from '../../functions/http/endpoint.ts';
import { problem } from '../../functions/http/problem.ts';

/** Answers with what its call of /v1/echo has returned. */
const adapter = (name: Adapter['name'], path: string, sent?: unknown): Adapter => ({
  name,
  matches: ({ url }) => url.endsWith(path),
  keyOf: ({ headers }) => headers.get('x-key'),
  async handle(c, tock) {
    const { status, body } = await tock('POST', '/v1/echo', sent, { 'Tock-First-Try': 'true' });
    return c.json({ name, status, body });
  },
});

const app = new OpenAPIHono<Env>();
app.onError(problem);
app.use(requestId());
mountCompat(app, [adapter('sqs', '/one', { n: 1 }), adapter('qstash', '/two')]);
app.all('/v1/echo', async (c) =>
  c.json({ headers: Object.fromEntries(c.req.raw.headers), text: await c.req.text() }),
);
app.all('*', (c) => c.text('a route of Tock'));

const waitUntil = vi.fn();
async function send(path: string, names?: string, headers: Record<string, string> = {}) {
  const env = names === undefined ? {} : { TOCK_COMPAT: names };
  const execution = { waitUntil, passThroughOnException() {}, props: {} };
  return app.request(path, { method: 'POST', headers, body: '{}' }, env, execution);
}

test('only the adapters that TOCK_COMPAT names answer', async () => {
  for (const [path, names, answer] of [
    ['/one', undefined, null],
    ['/one', '', null],
    ['/one', 'qstash', null],
    ['/one', 'sqs', 'sqs'],
    ['/two', ' sqs , qstash,', 'qstash'],
    ['/three', 'sqs,qstash', null],
  ] as const) {
    const response = await send(path, names);
    const text = await response.text();
    expect(answer ? JSON.parse(text).name : text, `${path} ${names}`).toBe(
      answer ?? 'a route of Tock',
    );
  }
});

test("an adapter's call has the key, request id, trace, own headers and context of its request", async () => {
  waitUntil.mockClear();
  const trace = { traceparent: '00-a', tracestate: 'b=c', baggage: 'd=e' };
  const request = { 'x-key': 'tock_1', 'x-request-id': 'r1', cookie: 'secret', ...trace };
  const answer = await (await send('/one', 'sqs', request)).json();
  expect(answer).toMatchObject({ status: 200, body: { text: '{"n":1}' } });
  expect(answer.body.headers).toEqual({
    authorization: 'Bearer tock_1',
    'content-type': 'application/json',
    'tock-first-try': 'true',
    'x-request-id': 'r1',
    ...trace,
  });
  expect(waitUntil).toHaveBeenCalledOnce();
});

test('a request without a key, or with one that no header may have, reaches the route as such', async () => {
  const without = await (await send('/two', 'qstash')).json();
  expect(without.body).toMatchObject({ text: '' });
  expect(without.body.headers).not.toHaveProperty('authorization');
  const strange = await (await send('/two', 'qstash', { 'x-key': 'tock_é %' })).json();
  expect(strange.body.headers).toHaveProperty('authorization', 'Bearer tock_???');
});

test('an unknown name in TOCK_COMPAT is a 503 that names the variable, and not its value', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const response = await send('/one', 'sqs,secret');
  expect(response.status).toBe(503);
  const { detail, hint } = await response.json();
  const said = `${detail} ${hint} ${log.mock.calls}`;
  expect(log.mock.calls.flat().join()).toContain('TOCK_COMPAT');
  expect(said).not.toContain('secret');
  log.mockRestore();
});

test("Tock's refusal of an adapter's call keeps its status, field and Retry-After", () => {
  const headers = new Headers({ 'Retry-After': '3' });
  const body = { detail: 'no', field: 'x', hint: 'wait' };
  const thrown = () => expectOk({ status: 503, body, headers });
  const cause = { field: 'x', hint: 'wait', headers: { 'Retry-After': '3' } };
  expect(thrown).toThrow(expect.objectContaining({ status: 503, message: 'no', cause }));
  expect(expectOk({ status: 201, body, headers })).toBe(body);
});

test.skipIf(!('rawJSON' in JSON))('a number that a double would round passes unchanged', () => {
  const exact =
    '{"a":1234567890123456789,"b":[0.12345678901234567890,100],"c":"1234567890123456789"}';
  expect(JSON.stringify(parseExactly(exact))).toBe(exact);
  expect(parseExactly('{"a": 1.0, "b": 9007199254740991}')).toEqual({ a: 1, b: 9007199254740991 });
});
