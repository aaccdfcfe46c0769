import { createHash } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { makeMaintenanceDue } from '../../sql/verbs.ts';
import {
  attributes,
  bodies,
  changeVisibility,
  create,
  createFifo,
  type Message,
  receive,
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
