import { z } from '@hono/zod-openapi';
import { expectOk } from '../calls.ts';
import { type Attributes, md5, md5OfAttributes } from './digest.ts';
import { ACCOUNT, type Call, isFifo, names, queueOf, read, whole } from './input.ts';
import { contentOf, messageIdOf, sequenceNumberOf } from './message.ts';
import { giveBack, receiptHandle } from './settle.ts';

const options = z.object({
  MaxNumberOfMessages: whole(1, 10).nullish(),
  VisibilityTimeout: whole(0, 43_200).nullish(),
  WaitTimeSeconds: whole(0, 20).nullish(),
  AttributeNames: names.nullish(),
  MessageSystemAttributeNames: names.nullish(),
  MessageAttributeNames: names.nullish(),
});
type Options = z.output<typeof options>;

type Task = {
  id: string;
  attempt: number;
  tenant: string | null;
  created_at: string;
  payload: unknown;
};
type Claim = { lease: string; task: Task };

/** A claim for each message, so that each has a visibility timeout of its own. Only the first one waits. */
async function claimEach({ tock, disconnected }: Call, queue: string, asked: Options) {
  const claims: Claim[] = [];
  const { MaxNumberOfMessages, VisibilityTimeout, WaitTimeSeconds } = asked;
  const most = MaxNumberOfMessages ?? 1;
  const lease_seconds = VisibilityTimeout == null ? undefined : Math.max(1, VisibilityTimeout);
  while (claims.length < most && !disconnected.aborted) {
    const isFirst = claims.length === 0;
    const wait_seconds = (isFirst && WaitTimeSeconds) || 0;
    const body = { worker: 'sqs', lease_seconds, wait_seconds };
    const answer = await tock('POST', `/v1/queues/${queue}/claim`, body);
    // What is claimed already must reach the client.
    if (!isFirst && answer.status !== 200) break;
    const { lease, tasks } = expectOk(answer);
    if (tasks.length === 0) break;
    claims.push({ lease, task: tasks[0] });
  }
  return claims;
}

const isWanted = (wanted: string[], name: string) =>
  wanted.some(
    (pattern) =>
      ['All', '.*', name].includes(pattern) ||
      (pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1))),
  );

function only<T>(wanted: string[], all: Record<string, T>): Record<string, T> | undefined {
  const entries = Object.entries(all).filter(([name]) => isWanted(wanted, name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function toMessage({ lease, task }: Claim, queue: string, asked: Options) {
  const content = contentOf(task.payload);
  const group = content.group ?? task.tenant;
  const trace = content.system_attributes?.AWSTraceHeader?.StringValue;
  const system = {
    SenderId: ACCOUNT,
    SentTimestamp: String(Date.parse(task.created_at)),
    ApproximateReceiveCount: String(task.attempt),
    // Only the task's history has it for a later attempt.
    ...(task.attempt === 1 && { ApproximateFirstReceiveTimestamp: String(Date.now()) }),
    ...(group && { MessageGroupId: group }),
    ...(content.deduplication && { MessageDeduplicationId: content.deduplication }),
    ...(isFifo(queue) && { SequenceNumber: sequenceNumberOf(task.id) }),
    ...(trace && { AWSTraceHeader: trace }),
  };
  const { AttributeNames, MessageSystemAttributeNames, MessageAttributeNames } = asked;
  const Attributes = only(
    [...(AttributeNames ?? []), ...(MessageSystemAttributeNames ?? [])],
    system,
  );
  const MessageAttributes: Attributes | undefined = only(
    MessageAttributeNames ?? [],
    content.attributes ?? {},
  );
  return {
    MessageId: messageIdOf(task.id),
    ReceiptHandle: receiptHandle(lease, task.id),
    MD5OfBody: md5(content.body),
    Body: content.body,
    ...(Attributes && { Attributes }),
    ...(MessageAttributes && {
      MessageAttributes,
      MD5OfMessageAttributes: md5OfAttributes(MessageAttributes),
    }),
  };
}

export async function receiveMessage(call: Call): Promise<object> {
  const queue = queueOf(call.input);
  const asked = read(options, call.input);
  const claims = await claimEach(call, queue, asked);
  if (asked.VisibilityTimeout === 0) {
    // After the last claim, which would receive the first message again.
    await Promise.all(claims.map(({ lease }) => giveBack(call.tock, lease, 0)));
  }
  if (claims.length === 0) return {};
  return { Messages: claims.map((claim) => toMessage(claim, queue, asked)) };
}
