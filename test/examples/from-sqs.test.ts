import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { claim, promote, rows, value } from '../sql/verbs.ts';
import { folder, startProcess, tock, useExample } from './copy.ts';

type Message = { MessageId: string; Body: string; Attributes?: Record<string, string> };

useExample('from-sqs', 'moved');
let key: string;
let sqs: Server;
let url: string;
/** The messages of the stand-in for SQS. It delivers a message again until it is deleted. */
let messages: Message[] = [];
/** Number of deletions that will be lost. */
let losing = 0;
/** Number of receive calls that will get no answer. */
let silent = 0;

async function answered(target: string, body: { Entries: { ReceiptHandle: string }[] }) {
  if (target === 'AmazonSQS.ReceiveMessage') {
    if (silent-- > 0) return null;
    const batch = messages.slice(0, 10);
    return batch.map((message) => ({ ...message, ReceiptHandle: `receipt ${message.MessageId}` }));
  }
  if (losing-- > 0) return null;
  const gone = body.Entries.map(({ ReceiptHandle }) => ReceiptHandle.slice('receipt '.length));
  messages = messages.filter(({ MessageId }) => !gone.includes(MessageId));
  return [];
}

beforeAll(async () => {
  key = await value(
    tock.owner,
    "select key from tock.create_key('m', '{enqueue}', '{moved,ordered}')",
  );
  sqs = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const target = `${request.headers['x-amz-target']}`;
    const signed = /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-central-1\/sqs\/aws4_request, /;
    if (!signed.test(`${request.headers.authorization}`)) return response.writeHead(403).end();
    const received = await answered(target, JSON.parse(text));
    if (!received) return response.destroy();
    response.setHeader('content-type', 'application/x-amz-json-1.0');
    response.end(JSON.stringify(received.length > 0 ? { Messages: received } : {}));
  });
  await new Promise<void>((resolve) => sqs.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(sqs.address() as AddressInfo).port}`;
});
afterAll(() => {
  sqs.closeAllConnections();
  sqs.close();
});

async function run(name: string, more = {}) {
  const env = {
    ...tock.env,
    TOCK_KEY: key,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'AKID',
    AWS_SECRET_ACCESS_KEY: 'secret',
    SQS_QUEUE_URL: `${url}/1234/${name}`,
    UNTIL_EMPTY: '1',
    ...more,
  };
  const queue = name.endsWith('.fifo') ? 'ordered' : 'moved';
  return startProcess([process.execPath, 'from-sqs.mjs', queue], folder, env).ended;
}

test('each message becomes one task, even if it comes twice, deletions are lost or SQS is unreachable', async () => {
  messages = Array.from({ length: 23 }, (_, n) => ({
    MessageId: `m${n}`,
    Body: n === 0 ? 'no JSON' : JSON.stringify({ n }),
  }));
  losing = 2;
  silent = 1;
  const { code, out, err } = await run('jobs');
  expect({ code, messages }).toEqual({ code: 0, messages: [] });
  expect(err.match(/fetch failed/g)).toHaveLength(3);
  expect(out).toContain('messages are now tasks of moved.');
  const runs = await claim(tock.owner, 'moved', { limit: 100 });
  const bodies = runs.map(({ payload }) => JSON.stringify(payload));
  const wanted = ['"no JSON"', ...Array.from({ length: 22 }, (_, n) => `{"n":${n + 1}}`)];
  expect(bodies.sort()).toEqual(wanted.sort());
});

test('a refusal by SQS ends the program', async () => {
  const { code, err } = await run('jobs', { AWS_ACCESS_KEY_ID: 'OTHER' });
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('ReceiveMessage: 403') });
});

test('a group of a FIFO queue is a concurrency key, and a refused message stays with those after it', async () => {
  messages = ['1', '2', `"${'x'.repeat(300_000)}"`, '4'].map((Body, n) => ({
    MessageId: `f${n}`,
    Body,
    Attributes: { MessageGroupId: 'user 7' },
  }));
  const ending = run('jobs.fifo');
  await expect.poll(() => messages.length).toBe(2);
  messages = [];
  const { err } = await ending;
  expect(err).toContain('message f2: TockError');
  await promote(tock.owner);
  expect(await claim(tock.owner, 'ordered', { limit: 9 })).toMatchObject([{ payload: 1 }]);
  const held = "select from tock.concurrency_keys('ordered', p_concurrency_key => 'user 7')";
  expect(await rows(tock.owner, held)).toHaveLength(1);
});
