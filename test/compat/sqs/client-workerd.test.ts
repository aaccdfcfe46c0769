import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anyPort } from '../../../scripts/stack/ports.ts';
import { healthy, startWorker, type Worker } from '../../../scripts/stack/worker.ts';
import { type Database, freshDatabase } from '../../database.ts';
import { installPackages } from '../../packages.ts';
import { value } from '../../sql/verbs.ts';
import { removeHome, temporaryHome } from '../../stack/start_process.ts';
import type { Loose } from './server.ts';

const home = temporaryHome();
let database: Database;
let worker: Worker;
let sdk: Loose;
let client: Loose;

beforeAll(async () => {
  process.env.TOCK_HOME = home;
  const folder = await installPackages(import.meta.dirname, 'compat-sqs');
  sdk = createRequire(join(folder, 'package.json'))('@aws-sdk/client-sqs');
  database = await freshDatabase();
  const owner = await database.connect();
  const accessKeyId = await value(
    owner,
    "select key from tock.create_key('w', '{enqueue,claim,read}')",
  );
  const port = await anyPort();
  const endpoint = `http://127.0.0.1:${port}`;
  const vars = { TOCK_COMPAT: 'sqs' };
  worker = startWorker(port, database.poolUrl ?? database.edgeUrl, { vars });
  await healthy(endpoint, worker, new AbortController().signal);
  const credentials = { accessKeyId, secretAccessKey: 'any' };
  client = new sdk.SQSClient({ endpoint, region: 'us-east-1', credentials });
});

afterAll(async () => {
  await worker?.stop();
  await database?.drop();
  removeHome(home);
});

// The client compares the digests, which workerd makes with its own MD5.
test('messages go through workerd and PgBouncer, and so does a refusal', async () => {
  const QueueUrl = 'http://tock/000000000000/w';
  const MessageAttributes = { a: { DataType: 'String', StringValue: '😀' } };
  const Entries = Array.from({ length: 10 }, (_, n) => ({
    Id: `${n}`,
    MessageBody: `${n} ${'😀'.repeat(1000)}`,
    MessageAttributes,
  }));
  const sent = await client.send(new sdk.SendMessageBatchCommand({ QueueUrl, Entries }));
  expect(sent.Successful).toHaveLength(10);
  const asked = { QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] };
  const { Messages } = await client.send(new sdk.ReceiveMessageCommand(asked));
  expect(Messages).toHaveLength(10);
  expect(Messages[0]).toMatchObject({
    MessageAttributes,
    MD5OfMessageAttributes: sent.Successful[0].MD5OfMessageAttributes,
  });
  const handles = Messages.map(({ ReceiptHandle }: Loose, n: number) => ({
    Id: `${n}`,
    ReceiptHandle,
  }));
  const deleted = await client.send(
    new sdk.DeleteMessageBatchCommand({ QueueUrl, Entries: handles }),
  );
  expect(deleted.Successful).toHaveLength(10);
  const refused = client.send(new sdk.GetQueueUrlCommand({ QueueName: 'nothing' }));
  await expect(refused).rejects.toMatchObject({ name: 'QueueDoesNotExist' });
});
