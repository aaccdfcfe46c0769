// Moves messages from SQS to a queue of Tock: node from-sqs.mjs QUEUE
import { setTimeout as pause } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { createTock } from 'tock/client';
import { stopSignal } from 'tock/client/node';

const [queue] = process.argv.slice(2);
const { AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
const { SQS_QUEUE_URL, TOCK_URL, TOCK_KEY, UNTIL_EMPTY } = process.env;
if (
  !queue ||
  !SQS_QUEUE_URL ||
  !AWS_ACCESS_KEY_ID ||
  !AWS_SECRET_ACCESS_KEY ||
  !TOCK_URL ||
  !TOCK_KEY
) {
  console.error('usage: node from-sqs.mjs QUEUE, with AWS_…, SQS_QUEUE_URL, TOCK_URL and TOCK_KEY');
  process.exit(2);
}

const tock = createTock({ url: TOCK_URL, key: TOCK_KEY });
const aws = new AwsClient({
  accessKeyId: AWS_ACCESS_KEY_ID,
  secretAccessKey: AWS_SECRET_ACCESS_KEY,
  sessionToken: AWS_SESSION_TOKEN,
  region: AWS_REGION,
  service: 'sqs',
});
const stop = stopSignal();
const fifo = SQS_QUEUE_URL.endsWith('.fifo');
// A long poll of SQS takes up to 20 s. With UNTIL_EMPTY a poll of 1 s suffices: unlike one of 0 s, it asks all servers.
const wait_seconds = UNTIL_EMPTY ? 1 : 20;

async function sqs(action, body) {
  const response = await aws.fetch(new URL('/', SQS_QUEUE_URL), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `AmazonSQS.${action}`,
    },
    body: JSON.stringify({ QueueUrl: SQS_QUEUE_URL, ...body }),
    signal: AbortSignal.timeout(30_000),
  });
  const { ok, status } = response;
  if (!ok)
    throw Object.assign(new Error(`${action}: ${status} ${await response.text()}`), { status });
  return response.json();
}

/** After a refusal by SQS this program ends, because a retry would be refused too. Otherwise it waits and retries. */
async function unreceived(error) {
  console.error(`${error}`);
  if (error.status < 500) process.exit(1);
  await pause(5000, undefined, { signal: stop }).catch(() => {});
}

function payloadOf({ Body }) {
  try {
    return JSON.parse(Body);
  } catch {
    return Body;
  }
}

/** True if Tock has accepted the task. A redelivered message has the same request id, so it adds no second task. */
async function moved(message) {
  const { MessageId, Attributes: { MessageGroupId } = {} } = message;
  const options = {
    request_id: `sqs ${MessageId}`,
    ...(fifo && { concurrency_key: MessageGroupId }),
  };
  try {
    await tock.enqueue(queue, payloadOf(message), options);
    return true;
  } catch (error) {
    console.error(`message ${MessageId}: ${error}`);
    return false;
  }
}

/** Enqueues messages and returns those that may be deleted. For a FIFO queue it stops at the first failure. */
async function moveAll(messages) {
  if (!fifo) {
    const done = await Promise.all(messages.map(moved));
    return messages.filter((_, n) => done[n]);
  }
  const through = [];
  for (const message of messages) {
    if (!(await moved(message))) break;
    through.push(message);
  }
  return through;
}

let count = 0;
while (!stop.aborted) {
  const received = await sqs('ReceiveMessage', {
    MaxNumberOfMessages: 10,
    WaitTimeSeconds: wait_seconds,
    MessageSystemAttributeNames: ['MessageGroupId'],
  }).catch(unreceived);
  if (!received) continue;
  const { Messages: messages = [] } = received;
  if (messages.length === 0 && UNTIL_EMPTY) break;
  const through = await moveAll(messages);
  if (through.length > 0) {
    const Entries = through.map(({ ReceiptHandle }, n) => ({ Id: `${n}`, ReceiptHandle }));
    // SQS delivers a message again if it is not deleted. Then Tock returns the same task.
    await sqs('DeleteMessageBatch', { Entries }).catch((error) => console.error(`${error}`));
  }
  count += through.length;
}
console.log(`${count} messages are now tasks of ${queue}.`);
