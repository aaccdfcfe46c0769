import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { makeDue, makeMaintenanceDue } from '../../sql/verbs.ts';
import { type Loose, type Sqs, startSqs } from './server.ts';

let sqs: Sqs;
beforeAll(async () => {
  sqs = await startSqs();
});
afterAll(() => sqs.close());

type Message = {
  MessageId: string;
  ReceiptHandle: string;
  Body: string;
  Attributes?: Record<string, string>;
};

const send = (queue: string, MessageBody: string, more: object = {}) =>
  sqs.call('SendMessage', { QueueUrl: sqs.queueUrl(queue), MessageBody, ...more });

async function receive(queue: string, more: object = {}): Promise<Message[]> {
  const input = { QueueUrl: sqs.queueUrl(queue), MessageSystemAttributeNames: ['All'], ...more };
  return (await sqs.call('ReceiveMessage', input)).Messages ?? [];
}
const receiveTen = (queue: string, more: object = {}) =>
  receive(queue, { MaxNumberOfMessages: 10, ...more });

const remove = (queue: string, { ReceiptHandle }: Message) =>
  sqs.call('DeleteMessage', { QueueUrl: sqs.queueUrl(queue), ReceiptHandle });

const changeVisibility = (queue: string, message: Message | undefined, VisibilityTimeout: number) =>
  sqs.call('ChangeMessageVisibility', {
    QueueUrl: sqs.queueUrl(queue),
    ReceiptHandle: message?.ReceiptHandle,
    VisibilityTimeout,
  });

async function attributes(queue: string): Promise<Record<string, string>> {
  const input = { QueueUrl: sqs.queueUrl(queue), AttributeNames: ['All'] };
  return (await sqs.call('GetQueueAttributes', input)).Attributes;
}

const create = async (QueueName: string, Attributes: object = {}): Promise<string> =>
  (await sqs.call('CreateQueue', { QueueName, Attributes })).QueueUrl;
const createFifo = (name: string, more: object = {}) =>
  create(name, { FifoQueue: 'true', ...more });

const bodies = (messages: Message[]) => messages.map(({ Body }) => Body);
const receiveCount = ([message]: Message[]) => Number(message?.Attributes?.ApproximateReceiveCount);
const taskOf = ({ MessageId }: Message) =>
  String(
    BigInt(
      MessageId.split('-')
        .filter((_, n) => n === 0 || n === 4)
        .join(''),
    ),
  );
const stateOf = async (message: Message) =>
  (await sqs.tock.send(`GET /v1/tasks/${taskOf(message)}`)).body.state;

test('a message comes back with its body, its attributes and their digests', async () => {
  const MessageAttributes = {
    timestamp: { DataType: 'Number', StringValue: '1493147359900' },
    'trace.id': { DataType: 'String.uuid', StringValue: 'é😀' },
    bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 255, 10]) },
  };
  const body = '"&quot;&quot;\r\n\t 😀 {"a": 1}';
  const sent = await send('whole', body, { MessageAttributes });
  expect(sent.MessageId).toMatch(/^\d{8}-0000-8000-8000-\d{12}$/);
  const [message] = await receive('whole', { MessageAttributeNames: ['All'] });
  expect(message).toMatchObject({
    MessageId: sent.MessageId,
    Body: body,
    MessageAttributes,
    MD5OfMessageAttributes: sent.MD5OfMessageAttributes,
    MD5OfBody: createHash('md5').update(body).digest('hex'),
  });
  expect(message?.Attributes).toMatchObject({
    ApproximateReceiveCount: '1',
    SentTimestamp: expect.stringMatching(/^\d{13}$/),
    ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
  });
});

test("the digest of attributes is SQS's", async () => {
  const timestamp = { DataType: 'Number', StringValue: '1493147359900' };
  const sent = await send('digest', 'message', { MessageAttributes: { timestamp } });
  expect(sent).toMatchObject({
    MD5OfMessageBody: '78e731027d8fd50ed642340b7c9a63b3',
    MD5OfMessageAttributes: '235c5c510d26fb653d073faed50ae77c',
  });
});

