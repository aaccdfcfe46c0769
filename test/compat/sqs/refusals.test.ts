import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createApp } from '../../../functions/http/app.ts';
import { rowCounts, type Send, type Service, service } from '../../http/service.ts';

let tock: Service;
let before: Record<string, number>;
let handle: string;

const QueueUrl = 'http://tock.example/000000000000/q';

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

const json = (body: unknown): Send => ({ body });
const message = (more: object): Send => json({ QueueUrl, MessageBody: 'm', ...more });
const fifo = (more: object): Send =>
  json({ QueueUrl: `${QueueUrl}.fifo`, MessageBody: 'm', MessageGroupId: 'g', ...more });
const receive = (more: object): Send => json({ QueueUrl, ...more });
const batch = (Entries: unknown): Send => json({ QueueUrl, Entries });
const set = (Attributes: unknown): Send => json({ QueueUrl, Attributes });
const text = { DataType: 'String', StringValue: 'x' };
const attribute = (name: string, value: unknown): Send =>
  message({ MessageAttributes: { [name]: value } });
const many = (count: number, item: (n: number) => unknown) =>
  Array.from({ length: count }, (_, n) => item(n));
const entry = (n: number) => ({ Id: `${n}`, MessageBody: 'm' });
const deep = (levels: number) => `{"a": ${'['.repeat(levels)}${']'.repeat(levels)}}`;
const unknownLease = '00000000-0000-4000-8000-000000000000';

const parameter = 'InvalidParameterValue';
const missing = 'MissingParameter';
const value = 'InvalidAttributeValue';

