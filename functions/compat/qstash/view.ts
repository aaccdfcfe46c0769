import { bytesOf, bytesOfBody, type Message, toBase64 } from './message.ts';
import { qstashName } from './names.ts';
import type { MessageTask } from './search.ts';

async function redacted(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return `REDACTED:${[...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** content-type -> Content-Type */
const canonical = (name: string) => name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());

/** A body as text, or in base64 if it is no text. */
type ShownBody = { body?: string; bodyBase64?: string };

/** What QStash calls the fields of a message, without what its publisher has redacted. */
export async function contentOf(message: Message) {
  const { redact = [], body, base64 } = message;
  const isHidden = (name: string) =>
    redact.some((field) => {
      const [, hidden] = /^headers?(?:\[(.*)\])?$/.exec(field) ?? [];
      return field !== 'body' && (hidden === undefined || hidden.toLowerCase() === name);
    });
  const header = await Promise.all(
    Object.entries(message.headers).map(async ([name, value]) => [
      canonical(name),
      [isHidden(name) ? await redacted(bytesOf(value)) : value],
    ]),
  );
  const isBodyHidden = redact.includes('body');
  const text = isBodyHidden ? await redacted(bytesOfBody(message)) : body;
  const shown: ShownBody = base64 && !isBodyHidden ? { bodyBase64: text } : { body: text };
  return {
    method: message.method,
    header: Object.fromEntries(header) as Record<string, string[]>,
    ...(text !== '' && shown),
    callback: message.callback?.url,
    failureCallback: message.failure_callback?.url,
    retryDelayExpression: message.retry_delay,
    flowControlKey: message.flow?.key,
    parallelism: message.flow?.parallelism,
    rate: message.flow?.rate,
    period: message.flow?.period,
    label: message.labels?.[0],
    labels: message.labels,
  };
}

/** The base64 of a body as answers show it. */
export const bodyInBase64 = ({ body, bodyBase64 }: ShownBody) =>
  bodyBase64 ?? (body === undefined ? undefined : toBase64(bytesOf(body)));

export const time = (instant: string) => Date.parse(instant);

/** A message as QStash answers it. */
export async function viewOf({ task, message }: MessageTask) {
  return {
    messageId: task.id,
    url: message.url,
    topicName: message.topic,
    endpointName: message.endpoint,
    maxRetries: task.max_attempts - 1,
    notBefore: time(task.run_at ?? task.created_at),
    createdAt: time(task.created_at),
    queueName: qstashName(task.queue),
    scheduleId: message.schedule,
    ...(await contentOf(message)),
  };
}