test('a receive returns the attributes that it asks for, by name or prefix', async () => {
  const text = (StringValue: string) => ({ DataType: 'String', StringValue });
  const MessageAttributes = { 'a.x': text('1'), 'a.y': text('2'), b: text('3') };
  await send('names', 'm', { MessageAttributes });
  const names = ['a.*', 'c'];
  const [message] = await receive('names', {
    MessageAttributeNames: names,
    MessageSystemAttributeNames: ['SentTimestamp'],
  });
  expect(Object.keys((message as Loose).MessageAttributes)).toEqual(['a.x', 'a.y']);
  expect(Object.keys(message?.Attributes ?? {})).toEqual(['SentTimestamp']);
});

test("a worker of Tock gets the body as its payload, and a receive gets the payloads of Tock's clients", async () => {
  await send('both', 'from sqs');
  const claimed = await sqs.tock.send('POST /v1/queues/both/claim', { body: {} });
  expect(claimed.body.tasks).toMatchObject([{ payload: 'from sqs' }]);
  const payloads = [{ from: 'tock' }, { sqs: { body: 'm', attributes: { a: 1 } } }, null, 7];
  await sqs.tock.send('POST /v1/queues/both/tasks', { body: { payloads } });
  const received = await receiveTen('both', { MessageAttributeNames: ['All'] });
  expect(bodies(received)).toEqual(payloads.map((payload) => JSON.stringify(payload)));
});

test('two receivers never share a message', async () => {
  const entries = Array.from({ length: 10 }, (_, n) => ({ Id: `${n}`, MessageBody: `${n}` }));
  for (let n = 0; n < 6; n++) {
    await sqs.call('SendMessageBatch', { QueueUrl: sqs.queueUrl('shared'), Entries: entries });
  }
  const seen: string[] = [];
  while (seen.length < 60) {
    const batches = await Promise.all(Array.from({ length: 4 }, () => receiveTen('shared')));
    seen.push(...batches.flat().map(({ MessageId }) => MessageId));
  }
  expect(new Set(seen).size).toBe(60);
  expect(await receiveTen('shared')).toEqual([]);
});

test('a message is received again after its timeout, with a grown count and another handle', async () => {
  await send('again', 'm');
  const first = await receive('again');
  expect(await receive('again')).toEqual([]);
  await sqs.expireLeases();
  const second = await receive('again');
  expect(second[0]?.MessageId).toBe(first[0]?.MessageId);
  expect(second[0]?.ReceiptHandle).not.toBe(first[0]?.ReceiptHandle);
  expect([first, second].map(receiveCount)).toEqual([1, 2]);
  await changeVisibility('again', second[0], 0);
  const third = await receive('again');
  expect(receiveCount(third)).toBe(3);
  expect(third[0]?.Attributes).not.toHaveProperty('ApproximateFirstReceiveTimestamp');
});

test('a receive with a timeout of 0 leaves its messages visible, and they can be deleted', async () => {
  await send('peek', 'a');
  await send('peek', 'b');
  expect(await receiveTen('peek', { VisibilityTimeout: 0 })).toHaveLength(2);
  const [a, b] = await receiveTen('peek', { VisibilityTimeout: 0 });
  await remove('peek', a as Message);
  expect(await receiveTen('peek')).toMatchObject([{ MessageId: b?.MessageId }]);
});

test('each message of a receive has a timeout of its own', async () => {
  for (const body of ['a', 'b', 'c']) await send('alone', body);
  const [a, b, c] = await receiveTen('alone', { VisibilityTimeout: 60 });
  await changeVisibility('alone', a, 3600);
  await changeVisibility('alone', b, 0);
  expect(bodies(await receiveTen('alone', { VisibilityTimeout: 60 }))).toEqual([b?.Body]);
  await remove('alone', c as Message);
  await sqs.tock.owner.query(
    "update tock.leases set leased_until = leased_until - interval '2 minutes' where closed_at is null",
  );
  await sqs.tock.owner.query('select tock.reap(p_sweep => true)');
  expect(bodies(await receiveTen('alone'))).toEqual([b?.Body]);
});

