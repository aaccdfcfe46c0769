import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeDue } from '../../sql/verbs.ts';
import {
  attributes,
  bodies,
  changeVisibility,
  type Message,
  receive,
  receiveCount,
  receiveTen,
  remove,
  send,
  sqs,
  stateOf,
  taskOf,
  useSqs,
} from './calls.ts';
import type { Loose } from './server.ts';

useSqs();

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