const cases: [operation: string, what: string, code: string, Send][] = [
  ['SendMessage', 'no JSON', 'SerializationException', { raw: '{' }],
  ['SendMessage', 'a list', 'SerializationException', json([])],
  ['SendMessage', 'null', 'SerializationException', { raw: 'null' }],
  [
    'SendMessage',
    'bytes that are not UTF-8',
    'SerializationException',
    { raw: new Uint8Array([0x7b, 0xff]) },
  ],
  ['SendMessage', 'very deep nesting', missing, { raw: deep(500_000) }],
  ['SendMessage', 'no queue', missing, json({ MessageBody: 'm' })],
  ['SendMessage', 'no body', missing, json({ QueueUrl })],
  ['SendMessage', 'an empty body', missing, message({ MessageBody: '' })],
  ['SendMessage', 'a body that is a number', parameter, message({ MessageBody: 1 })],
  ['SendMessage', 'NUL', 'InvalidMessageContents', message({ MessageBody: '\0' })],
  [
    'SendMessage',
    'half of a surrogate pair',
    'InvalidMessageContents',
    message({ MessageBody: '\ud800' }),
  ],
  ['SendMessage', 'U+FFFE', 'InvalidMessageContents', message({ MessageBody: '\ufffe' })],
  ['SendMessage', 'a body over 1 MiB', parameter, message({ MessageBody: 'x'.repeat(1_048_577) })],
  ['SendMessage', 'a negative delay', parameter, message({ DelaySeconds: -1 })],
  ['SendMessage', 'a long delay', parameter, message({ DelaySeconds: 901 })],
  ['SendMessage', 'a delay in text', parameter, message({ DelaySeconds: '1' })],
  [
    'SendMessage',
    'a deduplication id in a standard queue',
    parameter,
    message({ MessageDeduplicationId: 'x' }),
  ],
  ['SendMessage', 'a group with a space', parameter, message({ MessageGroupId: 'a b' })],
  ['SendMessage', 'a long group', parameter, message({ MessageGroupId: 'x'.repeat(129) })],
  ['SendMessage', 'no group in a FIFO queue', missing, fifo({ MessageGroupId: undefined })],
  ['SendMessage', 'a delay in a FIFO queue', parameter, fifo({ DelaySeconds: 1 })],
  ['SendMessage', "a group with Tock's prefix", parameter, fifo({ MessageGroupId: 'key:x' })],
  ['SendMessage', 'attributes that are a list', parameter, message({ MessageAttributes: [] })],
  [
    'SendMessage',
    'eleven attributes',
    parameter,
    message({
      MessageAttributes: Object.fromEntries(many(11, (n) => [`a${n}`, text]) as [string, object][]),
    }),
  ],
  ['SendMessage', 'an attribute that is null', parameter, attribute('a', null)],
  ['SendMessage', 'an attribute without a type', missing, attribute('a', { StringValue: 'x' })],
  [
    'SendMessage',
    'an attribute of an unknown type',
    parameter,
    attribute('a', { ...text, DataType: 'Text' }),
  ],
  ['SendMessage', 'an empty attribute', parameter, attribute('a', { ...text, StringValue: '' })],
  [
    'SendMessage',
    'an attribute without a value',
    parameter,
    attribute('a', { DataType: 'Binary' }),
  ],
  [
    'SendMessage',
    'an attribute that is no base64',
    parameter,
    attribute('a', { DataType: 'Binary', BinaryValue: '***' }),
  ],
  [
    'SendMessage',
    'an attribute with a control character',
    parameter,
    attribute('a', { ...text, StringValue: '\b' }),
  ],
  ...['aWs.x', 'AMAZON.x', '.x', 'x.', 'x!', '', 'x'.repeat(256)].map(
    (name): [string, string, string, Send] => [
      'SendMessage',
      `an attribute ${name.slice(0, 10)}`,
      parameter,
      attribute(name, text),
    ],
  ),
  ...['', '*', 'a%2Fb', 'q?x=1', 'q#x', '..', 'é', 'q\0', 'x'.repeat(101)].map(
    (name): [string, string, string, Send] => [
      'SendMessage',
      `a queue ${name.slice(0, 10)}`,
      'InvalidAddress',
      message({ QueueUrl: `${QueueUrl}/${name}` }),
    ],
  ),
  ['SendMessageBatch', 'no entries', 'EmptyBatchRequest', batch([])],
  ['SendMessageBatch', 'entries that are no list', 'EmptyBatchRequest', batch({ length: 1 })],
  ['SendMessageBatch', 'too many entries', 'TooManyEntriesInBatchRequest', batch(many(11, entry))],
  [
    'SendMessageBatch',
    'very many entries',
    'TooManyEntriesInBatchRequest',
    batch(many(300_000, () => 1)),
  ],
  ['SendMessageBatch', 'an entry that is null', 'InvalidBatchEntryId', batch([entry(1), null])],
  [
    'SendMessageBatch',
    'an id with a colon',
    'InvalidBatchEntryId',
    batch([{ ...entry(1), Id: 'a:b' }]),
  ],
  [
    'SendMessageBatch',
    'a long id',
    'InvalidBatchEntryId',
    batch([{ ...entry(1), Id: 'x'.repeat(81) }]),
  ],
  ['SendMessageBatch', 'an id twice', 'BatchEntryIdsNotDistinct', batch([entry(1), entry(1)])],
  [
    'SendMessageBatch',
    'over 1 MiB together',
    'BatchRequestTooLong',
    batch(many(2, (n) => ({ Id: `${n}`, MessageBody: 'x'.repeat(600_000) }))),
  ],
  ['ReceiveMessage', 'no message', parameter, receive({ MaxNumberOfMessages: 0 })],
  ['ReceiveMessage', 'eleven messages', parameter, receive({ MaxNumberOfMessages: 11 })],
  ['ReceiveMessage', 'a long wait', parameter, receive({ WaitTimeSeconds: 21 })],
  ['ReceiveMessage', 'a negative timeout', parameter, receive({ VisibilityTimeout: -1 })],
  ['ReceiveMessage', 'a timeout over 12 hours', parameter, receive({ VisibilityTimeout: 43_201 })],
  [
    'ReceiveMessage',
    'names that are numbers',
    parameter,
    receive({ AttributeNames: many(300_000, () => 1) }),
  ],
  ['DeleteMessage', 'no handle', missing, receive({})],
  ...[
    '',
    'x',
    '0'.repeat(100_000),
    `${unknownLease}.0`,
    `${unknownLease}.1/../2`,
    `../${unknownLease}.1`,
  ].map((ReceiptHandle): [string, string, string, Send] => [
    'DeleteMessage',
    `a handle ${ReceiptHandle.slice(0, 45)}`,
    'ReceiptHandleIsInvalid',
    receive({ ReceiptHandle }),
  ]),
  [
    'DeleteMessage',
    'a handle of a task that cannot be',
    parameter,
    receive({ ReceiptHandle: `${unknownLease}.9999999999999999999` }),
  ],
  ['DeleteMessageBatch', 'no entries', 'EmptyBatchRequest', batch([])],
  [
    'ChangeMessageVisibility',
    'a handle that never was',
    'MessageNotInflight',
    receive({ ReceiptHandle: `${unknownLease}.1`, VisibilityTimeout: 0 }),
  ],
  [
    'ChangeMessageVisibility',
    'no timeout',
    missing,
    receive({ ReceiptHandle: `${unknownLease}.1` }),
  ],
  [
    'ChangeMessageVisibility',
    'a timeout over 12 hours',
    parameter,
    receive({ ReceiptHandle: `${unknownLease}.1`, VisibilityTimeout: 43_201 }),
  ],
  ['CreateQueue', 'no name', missing, json({})],
  ...['', '-a', 'a b', 'a.b', 'a/b', 'a.fifo.fifo', 'x'.repeat(81), 'other.fifo'].map(
    (QueueName): [string, string, string, Send] => [
      'CreateQueue',
      `the name ${QueueName.slice(0, 10)}`,
      parameter,
      json({ QueueName }),
    ],
  ),
  [
    'CreateQueue',
    'a FIFO queue without its suffix',
    parameter,
    json({ QueueName: 'new', Attributes: { FifoQueue: 'true' } }),
  ],
  [
    'CreateQueue',
    'another timeout',
    'QueueNameExists',
    json({ QueueName: 'q', Attributes: { VisibilityTimeout: '31' } }),
  ],
  ['GetQueueUrl', 'a queue that is not there', 'QueueDoesNotExist', json({ QueueName: 'nothing' })],
  [
    'GetQueueAttributes',
    'an unknown attribute',
    'InvalidAttributeName',
    receive({ AttributeNames: ['constructor'] }),
  ],
  [
    'SetQueueAttributes',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing`, Attributes: {} }),
  ],
  ['SetQueueAttributes', 'an unknown attribute', 'InvalidAttributeName', set({ toString: 'x' })],
  [
    'SetQueueAttributes',
    'an attribute that is set by no one',
    'InvalidAttributeName',
    set({ QueueArn: 'x' }),
  ],
  ['SetQueueAttributes', 'a number', value, set({ VisibilityTimeout: 30 })],
  [
    'SetQueueAttributes',
    'very many attributes',
    'InvalidAttributeName',
    set(Object.fromEntries(many(300_000, (n) => [n, n]) as [string, number][])),
  ],
  ['SetQueueAttributes', 'a negative timeout', value, set({ VisibilityTimeout: '-1' })],
  ['SetQueueAttributes', 'a timeout of 0', value, set({ VisibilityTimeout: '0' })],
  ['SetQueueAttributes', 'a timeout that is no number', value, set({ VisibilityTimeout: '1e3' })],
  ['SetQueueAttributes', 'a short retention', value, set({ MessageRetentionPeriod: '59' })],
  ['SetQueueAttributes', 'a delay of the queue', value, set({ DelaySeconds: '1' })],
  ['SetQueueAttributes', 'a policy', value, set({ Policy: '{}' })],
  [
    'SetQueueAttributes',
    'one good and one bad attribute',
    value,
    set({ VisibilityTimeout: '31', MaximumMessageSize: '1' }),
  ],
  ...[
    '{',
    'null',
    '{}',
    '{"deadLetterTargetArn": "a", "maxReceiveCount": "x"}',
    '{"deadLetterTargetArn": "a", "maxReceiveCount": 1001}',
  ].map((RedrivePolicy): [string, string, string, Send] => [
    'SetQueueAttributes',
    `the redrive policy ${RedrivePolicy}`,
    value,
    set({ RedrivePolicy }),
  ]),
  ['ListQueues', 'a page of 0', parameter, json({ MaxResults: 0 })],
  [
    'DeleteQueue',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing` }),
  ],
  [
    'PurgeQueue',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing` }),
  ],
  [
    'ListQueueTags',
    'a queue that is not there',
    'QueueDoesNotExist',
    json({ QueueUrl: `${QueueUrl}/nothing` }),
  ],
  ['StartMessageMoveTask', 'what Tock has not', 'UnsupportedOperation', json({})],
  ['constructor', 'a name of JavaScript', 'UnsupportedOperation', json({})],
];

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