test('a longer timeout keeps the handle, and a shorter one makes the message wait', async () => {
  await send('longer', 'm');
  const [message] = (await receive('longer', { VisibilityTimeout: 10 })) as [Message];
  await changeVisibility('longer', message, 100);
  await changeVisibility('longer', message, 200);
  expect(await stateOf(message)).toBe('running');
  await changeVisibility('longer', message, 50);
  expect(await stateOf(message)).toBe('waiting');
  const { body } = await sqs.tock.send(`GET /v1/tasks/${taskOf(message)}`);
  const seconds = (Date.parse(body.run_at) - Date.parse(body.runs[0].ended_at)) / 1000;
  expect(Math.round(seconds)).toBe(50);
  const gone = changeVisibility('longer', message, 60);
  await expect(gone).rejects.toMatchObject({ name: 'MessageNotInflight' });
  await makeDue(sqs.tock.owner, 'longer');
  expect(receiveCount(await receive('longer'))).toBe(2);
});

test('a message is deleted by its handle, also a late one, and a second time', async () => {
  for (const body of ['a', 'b', 'c']) await send('deleted', body);
  const [a, b, c] = (await receiveTen('deleted')) as [Message, Message, Message];
  await remove('deleted', a);
  await remove('deleted', a);
  expect(await stateOf(a)).toBe('done');
  await changeVisibility('deleted', b, 0);
  await remove('deleted', b);
  await sqs.expireLeases();
  await remove('deleted', c);
  expect(await receiveTen('deleted')).toEqual([]);
  expect(await stateOf(c)).toBe('cancelled');
});

test('a late handle deletes a message that another consumer has, once that one gives it back', async () => {
  await send('stale', 'm');
  const [early] = (await receive('stale')) as [Message];
  await sqs.expireLeases();
  const [late] = (await receive('stale')) as [Message];
  await remove('stale', early);
  await changeVisibility('stale', late, 0);
  expect(await receive('stale')).toEqual([]);
});

test('a delayed message is not visible before its time', async () => {
  await send('delayed', 'm', { DelaySeconds: 900 });
  expect(await receive('delayed')).toEqual([]);
  expect(await attributes('delayed')).toMatchObject({
    ApproximateNumberOfMessages: '0',
    ApproximateNumberOfMessagesDelayed: '1',
  });
  await makeDue(sqs.tock.owner, 'delayed');
  expect(bodies(await receive('delayed'))).toEqual(['m']);
});

test('a receive waits for a message', async () => {
  const waiting = receive('waits', { WaitTimeSeconds: 20 });
  await send('waits', 'm');
  expect(bodies(await waiting)).toEqual(['m']);
});

test('a batch with one bad entry of each kind sends the others', async () => {
  await sqs.call('CreateQueue', { QueueName: 'mixed', Attributes: { MaximumMessageSize: '1024' } });
  const text = { DataType: 'String', StringValue: 'x' };
  const Entries = [
    { Id: 'first', MessageBody: '1' },
    { Id: 'control', MessageBody: '\u0001' },
    { Id: 'empty', MessageBody: '' },
    { Id: 'late', MessageBody: 'x', DelaySeconds: 901 },
    { Id: 'attribute', MessageBody: 'x', MessageAttributes: { 'AWS.x': text } },
    { Id: 'large', MessageBody: 'x'.repeat(1025) },
    { Id: 'larger', MessageBody: 'x'.repeat(2000) },
    { Id: 'last', MessageBody: '2' },
  ];
  const answer = await sqs.call('SendMessageBatch', { QueueUrl: sqs.queueUrl('mixed'), Entries });
  expect(answer.Successful).toMatchObject([{ Id: 'first' }, { Id: 'last' }]);
  expect(answer.Failed.map(({ Id, Code, SenderFault }: Loose) => [Id, Code, SenderFault])).toEqual([
    ['control', 'InvalidMessageContents', true],
    ['empty', 'MissingParameter', true],
    ['late', 'InvalidParameterValue', true],
    ['attribute', 'InvalidParameterValue', true],
    ['large', 'InvalidParameterValue', true],
    ['larger', 'InvalidParameterValue', true],
  ]);
  expect(bodies(await receiveTen('mixed')).toSorted()).toEqual(['1', '2']);
});

