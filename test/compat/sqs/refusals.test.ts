import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createApp } from '../../../functions/http/app.ts';
import { rowCounts, type Send, type Service, service } from '../../http/service.ts';
import { cases, message, QueueUrl } from './refused_calls.ts';

let tock: Service;
let before: Record<string, number>;
let handle: string;

/** Sends an operation as a client does. */
function post(operation: string, { headers, ...options }: Send = {}) {
  const own = {
    'x-amz-target': `AmazonSQS.${operation}`,
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-security-token': options.key === undefined ? tock.key : (options.key ?? ''),
    ...headers,
  };
  return tock.send('POST /', { ...options, key: null, headers: own });
}

beforeAll(async () => {
  tock = await service({ TOCK_COMPAT: 'sqs' });
  await post('CreateQueue', { body: { QueueName: 'q' } });
  await post('CreateQueue', {
    body: { QueueName: 'q.fifo', Attributes: { FifoQueue: 'true' } },
  });
  await post('SendMessage', { body: { QueueUrl, MessageBody: 'm' } });
  const { body } = await post('ReceiveMessage', { body: { QueueUrl, VisibilityTimeout: 3600 } });
  handle = body.Messages[0].ReceiptHandle;
  before = await rowCounts(tock.owner);
});
afterAll(() => tock.database.drop());

test.each(cases)('%s refuses %s: %s', async (operation, _what, code, options) => {
  const reply = await post(operation, options);
  expect(reply).toMatchObject({
    status: 400,
    body: { __type: `com.amazonaws.sqs#${code}`, message: expect.any(String) },
  });
  expect(reply.headers.get('x-amzn-query-error')).toMatch(/^[\w.]+;Sender$/);
  expect(reply.text).not.toMatch(/\bat .+:\d+|node_modules|\.ts\b/);
  expect(reply.text.length).toBeLessThan(2000);
  expect(await rowCounts(tock.owner)).toEqual(before);
});

test('an attribute may have a name of JavaScript', async () => {
  const QueueUrl = 'http://tock.example/0/names';
  const MessageAttributes = JSON.parse('{"__proto__": {"DataType": "String", "StringValue": "x"}}');
  const sent = await post('SendMessage', {
    body: { QueueUrl, MessageBody: 'm', MessageAttributes },
  });
  const received = await post('ReceiveMessage', {
    body: { QueueUrl, MessageAttributeNames: ['All'] },
  });
  expect(received.text).toContain('"__proto__":{');
  const [message] = received.body.Messages;
  expect(message.MD5OfMessageAttributes).toBe(sent.body.MD5OfMessageAttributes);
});

test('an error has the code of the older protocol in its header', async () => {
  const unknown = await post('GetQueueUrl', { body: { QueueName: 'nothing' } });
  expect(unknown.headers.get('x-amzn-query-error')).toBe(
    'AWS.SimpleQueueService.NonExistentQueue;Sender',
  );
  expect(unknown.headers.get('content-type')).toBe('application/x-amz-json-1.0');
  expect(unknown.headers.get('x-amzn-requestid')).toMatch(/./);
});

test('a visibility that is refused leaves the message in flight', async () => {
  const change = { QueueUrl, ReceiptHandle: handle, VisibilityTimeout: 43_201 };
  expect(await post('ChangeMessageVisibility', { body: change })).toMatchObject({ status: 400 });
  const Entries = [
    { Id: 'same', ReceiptHandle: handle, VisibilityTimeout: 3600 },
    { Id: 'bad', ReceiptHandle: handle, VisibilityTimeout: -1 },
  ];
  const changed = await post('ChangeMessageVisibilityBatch', { body: { QueueUrl, Entries } });
  expect(changed.body).toMatchObject({ Successful: [{ Id: 'same' }], Failed: [{ Id: 'bad' }] });
  const { body } = await post('GetQueueAttributes', {
    body: { QueueUrl, AttributeNames: ['All'] },
  });
  expect(body.Attributes.ApproximateNumberOfMessagesNotVisible).toBe('1');
});

test('a body over 5 MiB, and a large one without a key, are refused', async () => {
  const over = await post('SendMessage', message({ MessageBody: 'x'.repeat(6_000_000) }));
  expect(over).toMatchObject({ status: 413 });
  const large = { ...message({ MessageBody: 'x'.repeat(100_000) }), key: 'tock_0' };
  expect(await post('SendMessage', large)).toMatchObject({
    status: 403,
    body: { __type: 'com.amazonaws.sqs#InvalidClientTokenId' },
  });
  expect(await post('SendMessage', { ...message({}), key: null })).toMatchObject({ status: 403 });
});

test('other requests are none of SQS', async () => {
  const other = await tock.send('POST /v1/queues/q/claim', { body: { limit: 0 } });
  expect(other).toMatchObject({ status: 422, body: { field: 'limit' } });
  const headers = { 'x-amz-target': 'DynamoDB_20120810.PutItem' };
  expect(await tock.send('POST /', { body: {}, headers })).toMatchObject({ status: 405 });
});

test('a key over its rate, and a full database, say when to call again', async () => {
  const body = { name: 'slow', scopes: ['enqueue'], rate_limit: 1, rate_seconds: 60 };
  const { key } = (await tock.send('POST /v1/keys', { body })).body;
  expect(await post('SendMessage', { ...message({}), key })).toMatchObject({ status: 200 });
  const limited = await post('SendMessage', { ...message({}), key });
  expect(limited).toMatchObject({
    status: 429,
    body: { __type: 'com.amazonaws.sqs#RequestThrottled' },
  });
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
  const full = Object.assign(new Error('too many clients'), { code: '53300' });
  const app = createApp((_env, use) => use(() => Promise.reject(full)));
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const headers = { 'x-amz-target': 'AmazonSQS.ReceiveMessage', 'x-amz-security-token': 'tock_0' };
  const init = { method: 'POST', headers, body: JSON.stringify({ QueueUrl }) };
  const refused = await app.request('/', init, { TOCK_COMPAT: 'sqs' });
  log.mockRestore();
  expect(refused.status).toBe(503);
  expect(refused.headers.get('x-amzn-query-error')).toBe('ServiceUnavailable;Receiver');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
});
