import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createApp } from '../../../functions/http/app.ts';
import { rowCounts, type Send, type Service, service } from '../../http/service.ts';

let tock: Service;
let before: Record<string, number>;
let lease_id: string;

const base = '/client/v4/accounts/a/queues';
const post = (path: string, options: Send = {}) => tock.send(`POST ${base}/${path}`, options);

beforeAll(async () => {
  tock = await service({ TOCK_COMPAT: 'cloudflare' });
  const messages = [{ body: 1 }, { body: 2 }];
  await post('q/messages/batch', { body: { messages } });
  const pulled = await post('q/messages/pull', { body: { batch_size: 1 } });
  lease_id = pulled.body.result.messages[0].lease_id;
  before = await rowCounts(tock.owner);
});
afterAll(() => tock.database.drop());

const deep = (levels: number) => `{"body": ${'['.repeat(levels)}${']'.repeat(levels)}}`;
const many = (field: string, item: unknown) => ({ [field]: Array(10_001).fill(item) });
const distinct = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    lease_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}.1`,
  }));

const json = (body: unknown): Send => ({ body });
const raw = (text: BodyInit): Send => ({ raw: text });

const cases: [path: string, what: string, status: number, code: number, Send][] = [
  ['q/messages', 'no JSON', 400, 10208, raw('{')],
  ['q/messages', 'bytes that are not UTF-8', 400, 10208, raw(new Uint8Array([0x7b, 0xff]))],
  ['q/messages', 'a list', 400, 10207, json([])],
  ['q/messages', 'null', 400, 10207, raw('null')],
  ['q/messages', 'an unknown content type', 400, 10207, json({ body: 1, content_type: 'v8' })],
  ['q/messages', 'text that is a number', 400, 10207, json({ body: 1, content_type: 'text' })],
  ['q/messages', 'a negative delay', 400, 10207, json({ delay_seconds: -1 })],
  ['q/messages', 'a delay over 12 hours', 400, 10207, json({ delay_seconds: 43_201 })],
  ['q/messages', 'a delay in text', 400, 10207, json({ delay_seconds: '1' })],
  ['q/messages', 'NUL', 400, 10207, raw('{"body": "\\u0000"}')],
  ['q/messages', 'half of a surrogate pair', 400, 10207, raw('{"body": "\\ud800"}')],
  ['q/messages', 'a huge exponent', 400, 10207, raw('{"body": 1e400}')],
  ['q/messages', 'deep nesting', 400, 10207, raw(deep(513))],
  ['q/messages', 'very deep nesting', 400, 10207, raw(deep(500_000))],
  ['q/messages', 'a body over the limit', 413, 10205, json({ body: 'x'.repeat(6_000_000) })],
  ['q/messages', 'a payload over the limit', 400, 10207, json({ body: 'x'.repeat(300_000) })],
  ['%F0/messages', 'a queue that is not UTF-8', 400, 10107, json({})],
  ['a%2Fb/messages', 'a queue with a slash', 400, 10107, json({})],
  ['*/messages', 'the queue of the defaults', 400, 10107, json({})],
  ['q%00/messages', 'a queue with NUL', 400, 10107, json({})],
  ['q/messages/batch', 'no list', 400, 10207, json({ messages: {} })],
  ['q/messages/batch', 'a message that is none', 400, 10207, json({ messages: [{ body: 1 }, 2] })],
  [
    'q/messages/batch',
    'one large message of two',
    400,
    10207,
    json({ messages: [{ body: 1 }, { body: 'x'.repeat(300_000) }] }),
  ],
  ['q/messages/batch', 'too many messages', 400, 10207, json(many('messages', {}))],
  ['q/messages/pull', 'a batch of 0', 400, 10207, json({ batch_size: 0 })],
  ['q/messages/pull', 'a batch of 101', 400, 10207, json({ batch_size: 101 })],
  ['q/messages/pull', 'a broken batch', 400, 10207, json({ batch_size: 1.5 })],
  ['q/messages/pull', 'a timeout of 0', 400, 10207, json({ visibility_timeout_ms: 0 })],
  [
    'q/messages/pull',
    'a timeout over 12 hours',
    400,
    10207,
    json({ visibility_timeout_ms: 43_200_001 }),
  ],
  [
    'q/messages/pull',
    "a timeout in the guide's name",
    400,
    10207,
    json({ visibility_timeout: -1 }),
  ],
  ['q&limit=9/messages/pull', 'a queue with an ampersand', 400, 10107, json({})],
  ['q/messages/ack', 'acks that are no list', 400, 10207, json({ acks: 'x' })],
  ['q/messages/ack', 'an ack without lease_id', 400, 10207, json({ acks: [{}] })],
  [
    'q/messages/ack',
    'a long lease_id',
    400,
    10207,
    json({ acks: [{ lease_id: 'x'.repeat(1001) }] }),
  ],
  ['q/messages/ack', 'acks of too many pulls', 400, 10207, json({ acks: distinct(101) })],
  ['q/messages/ack', 'too many acks', 400, 10207, json(many('acks', { lease_id: 'x' }))],
  ['q/messages/peek', 'a batch in text', 400, 10207, json({ batch_size: '5' })],
  ['q&state=dead/messages/peek', 'a queue with an ampersand', 400, 10107, json({})],
  ['q/messages/purge', 'no refs', 400, 10207, json({})],
  ['q/messages/purge', 'a ref that is a number', 400, 10207, json({ refs: [{ ref: 1 }] })],
  ['q/messages/nothing', 'an unknown route', 404, 7003, json({})],
  ['q', 'a route that Tock has not', 404, 7003, json({})],
  ['q/messages', 'no key', 401, 10000, { body: {}, key: null }],
  [
    'q/messages/purge',
    'no key and no valid ref',
    401,
    10000,
    { body: { refs: [{ ref: 'x' }] }, key: null },
  ],
  ['q/messages/ack', 'an unknown key and no lease_id', 401, 10000, { body: {}, key: 'tock_0' }],
  ['q/messages/pull', 'a strange key', 401, 10000, { body: {}, key: 'é%' }],
];

test.each(cases)('%s refuses %s: %i %i', async (path, _what, status, code, options) => {
  const reply = await post(path, options);
  const envelope = { success: false, errors: [{ code, message: expect.any(String) }] };
  expect(reply).toMatchObject({ status, body: { ...envelope, messages: [], result: null } });
  expect(reply.text).not.toMatch(/\bat .+:\d+|node_modules|\.ts\b/);
  expect(await rowCounts(tock.owner)).toEqual(before);
});

test('an invalid retry beside a valid acknowledgement ends nothing', async () => {
  const retries = [{ lease_id, delay_seconds: -1 }];
  const refused = await post('q/messages/ack', { body: { acks: [{ lease_id }], retries } });
  expect(refused).toMatchObject({ status: 400, body: { errors: [{ code: 10207 }] } });
  expect(await rowCounts(tock.owner)).toEqual(before);
});

test('ids that no call returned are warnings, whatever they look like', async () => {
  const ids = [
    ...['', '.', '__proto__', 'constructor', '..', '1', `${lease_id}.1`, `${lease_id}0`],
    ...['00000000-0000-4000-8000-000000000000.9223372036854775808', "'; drop schema tock"],
  ];
  const acked = await post('q/messages/ack', {
    body: { acks: ids.map((id) => ({ lease_id: id })) },
  });
  expect(acked).toMatchObject({ status: 200, body: { result: { ackCount: 0, retryCount: 0 } } });
  expect(Object.keys(acked.body.result.warnings).toSorted()).toEqual(ids.toSorted());
  const purged = await post('q/messages/purge', { body: { refs: ids.map((ref) => ({ ref })) } });
  expect(Object.keys(purged.body.result.warnings).toSorted()).toEqual(ids.toSorted());
  expect(await rowCounts(tock.owner)).toEqual(before);
});

test('a request that is no POST has no route, and one without the adapter is none of Cloudflare', async () => {
  expect(await tock.send(`GET ${base}/q/messages`)).toMatchObject({
    status: 404,
    body: { success: false, errors: [{ code: 7003 }] },
  });
  const other = await tock.send('POST /v1/queues/q/claim', { body: { limit: 0 } });
  expect(other).toMatchObject({ status: 422, body: { field: 'limit' } });
});

test('a body needs no Content-Type of JSON, and its prefix may be left out', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const pushed = await tock.send('POST /accounts/any/queues/curl/messages', {
    raw: '{ "body": { "greeting": "hello", "id": 1234567890123456789 } }',
    headers,
  });
  expect(pushed.body).toEqual({ success: true, errors: [], messages: [], result: {} });
  const { body } = await tock.send('POST /accounts/any/queues/curl/messages/pull', { headers });
  const [message] = body.result.messages;
  expect(Buffer.from(message.body, 'base64').toString()).toMatch(/"id": ?1234567890123456789\b/);
});

test('a large body of an unknown key is refused before it is read to its end', async () => {
  const large = { body: { body: 'x'.repeat(100_000) }, key: 'tock_0' };
  expect(await post('q/messages', large)).toMatchObject({ status: 401 });
});

test('a key over its rate, and a full database, say when to call again', async () => {
  const body = { name: 'slow', scopes: ['enqueue'], rate_limit: 1, rate_seconds: 60 };
  const { key } = (await tock.send('POST /v1/keys', { body })).body;
  expect(await post('rate/messages', { body: {}, key })).toMatchObject({ status: 200 });
  const limited = await post('rate/messages', { body: {}, key });
  expect(limited).toMatchObject({ status: 429, body: { errors: [{ code: 10250 }] } });
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
  const full = Object.assign(new Error('too many clients'), { code: '53300' });
  const app = createApp((_env, use) => use(() => Promise.reject(full)));
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const init = { method: 'POST', headers: { authorization: 'Bearer tock_0' } };
  const env = { TOCK_COMPAT: 'cloudflare' };
  const refused = await app.request(`${base}/q/messages`, init, env);
  log.mockRestore();
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ success: false, errors: [{ code: 15000 }] });
});