test('batches of handles delete and change what they can', async () => {
  for (const body of ['a', 'b']) await send('batches', body);
  const received = await receiveTen('batches');
  const entries = [
    ...received.map(({ ReceiptHandle }, n) => ({ Id: `${n}`, ReceiptHandle })),
    { Id: 'bad', ReceiptHandle: 'INVALID' },
  ];
  const QueueUrl = sqs.queueUrl('batches');
  const invalid = [{ Id: 'bad', Code: 'ReceiptHandleIsInvalid', SenderFault: true }];
  const visible = entries.map((entry) => ({ ...entry, VisibilityTimeout: 0 }));
  const changed = await sqs.call('ChangeMessageVisibilityBatch', { QueueUrl, Entries: visible });
  expect(changed).toMatchObject({ Successful: [{ Id: '0' }, { Id: '1' }], Failed: invalid });
  const again = await receiveTen('batches');
  expect(again.map((message) => receiveCount([message]))).toEqual([2, 2]);
  const Entries = again.map(({ ReceiptHandle, Body }) => ({ Id: Body, ReceiptHandle }));
  const removed = await sqs.call('DeleteMessageBatch', { QueueUrl, Entries });
  expect(removed.Successful).toHaveLength(2);
  expect(removed).not.toHaveProperty('Failed');
  expect(await attributes('batches')).toMatchObject({ ApproximateNumberOfMessagesNotVisible: '0' });
});

test('messages of a group come one by one in their order, also after a timeout and a return', async () => {
  await createFifo('order.fifo');
  const fifo = (body: string, group: string) =>
    send('order.fifo', body, { MessageGroupId: group, MessageDeduplicationId: body });
  const sent = [];
  for (const body of ['a1', 'a2', 'a3']) sent.push(await fifo(body, 'a'));
  await fifo('b1', 'b');
  const numbers = sent.map(({ SequenceNumber }) => SequenceNumber);
  expect(numbers).toEqual(numbers.toSorted());
  expect(await attributes('order.fifo')).toMatchObject({ ApproximateNumberOfMessages: '4' });
  const seen: string[] = [];
  const next = async () => {
    const received = await receiveTen('order.fifo');
    const ofA = received.filter(({ Attributes }) => Attributes?.MessageGroupId === 'a');
    seen.push(...bodies(ofA));
    return [ofA, received] as const;
  };
  const [, first] = await next();
  expect(bodies(first).toSorted()).toEqual(['a1', 'b1']);
  await sqs.expireLeases();
  const [[again]] = await next();
  await changeVisibility('order.fifo', again, 0);
  for (let n = 0; n < 3; n++) {
    const [[message]] = await next();
    await remove('order.fifo', message as Message);
  }
  expect(seen).toEqual(['a1', 'a1', 'a1', 'a2', 'a3']);
});

test('a FIFO queue takes a message once in five minutes, by its id or its content', async () => {
  await createFifo('once.fifo', { ContentBasedDeduplication: 'true' });
  const group = { MessageGroupId: 'g' };
  const first = await send('once.fifo', 'm', group);
  const repeated = await send('once.fifo', 'm', group);
  expect(repeated).toMatchObject({
    MessageId: first.MessageId,
    SequenceNumber: first.SequenceNumber,
  });
  const [message] = (await receive('once.fifo')) as [Message];
  expect(message.Attributes).toMatchObject({
    MessageGroupId: 'g',
    MessageDeduplicationId: createHash('sha256').update('m').digest('hex'),
    SequenceNumber: first.SequenceNumber,
  });
  await remove('once.fifo', message);
  expect((await send('once.fifo', 'm', group)).MessageId).toBe(first.MessageId);
  expect(await receive('once.fifo')).toEqual([]);
  const other = await send('once.fifo', 'm', { ...group, MessageDeduplicationId: 'other' });
  expect(other.MessageId).not.toBe(first.MessageId);
  const Entries = ['1', '2'].map((Id) => ({ Id, MessageBody: 'same', ...group }));
  const batch = await sqs.call('SendMessageBatch', {
    QueueUrl: sqs.queueUrl('once.fifo'),
    Entries,
  });
  expect(batch.Successful[0].MessageId).toBe(batch.Successful[1].MessageId);
});

