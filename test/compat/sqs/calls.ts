import { afterAll, beforeAll } from 'vitest';
import { type Sqs, startSqs } from './server.ts';

/** The app of the running test file, and a client of it. */
export let sqs: Sqs;

export function useSqs(): void {
  beforeAll(async () => {
    sqs = await startSqs();
  });
  afterAll(() => sqs.close());
}

export type Message = {
  MessageId: string;
  ReceiptHandle: string;
  Body: string;
  Attributes?: Record<string, string>;
};

export const send = (queue: string, MessageBody: string, more: object = {}) =>
  sqs.call('SendMessage', { QueueUrl: sqs.queueUrl(queue), MessageBody, ...more });

export async function receive(queue: string, more: object = {}): Promise<Message[]> {
  const input = { QueueUrl: sqs.queueUrl(queue), MessageSystemAttributeNames: ['All'], ...more };
  return (await sqs.call('ReceiveMessage', input)).Messages ?? [];
}
export const receiveTen = (queue: string, more: object = {}) =>
  receive(queue, { MaxNumberOfMessages: 10, ...more });

export const remove = (queue: string, { ReceiptHandle }: Message) =>
  sqs.call('DeleteMessage', { QueueUrl: sqs.queueUrl(queue), ReceiptHandle });

export const changeVisibility = (
  queue: string,
  message: Message | undefined,
  VisibilityTimeout: number,
) =>
  sqs.call('ChangeMessageVisibility', {
    QueueUrl: sqs.queueUrl(queue),
    ReceiptHandle: message?.ReceiptHandle,
    VisibilityTimeout,
  });

export async function attributes(queue: string): Promise<Record<string, string>> {
  const input = { QueueUrl: sqs.queueUrl(queue), AttributeNames: ['All'] };
  return (await sqs.call('GetQueueAttributes', input)).Attributes;
}

export const create = async (QueueName: string, Attributes: object = {}): Promise<string> =>
  (await sqs.call('CreateQueue', { QueueName, Attributes })).QueueUrl;
export const createFifo = (name: string, more: object = {}) =>
  create(name, { FifoQueue: 'true', ...more });

export const bodies = (messages: Message[]) => messages.map(({ Body }) => Body);
export const receiveCount = ([message]: Message[]) =>
  Number(message?.Attributes?.ApproximateReceiveCount);
export const taskOf = ({ MessageId }: Message) =>
  String(
    BigInt(
      MessageId.split('-')
        .filter((_, n) => n === 0 || n === 4)
        .join(''),
    ),
  );
export const stateOf = async (message: Message) =>
  (await sqs.tock.send(`GET /v1/tasks/${taskOf(message)}`)).body.state;
