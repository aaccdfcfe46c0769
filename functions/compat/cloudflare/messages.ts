import { Buffer } from 'node:buffer';
import { z } from '@hono/zod-openapi';
import * as s from '../../http/schemas.ts';
import { validate } from '../../http/validate.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';

/** A request: `queue` is a part of a path, `body` is any JSON object. */
export type Call = { tock: CallTock; queue: string; body: unknown };

const DEFAULT_BATCH = 5;
const DEFAULT_VISIBILITY_MS = 30_000;
/** Cloudflare's longest delay and visibility timeout: 12 hours. */
const MAX_SECONDS = 43_200;

export const delaySeconds = s.number(0, MAX_SECONDS).nullish();

/** An object of which other fields are ignored, as Cloudflare's clients may send more. */
export const fields = <S extends z.ZodRawShape>(shape: S) =>
  z.object(shape, { error: `an object; fields: ${Object.keys(shape).join(', ')}` });

const message = fields({
  body: s.anything.optional(),
  content_type: s.word('text', 'json').nullish(),
  delay_seconds: delaySeconds,
}).refine(
  ({ body, content_type }) => content_type !== 'text' || body == null || typeof body === 'string',
  { error: 'a string, because content_type is text', path: ['body'] },
);
const batch = fields({
  messages: s.list(message, 0).nullish(),
  delay_seconds: delaySeconds,
});

/**
 * The payload is the body. Text is a string without a header, as tasks of Tock's own clients are. A JSON string has the
 * header, because a pull would return it as text. Tasks with headers are claimed from one stream at a time.
 */
function taskOf({ body, content_type, delay_seconds }: z.output<typeof message>, delay = 0) {
  const payload = body ?? (content_type === 'text' ? '' : null);
  const isJsonText = typeof payload === 'string' && content_type !== 'text';
  return {
    payload,
    delay_seconds: (delay_seconds ?? delay) || undefined,
    headers: isJsonText ? { 'cf-content-type': 'json' } : undefined,
  };
}

/** POST …/messages */
export async function push({ tock, queue, body }: Call): Promise<object> {
  const task = taskOf(validate(message, body));
  expectOk(await tock('POST', `/v1/queues/${queue}/tasks`, task));
  return {};
}

/** POST …/messages/batch */
export async function pushBatch({ tock, queue, body }: Call): Promise<object> {
  const { messages, delay_seconds } = validate(batch, body);
  const tasks = (messages ?? []).map((one) => taskOf(one, delay_seconds ?? 0));
  expectOk(await tock('POST', `/v1/queues/${queue}/tasks`, { tasks }));
  return {};
}

export const batchSize = s.whole(1, 100).nullish();
const visibility = s.number(1, MAX_SECONDS * 1000).nullish();
const pullBody = fields({
  batch_size: batchSize,
  visibility_timeout_ms: visibility,
  // The name in Cloudflare's guide to pull consumers.
  visibility_timeout: visibility,
});

type Task = {
  id: string;
  payload?: unknown;
  created_at: string;
  headers?: Record<string, string> | null;
};

/** A task as a message, in the encoding of its content type. */
export function messageOf({ id, payload = null, created_at, headers }: Task) {
  const isText = typeof payload === 'string' && headers?.['cf-content-type'] !== 'json';
  return {
    id,
    timestamp_ms: Date.parse(created_at),
    body: isText ? payload : Buffer.from(JSON.stringify(payload)).toString('base64'),
    metadata: { 'CF-Content-Type': isText ? 'text' : 'json' },
  };
}

export const limitOf = (batch_size: number | null | undefined) => batch_size ?? DEFAULT_BATCH;

/** POST …/messages/pull. The messages share a lease of Tock; each lease_id also names its task. */
export async function pull({ tock, queue, body }: Call): Promise<object> {
  const { batch_size, visibility_timeout, ...sent } = validate(pullBody, body);
  const milliseconds = sent.visibility_timeout_ms ?? visibility_timeout ?? DEFAULT_VISIBILITY_MS;
  // The claim moves tasks from ready to running, so the sum is the same before and after it.
  const [claimed, counted] = await Promise.all([
    tock('POST', `/v1/queues/${queue}/claim`, {
      limit: limitOf(batch_size),
      lease_seconds: Math.ceil(milliseconds / 1000),
    }),
    tock('GET', `/v1/queues/${queue}`),
  ]);
  const { lease, tasks } = expectOk(claimed) as {
    lease: string | null;
    tasks: (Task & { attempt: number })[];
  };
  const { ready, running, waiting } = counted.body;
  return {
    // A key without the scope `read` gets no count.
    ...(counted.status === 200 && { message_backlog_count: ready + running + waiting }),
    messages: tasks.map((task) => ({
      ...messageOf(task),
      attempts: task.attempt,
      lease_id: `${lease}.${task.id}`,
    })),
  };
}
