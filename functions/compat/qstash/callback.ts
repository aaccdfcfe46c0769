import type { Claimed } from '../../../client/types.ts';
import type { PushResult } from '../../push/answer.ts';
import { bytesOf, type Callback, type Message, type Payload, toBase64 } from './message.ts';
import { bodyInBase64, contentOf, time } from './view.ts';

/** What the endpoint of a message answered. */
export type Answered = PushResult & { headers: Headers };

/** A callback contains the body of its message up to this size. */
export const MAX_SOURCE = 1_000_000;

/** What a callback says of a delivery. */
export async function reportOf(
  message: Message,
  { id, attempt, max_attempts, created_at }: Claimed,
  answered: Answered | null,
  error: Error | null,
  isFailure: boolean,
) {
  const content = await contentOf(message);
  const source = bodyInBase64(content);
  const text = answered ? String(answered.body ?? '') : (error?.message ?? '');
  const header = [...(answered?.headers ?? [])].map(([name, value]) => [name, [value]]);
  return {
    status: answered?.status ?? 0,
    header: Object.fromEntries(header),
    body: toBase64(bytesOf(text)),
    retried: attempt - 1,
    maxRetries: max_attempts - 1,
    sourceMessageId: id,
    ...(isFailure && { dlqId: id }),
    topicName: message.topic,
    endpointName: message.endpoint,
    url: message.url,
    method: message.method,
    sourceHeader: content.header,
    sourceBody: source && source.length <= MAX_SOURCE ? source : undefined,
    createdAt: time(created_at),
    scheduleId: message.schedule,
  };
}

/** The task of a callback, which is a message too. */
export function callbackTask(callback: Callback, task: Claimed, report: object): object {
  const { url, method, headers, retries, delay, retry_delay, timeout } = callback;
  const { host, pathname } = new URL(url);
  const qstash: Message = {
    url,
    host,
    path: pathname,
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(report),
    retry_delay,
    timeout,
  };
  return {
    payload: { qstash } satisfies Payload,
    push_url: url,
    max_attempts: retries + 1,
    ...(delay && { delay_seconds: delay }),
    ...(task.tenant !== null && { tenant: task.tenant }),
  };
}
