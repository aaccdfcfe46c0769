import { z } from '@hono/zod-openapi';
import { fault, invalid } from './faults.ts';
import { ACCOUNT, isFifo, map, read, whole } from './input.ts';

/** A queue of GET /v1/queues/{queue}, as far as it has attributes. */
export type Queue = {
  name: string;
  lease_seconds: number;
  max_attempts: number;
  max_wait_seconds: number | null;
  max_payload_bytes: number;
  created_at: string;
  ready: number;
  running: number;
  waiting: number;
};

export type Policy = Partial<
  Pick<Queue, 'lease_seconds' | 'max_attempts' | 'max_wait_seconds' | 'max_payload_bytes'>
> & { max_lost?: number };

const MAX_MESSAGE_BYTES = 1_048_576;
/** How often a message is received without a redrive policy: as often as Tock allows. */
const UNLIMITED = 1000;

/** A queue that CreateQueue makes, as SQS makes it. The JSON of a message may be longer than the message. */
export const newQueue: Policy = {
  lease_seconds: 30,
  max_attempts: UNLIMITED,
  max_lost: UNLIMITED,
  max_payload_bytes: 4 * MAX_MESSAGE_BYTES,
};

const redrivePolicy = z.object({
  deadLetterTargetArn: z.string(),
  maxReceiveCount: z.coerce.number().pipe(whole(1, UNLIMITED)),
});

const badValue = (name: string, reason: string) =>
  fault(
    'InvalidAttributeValue',
    `The value of the attribute ${name} is invalid. Reason: ${reason}.`,
  );

const unknownAttribute = (name: string) =>
  fault('InvalidAttributeName', `Unknown Attribute ${name.slice(0, 100)}.`);

function numberIn(name: string, text: string, min: number, max: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw badValue(name, `It must be a whole number from ${min} to ${max}`);
}

function maxReceiveCount(text: string): number {
  if (text === '') return UNLIMITED;
  try {
    return read(redrivePolicy, JSON.parse(text)).maxReceiveCount;
  } catch {
    throw badValue(
      'RedrivePolicy',
      `It must be JSON with deadLetterTargetArn, and maxReceiveCount from 1 to ${UNLIMITED}`,
    );
  }
}

const ignored = () => ({});

/** The setting of a queue for each attribute that a client may set. */
const settings: Record<string, (text: string, queue: string) => Policy> = {
  VisibilityTimeout: (text) => ({ lease_seconds: numberIn('VisibilityTimeout', text, 1, 43_200) }),
  MessageRetentionPeriod: (text) => ({
    max_wait_seconds: numberIn('MessageRetentionPeriod', text, 60, 1_209_600),
  }),
  MaximumMessageSize: (text) => ({
    max_payload_bytes: numberIn('MaximumMessageSize', text, 1024, MAX_MESSAGE_BYTES),
  }),
  RedrivePolicy(text) {
    const count = maxReceiveCount(text);
    return { max_attempts: count, max_lost: count };
  },
  FifoQueue(text, queue) {
    if ((text.toLowerCase() === 'true') === isFifo(queue)) return {};
    throw invalid('A FIFO queue has the attribute FifoQueue, and a name that ends in .fifo.');
  },
  DelaySeconds(text) {
    if (text === '0') return {};
    throw badValue('DelaySeconds', 'Tock has no delay of a queue; give one with each message');
  },
  Policy(text) {
    if (text === '') return {};
    throw badValue('Policy', 'The keys of Tock say who may do what');
  },
  // A FIFO queue deduplicates by content where a message has no id, and its groups are independent of each other.
  ContentBasedDeduplication: ignored,
  DeduplicationScope: ignored,
  FifoThroughputLimit: ignored,
  ReceiveMessageWaitTimeSeconds: ignored,
  RedriveAllowPolicy: ignored,
  KmsMasterKeyId: ignored,
  KmsDataKeyReusePeriodSeconds: ignored,
  SqsManagedSseEnabled: ignored,
};

/** The settings for each attribute of a call. */
export function policiesOf(input: unknown, queue: string): [name: string, Policy][] {
  const { Attributes } = read(z.object({ Attributes: map.nullish() }), input);
  return Object.entries(Attributes ?? {}).map(([name, text]) => {
    const setting = Object.hasOwn(settings, name) && settings[name];
    if (!setting) throw unknownAttribute(name);
    if (typeof text !== 'string') throw badValue(name, 'It must be a string');
    return [name, setting(text, queue)];
  });
}

const readOnly = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
  'CreatedTimestamp',
  'LastModifiedTimestamp',
  'QueueArn',
];

/** The attributes that a client asks for. */
export function attributesOfQueue(queue: Queue, wanted: string[]): Record<string, string> {
  const unknown = wanted.find(
    (name) => name !== 'All' && !readOnly.includes(name) && !Object.hasOwn(settings, name),
  );
  if (unknown !== undefined) throw unknownAttribute(unknown);
  const arn = `arn:aws:sqs:us-east-1:${ACCOUNT}:${queue.name}`;
  const createdAt = String(Math.floor(Date.parse(queue.created_at) / 1000));
  // In a FIFO queue no message has a delay: they wait for another one of their group, or for the next claim.
  const inGroups = isFifo(queue.name) ? queue.waiting : 0;
  const all = {
    ApproximateNumberOfMessages: String(queue.ready + inGroups),
    ApproximateNumberOfMessagesNotVisible: String(queue.running),
    ApproximateNumberOfMessagesDelayed: String(queue.waiting - inGroups),
    CreatedTimestamp: createdAt,
    LastModifiedTimestamp: createdAt,
    QueueArn: arn,
    VisibilityTimeout: String(queue.lease_seconds),
    MaximumMessageSize: String(Math.min(queue.max_payload_bytes, MAX_MESSAGE_BYTES)),
    DelaySeconds: '0',
    ReceiveMessageWaitTimeSeconds: '0',
    ...(queue.max_wait_seconds && { MessageRetentionPeriod: String(queue.max_wait_seconds) }),
    ...(queue.max_attempts < UNLIMITED && {
      RedrivePolicy: JSON.stringify({
        deadLetterTargetArn: arn,
        maxReceiveCount: queue.max_attempts,
      }),
    }),
    ...(isFifo(queue.name) && { FifoQueue: 'true', ContentBasedDeduplication: 'true' }),
  };
  const names = Object.entries(all).filter(
    ([name]) => wanted.includes('All') || wanted.includes(name),
  );
  return Object.fromEntries(names);
}
