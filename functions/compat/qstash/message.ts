import { z } from '@hono/zod-openapi';

const texts = z.record(z.string(), z.string());
const url = z.string().refine((text) => URL.canParse(text));
const seconds = z.number().positive();

export const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] as const;
const method = z.enum(methods);

/** Where the answers to a message are reported. */
const callback = z.object({
  url,
  method,
  headers: texts,
  retries: z.int().min(0).max(999),
  delay: z.number().optional(),
  retry_delay: z.string().optional(),
  timeout: seconds.optional(),
});
const flow = z.object({
  key: z.string(),
  parallelism: z.int().optional(),
  rate: z.int().optional(),
  period: z.int().optional(),
});

/** What a message is in a run of Upstash Workflow. Messages of kind wait, event, taken and end are not sent. */
const workflow = z.object({
  run: z.string(),
  /** A secret that all messages of the run share: by it a message proves that it belongs to the run. */
  nonce: z.string(),
  kind: z.enum(['init', 'step', 'call', 'callback', 'failure', 'wait', 'event', 'taken', 'end']),
  /** The task of the run's first message, whose kind is init. */
  root: z.string().optional(),
  created_at: z.number().optional(),
  step: z.string().optional(),
  event: z.string().optional(),
  state: z.enum(['success', 'cancelled']).optional(),
  /** The step of another run that waits for this one, with the root and the nonce of that run. */
  invoker: z
    .object({ root: z.string(), nonce: z.string(), step: z.record(z.string(), z.unknown()) })
    .optional(),
});

/** A message as the payload of its task has it. Filters look for its fields by their names and values. */
const message = z.object({
  url,
  host: z.string(),
  path: z.string(),
  method,
  headers: texts,
  body: z.string(),
  /** The body is in base64: it is no text that the database can store. */
  base64: z.literal(true).optional(),
  retry_delay: z.string().optional(),
  /** The seconds that an answer may take. */
  timeout: seconds.optional(),
  callback: callback.optional(),
  failure_callback: callback.optional(),
  flow: flow.optional(),
  labels: z.array(z.string()).optional(),
  /** What answers about the message hide: body, header or header[name]. */
  redact: z.array(z.string()).optional(),
  /** The name of a URL group, and of its endpoint. */
  topic: z.string().optional(),
  endpoint: z.string().optional(),
  schedule: z.string().optional(),
  /** By this a publisher knows whether the task with its unique key is its own. */
  nonce: z.string().optional(),
  workflow: workflow.optional(),
});
const payloadSchema = z.object({ qstash: message });

export type Callback = z.output<typeof callback>;
export type FlowControl = z.output<typeof flow>;
export type WorkflowPart = z.output<typeof workflow>;
export type Message = z.output<typeof message>;
export type Payload = z.output<typeof payloadSchema>;

/** The message in the payload of a task; null for a task that QStash's API has not made. */
export const messageOf = (payload: unknown): Message | null =>
  payloadSchema.safeParse(payload).data?.qstash ?? null;

export function toBase64(bytes: Uint8Array): string {
  // btoa() takes one character for each byte, and a call has a limited number of arguments.
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

export const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;

/** The body of a message, as text if the database can store it. */
export function bodyOf(bytes: Uint8Array): Pick<Message, 'body' | 'base64'> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes('\0')) return { body: text };
  } catch {
    // no UTF-8
  }
  return { body: toBase64(bytes), base64: true };
}

export const bytesOfBody = ({ body, base64 }: Message): Uint8Array<ArrayBuffer> =>
  base64 ? fromBase64(body) : bytesOf(body);