test('the group of a standard queue is the tenant of its tasks', async () => {
  await send('fair', 'm', { MessageGroupId: 'ann' });
  const [message] = (await receive('fair')) as [Message];
  expect(message.Attributes).toMatchObject({ MessageGroupId: 'ann' });
  const { body } = await sqs.tock.send(`GET /v1/tasks/${taskOf(message)}`);
  expect(body.tenant).toBe('ann');
});

test('a message is dead after its maxReceiveCount, whether it was given back or timed out', async () => {
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: 'arn:x', maxReceiveCount: '2' });
  await create('redrive', { RedrivePolicy });
  expect(JSON.parse((await attributes('redrive')).RedrivePolicy as string)).toMatchObject({
    maxReceiveCount: 2,
  });
  await send('redrive', 'returned');
  await send('redrive', 'lost');
  for (let n = 0; n < 2; n++) {
    const received = await receiveTen('redrive');
    await changeVisibility(
      'redrive',
      received.find(({ Body }) => Body === 'returned'),
      0,
    );
    await sqs.expireLeases();
  }
  expect(await receiveTen('redrive')).toEqual([]);
  const { body } = await sqs.tock.send('GET /v1/tasks?queue=redrive&state=dead');
  expect(body.tasks.map(({ preview }: Loose) => JSON.parse(preview)).toSorted()).toEqual([
    'lost',
    'returned',
  ]);
});

test('a queue is made, listed, changed and deleted', async () => {
  const url = await create('queue-1', { VisibilityTimeout: '69', MessageRetentionPeriod: '3600' });
  expect(url).toBe(sqs.queueUrl('queue-1'));
  expect(await create('queue-1')).toBe(url);
  expect(await create('queue-1', { VisibilityTimeout: '69' })).toBe(url);
  await expect(create('queue-1', { VisibilityTimeout: '70' })).rejects.toMatchObject({
    name: 'QueueNameExists',
  });
  expect((await sqs.call('GetQueueUrl', { QueueName: 'queue-1' })).QueueUrl).toBe(url);
  for (const name of ['queue-2', 'queue-3']) await create(name);
  const QueueNamePrefix = 'queue-';
  const page = await sqs.call('ListQueues', { QueueNamePrefix, MaxResults: 2 });
  expect(page.QueueUrls).toEqual(['queue-1', 'queue-2'].map(sqs.queueUrl));
  const { NextToken } = page;
  const last = await sqs.call('ListQueues', { QueueNamePrefix, MaxResults: 2, NextToken });
  expect(last).toMatchObject({ QueueUrls: [sqs.queueUrl('queue-3')] });
  expect(last.NextToken).toBeUndefined();
  const Attributes = { VisibilityTimeout: '5', MaximumMessageSize: '2048' };
  await sqs.call('SetQueueAttributes', { QueueUrl: url, Attributes });
  expect(await attributes('queue-1')).toMatchObject({
    ...Attributes,
    MessageRetentionPeriod: '3600',
    CreatedTimestamp: expect.stringMatching(/^\d{10}$/),
  });
  await sqs.call('TagQueue', { QueueUrl: url, Tags: { a: 'b' } });
  await send('queue-1', 'm');
  await sqs.call('DeleteQueue', { QueueUrl: url });
  await expect(sqs.call('GetQueueUrl', { QueueName: 'queue-1' })).rejects.toMatchObject({
    name: 'QueueDoesNotExist',
  });
});

test('a queue with a message in flight is deleted once that one is', async () => {
  await send('in-flight', 'm');
  const [message] = (await receive('in-flight')) as [Message];
  const QueueUrl = sqs.queueUrl('in-flight');
  await expect(sqs.call('DeleteQueue', { QueueUrl })).rejects.toMatchObject({
    name: 'UnsupportedOperation',
  });
  await remove('in-flight', message);
  await sqs.call('DeleteQueue', { QueueUrl });
});

