import { type EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { waitUntil } from '../../sql/verbs.ts';
import { type Loose, type Sqs, startSqs } from './server.ts';

// What the scenarios of sqs-consumer (test/features) do with ElasticMQ, done with Tock.

let sqs: Sqs;
let client: Loose;
let producer: Loose;
let queueUrl: string;
let number = 0;

beforeAll(async () => {
  sqs = await startSqs();
  client = sqs.client();
});
afterAll(() => sqs.close());
beforeEach(() => {
  queueUrl = sqs.queueUrl(`sqs-consumer-data-${number++}`);
  producer = sqs
    .load('sqs-producer')
    .Producer.create({ queueUrl, region: 'eu-west-1', sqs: client });
});

function createConsumer(options: object): Loose {
  const { Consumer } = sqs.load('sqs-consumer');
  return Consumer.create({ queueUrl, sqs: client, pollingWaitTimeMs: 100, ...options });
}

/** Runs a consumer, and stops it at the end. */
async function running<T>(consumer: Loose, use: () => Promise<T>): Promise<T> {
  consumer.start();
  expect(consumer.status.isRunning).toBe(true);
  try {
    return await use();
  } finally {
    consumer.stop();
    expect(consumer.status.isRunning).toBe(false);
  }
}

const handleMessage = async (message: Loose) => message;

/** A handler that notes the size of the queue. No further receive begins before it returns. */
function noting<T>(sizes: number[]) {
  return async (received: T): Promise<T> => {
    sizes.push(await producer.queueSize());
    return received;
  };
}

test.each([
  [['msg1'], [0]],
  [
    ['msg2', 'msg3', 'msg4'],
    [2, 1, 0],
  ],
])('messages are consumed without error: %j', async (messages, left) => {
  await sqs.call('CreateQueue', { QueueName: queueUrl.split('/').at(-1) });
  await sqs.call('PurgeQueue', { QueueUrl: queueUrl });
  await producer.send(messages);
  expect(await producer.queueSize()).toBe(messages.length);
  const sizes: number[] = [];
  const consumer = createConsumer({ handleMessage: noting(sizes) });
  await running(consumer, () => waitUntil('all are', async () => sizes.length === left.length));
  expect(sizes).toEqual(left);
});

test.each([
  [['msg1', 'msg2', 'msg3', 'msg4'], [0]],
  [
    ['msg1', 'msg2', 'msg3', 'msg4', 'msg5', 'msg6'],
    [1, 0],
  ],
])('message batches are consumed without error: %j', async (messages, left) => {
  await producer.send(messages);
  expect(await producer.queueSize()).toBe(messages.length);
  const sizes: number[] = [];
  const consumer = createConsumer({ batchSize: 5, handleMessageBatch: noting(sizes) });
  await running(consumer, () => waitUntil('all are', async () => sizes.length === left.length));
  expect(sizes).toEqual(left);
});

test('messages in flight are processed before a consumer has stopped', async () => {
  await producer.send(['msg1', 'msg2', 'msg3']);
  const finish = Promise.withResolvers<void>();
  const consumer = createConsumer({
    batchSize: 10,
    pollingCompleteWaitTimeMs: 60_000,
    handleMessage: async (message: Loose) => {
      await finish.promise;
      return message;
    },
  });
  let processed = 0;
  consumer.on('message_processed', () => processed++);
  const stopped = once(consumer, 'stopped');
  consumer.start();
  await once(consumer, 'message_received');
  consumer.stop();
  expect(consumer.status.isRunning).toBe(false);
  finish.resolve();
  await stopped;
  expect(processed).toBe(3);
  expect(await producer.queueSize()).toBe(0);
});

test('events have the message and the URL of the queue', async () => {
  await producer.send('test-message-for-events');
  const consumer = createConsumer({ handleMessage, waitTimeSeconds: 1 });
  const events = ['started', 'message_received', 'message_processed', 'empty', 'stopped'];
  const seen = Promise.all(events.map((event) => once(consumer, event)));
  await running(consumer, () => once(consumer, 'empty'));
  for (const args of await seen) expect(args.at(-1)).toEqual({ queueUrl });
});

test('an error of a delete has the message', async () => {
  await producer.send('test-message-for-events');
  const failing = {
    send(command: Loose, options: object) {
      if (command.constructor.name !== 'DeleteMessageCommand') return client.send(command, options);
      throw Object.assign(new Error('Delete error'), { name: 'SQSError' });
    },
  };
  const consumer = createConsumer({ sqs: failing, handleMessage });
  await running(consumer, async () => {
    const [error, message, metadata] = await onceError(consumer);
    expect(error.message).toContain('Delete error');
    expect(message).toMatchObject({ Body: 'test-message-for-events' });
    expect(metadata).toEqual({ queueUrl });
  });
});

test('an unknown key is an error of the connection, of which the consumer knows the code', async () => {
  const refused = sqs.client('tock_0');
  const consumer = createConsumer({ sqs: refused, handleMessage });
  await running(consumer, async () => {
    const [error, message] = await onceError(consumer);
    expect(error).toMatchObject({ code: 'InvalidClientTokenId', statusCode: 403 });
    expect(message).toBeUndefined();
  });
});

test('a heartbeat keeps a message, and a failed handler gives it back', async () => {
  await producer.send('m');
  const beats = Promise.withResolvers<void>();
  const received: Loose[] = [];
  let changes = 0;
  const counting = {
    async send(command: Loose, options: object) {
      const answer = await client.send(command, options);
      if (command.constructor.name === 'ChangeMessageVisibilityCommand' && ++changes === 2) {
        beats.resolve();
      }
      return answer;
    },
  };
  const consumer = createConsumer({
    sqs: counting,
    visibilityTimeout: 30,
    heartbeatInterval: 1,
    terminateVisibilityTimeout: true,
    attributeNames: ['ApproximateReceiveCount'],
    handleMessage: async (message: Loose) => {
      received.push(message);
      if (received.length > 1) return message;
      await beats.promise;
      throw new Error('the handler fails');
    },
  });
  const errors: Error[] = [];
  consumer.on('processing_error', (error: Error) => errors.push(error));
  consumer.on('error', (error: Error) => errors.push(error));
  await running(consumer, () => once(consumer, 'message_processed'));
  expect(errors.map(({ message }) => message)).toEqual([
    'Unexpected message handler failure: the handler fails',
  ]);
  const counts = received.map(({ Attributes }) => Attributes.ApproximateReceiveCount);
  expect(counts).toEqual(['1', '2']);
});

/** once() would throw the error. */
function onceError(consumer: EventEmitter): Promise<Loose[]> {
  return new Promise((resolve) => consumer.once('error', (...args) => resolve(args)));
}
