import type { Bindings } from '../../env.ts';
import { refusal } from '../../http/problem.ts';
import { checkUrl } from './destination.ts';
import { bytesOf, type FlowControl, type Message, type Payload, toBase64 } from './message.ts';
import { PUBLISHED } from './names.ts';
import type { Options } from './options.ts';

/** The concurrency key of all messages of a QStash queue: it keeps their order, also while one is retried. */
export const IN_ORDER = 'in order';
/** QStash's period for duplicates. */
const DUPLICATE_SECONDS = 600;

export type Task = { payload: Payload; push_url: string } & Record<string, unknown>;
/** One item of a call: one message, or one for each endpoint of a URL group. */
export type Item = { isGroup: boolean; queue: string; tasks: Task[]; flow?: FlowControl };

export function checkCallbacks(options: Options, env: Bindings): void {
  if (options.callback) checkUrl('Upstash-Callback', options.callback.url, env);
  if (options.failure_callback)
    checkUrl('Upstash-Failure-Callback', options.failure_callback.url, env);
}

export function messageTo(
  url: string,
  options: Options,
  body: Pick<Message, 'body' | 'base64'>,
  more: Partial<Message> = {},
): Message {
  const { method, headers, retry_delay, timeout, callback, failure_callback } = options;
  const { flow, labels, redact } = options;
  const { host, pathname } = new URL(url);
  const delivery = { url, host, path: pathname, method, headers, ...body, retry_delay, timeout };
  return { ...delivery, callback, failure_callback, flow, labels, redact, ...more };
}

/** The task of a message. A publish adds its unique key. */
export function taskOf(message: Message, options: Options, queue: string): Task {
  const { not_before, delay, flow, retries } = options;
  if (flow && queue !== PUBLISHED)
    throw refusal(400, 'Upstash-Flow-Control-Key: not in a queue, which has its own parallelism');
  const concurrency_key = queue === PUBLISHED ? flow?.key : IN_ORDER;
  const due =
    not_before === undefined
      ? delay && { delay_seconds: delay }
      : { run_at: new Date(not_before * 1000).toISOString() };
  return {
    payload: { qstash: message },
    push_url: message.url,
    max_attempts: retries + 1,
    ...(concurrency_key !== undefined && { concurrency_key }),
    ...due,
  };
}

/** The unique key of a message; null if it may be sent twice. */
async function uniqueKey(
  { url, topic, method, headers, body, base64 }: Message,
  { deduplication_id: id, by_content }: Options,
): Promise<string | null> {
  if (id === undefined && !by_content) return null;
  const content =
    id === undefined
      ? [url, method, Object.entries(headers).sort(), base64 ?? false, body]
      : // Each endpoint of a URL group gets the message.
        [id, topic === undefined ? null : url];
  const hash = await crypto.subtle.digest('SHA-256', bytesOf(JSON.stringify(content)));
  return `qstash ${toBase64(new Uint8Array(hash))}`;
}

/** A task that is not added while its unique key is taken. */
export async function withUniqueKey(task: Task, options: Options): Promise<Task> {
  const { qstash: message } = task.payload;
  const key = await uniqueKey(message, options);
  if (key === null) return task;
  return {
    ...task,
    payload: { qstash: { ...message, nonce: crypto.randomUUID() } },
    unique_key: key,
    unique_policy: 'period',
    unique_seconds: DUPLICATE_SECONDS,
    on_conflict: 'keep',
  };
}