test('a purge deletes all messages, those in flight too', async () => {
  for (const body of ['a', 'b']) await send('purged', body);
  await send('purged', 'later', { DelaySeconds: 60 });
  const [message] = await receive('purged');
  await sqs.call('PurgeQueue', { QueueUrl: sqs.queueUrl('purged') });
  await makeMaintenanceDue(sqs.tock.owner);
  await sqs.tock.owner.query('select tock.tick()');
  await changeVisibility('purged', message, 0);
  expect(await receiveTen('purged')).toEqual([]);
  expect(await attributes('purged')).toMatchObject({
    ApproximateNumberOfMessages: '0',
    ApproximateNumberOfMessagesDelayed: '0',
    ApproximateNumberOfMessagesNotVisible: '0',
  });
});

test('two variables lead a client to Tock', async () => {
  vi.stubEnv('AWS_ENDPOINT_URL_SQS', sqs.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', sqs.tock.key);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'any');
  vi.stubEnv('AWS_REGION', 'us-east-1');
  const client = new (sqs.load('@aws-sdk/client-sqs').SQSClient)({});
  const { QueueUrl } = await sqs.call('CreateQueue', { QueueName: 'variables' }, client);
  expect(QueueUrl).toBe(sqs.queueUrl('variables'));
  vi.unstubAllEnvs();
});

test('a key is the session token or the access key id', async () => {
  const QueueUrl = sqs.queueUrl('keys');
  const receiveWith = (credentials: object) =>
    sqs.call('ReceiveMessage', { QueueUrl }, sqs.client('', { credentials }));
  const any = { accessKeyId: 'any', secretAccessKey: 'any' };
  const { key } = sqs.tock;
  await receiveWith({ ...any, sessionToken: key });
  await receiveWith({ ...any, accessKeyId: key });
  await receiveWith({ ...any, accessKeyId: key, sessionToken: 'FwoGZXIvYXdzE/of+AWS==' });
  for (const wrong of [any, { ...any, sessionToken: 'tock_0' }]) {
    await expect(receiveWith(wrong)).rejects.toMatchObject({
      name: 'InvalidClientTokenId',
      $metadata: { httpStatusCode: 403 },
    });
  }
});

test('a key for some queues and scopes does in others nothing', async () => {
  const key = await sqs.tock.makeKey(['enqueue', 'claim', 'read'], ['own', 'own-2']);
  const limited = sqs.client(key);
  const call = (operation: string, input: object) => sqs.call(operation, input, limited);
  await call('SendMessage', { QueueUrl: sqs.queueUrl('own'), MessageBody: 'm' });
  await send('foreign', 'm');
  const [message] = (await receive('foreign')) as [Message];
  const { ReceiptHandle } = message;
  const QueueUrl = sqs.queueUrl('foreign');
  // The queue of a handle counts, whatever the URL says.
  const own = sqs.queueUrl('own');
  const refused: [string, object][] = [
    ['SendMessage', { QueueUrl, MessageBody: 'm' }],
    ['SendMessageBatch', { QueueUrl, Entries: [{ Id: '1', MessageBody: 'm' }] }],
    ['ReceiveMessage', { QueueUrl }],
    ['DeleteMessage', { QueueUrl: own, ReceiptHandle }],
    ['DeleteMessageBatch', { QueueUrl: own, Entries: [{ Id: '1', ReceiptHandle }] }],
    ['ChangeMessageVisibility', { QueueUrl: own, ReceiptHandle, VisibilityTimeout: 0 }],
    ['ChangeMessageVisibility', { QueueUrl: own, ReceiptHandle, VisibilityTimeout: 9 }],
    ['GetQueueAttributes', { QueueUrl, AttributeNames: ['All'] }],
    ['GetQueueUrl', { QueueName: 'foreign' }],
    ['PurgeQueue', { QueueUrl: own }],
    ['DeleteQueue', { QueueUrl: own }],
    ['CreateQueue', { QueueName: 'own-2' }],
    ['SetQueueAttributes', { QueueUrl: own, Attributes: { VisibilityTimeout: '1' } }],
    ['TagQueue', { QueueUrl, Tags: { a: 'b' } }],
  ];
  for (const [operation, input] of refused) {
    const called = call(operation, input);
    await expect(called, operation).rejects.toMatchObject({ name: 'AccessDenied' });
  }
  expect(await stateOf(message)).toBe('running');
  const { QueueUrls } = await call('ListQueues', {});
  expect(QueueUrls).toEqual([own, sqs.queueUrl('own-2')]);
});
