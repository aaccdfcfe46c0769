import { z } from '@hono/zod-openapi';
import { expectOk } from '../calls.ts';
import { batchAnswer, entriesOf, failedEntry } from './batch.ts';
import { md5, md5OfAttributes, sha256 } from './digest.ts';
import { fault, invalid } from './faults.ts';
import { type Call, isFifo, map, queueOf, read, whole } from './input.ts';
import {
  attributesOf,
  type Content,
  checkBody,
  messageIdOf,
  payloadOf,
  sequenceNumberOf,
  sizeOf,
} from './message.ts';

const MAX_BYTES = 1_048_576;
const DEDUPLICATION_SECONDS = 300;

const fifoId = z
  .string()
  .regex(/^[!-~]{1,128}$/)
  .nullish();

const message = z.object({
  MessageBody: z.string(),
  DelaySeconds: whole(0, 900).nullish(),
  MessageAttributes: map.nullish(),
  MessageSystemAttributes: map.nullish(),
  MessageGroupId: fifoId,
  MessageDeduplicationId: fifoId,
});

const notHere = (name: string) =>
  invalid(`The parameter ${name} is not valid for this queue type.`);

/** The task of a message, and what the answer says of it. */
function prepare(input: unknown, queue: string) {
  const given = read(message, input);
  const { MessageGroupId: group, MessageDeduplicationId: deduplication } = given;
  const delay_seconds = given.DelaySeconds || undefined;
  checkBody(given.MessageBody);
  const attributes = attributesOf(given.MessageAttributes);
  const system_attributes = attributesOf(given.MessageSystemAttributes);
  const content: Content = {
    body: given.MessageBody,
    ...(attributes && { attributes }),
    ...(system_attributes && { system_attributes }),
  };
  const bytes = sizeOf(content);
  if (bytes > MAX_BYTES) {
    throw invalid(`The message must be shorter than ${MAX_BYTES} bytes.`);
  }
  const answer = {
    MD5OfMessageBody: md5(content.body),
    ...(attributes && { MD5OfMessageAttributes: md5OfAttributes(attributes) }),
    ...(system_attributes && {
      MD5OfMessageSystemAttributes: md5OfAttributes(system_attributes),
    }),
  };
  if (!isFifo(queue)) {
    if (deduplication) throw notHere('MessageDeduplicationId');
    const task = { payload: payloadOf(content), delay_seconds, tenant: group ?? undefined };
    return { task, answer, bytes };
  }
  if (delay_seconds) throw notHere('DelaySeconds');
  if (!group) {
    throw fault('MissingParameter', 'The request must contain the parameter MessageGroupId.');
  }
  content.group = group;
  content.deduplication = deduplication ?? sha256(content.body);
  const task = {
    payload: payloadOf(content),
    concurrency_key: group,
    unique_key: content.deduplication,
    unique_policy: 'period',
    unique_seconds: DEDUPLICATION_SECONDS,
  };
  return { task, answer, bytes };
}

type Prepared = ReturnType<typeof prepare>;

const sent = ({ answer }: Prepared, id: string, queue: string) => ({
  ...answer,
  MessageId: messageIdOf(id),
  ...(isFifo(queue) && { SequenceNumber: sequenceNumberOf(id) }),
});

export async function sendMessage({ tock, input }: Call): Promise<object> {
  const queue = queueOf(input);
  const prepared = prepare(input, queue);
  const { ids } = expectOk(await tock('POST', `/v1/queues/${queue}/tasks`, prepared.task));
  return sent(prepared, ids[0], queue);
}

/** Tock adds all tasks of a call or none. So one that it refuses is left out, and the others are sent again. */
export async function sendMessageBatch({ tock, input }: Call): Promise<object> {
  const queue = queueOf(input);
  const failed: object[] = [];
  let left = entriesOf(input).flatMap((entry) => {
    try {
      return { Id: entry.Id, prepared: prepare(entry, queue) };
    } catch (error) {
      failed.push(failedEntry(entry.Id, error));
      return [];
    }
  });
  if (left.reduce((sum, { prepared }) => sum + prepared.bytes, 0) > MAX_BYTES) {
    throw fault(
      'BatchRequestTooLong',
      `The messages of a batch must be shorter than ${MAX_BYTES} bytes together.`,
    );
  }
  while (left.length > 0) {
    const tasks = left.map(({ prepared }) => prepared.task);
    const answer = await tock('POST', `/v1/queues/${queue}/tasks`, { tasks });
    const [, place] = /^tasks\[(\d+)\]/.exec(answer.body?.field ?? '') ?? [];
    const refused = answer.status === 422 && place !== undefined && left[Number(place)];
    if (!refused) {
      const { ids } = expectOk(answer);
      const done = left.map(({ Id, prepared }, n) => ({ Id, ...sent(prepared, ids[n], queue) }));
      return batchAnswer(done, failed);
    }
    failed.push(failedEntry(refused.Id, invalid(answer.body.detail)));
    left = left.filter((one) => one !== refused);
  }
  return batchAnswer([], failed);
}
