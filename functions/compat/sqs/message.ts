import { Buffer } from 'node:buffer';
import { z } from '@hono/zod-openapi';
import type { Attributes } from './digest.ts';
import { fault, invalid } from './faults.ts';
import { read } from './input.ts';

/** What a message has. `group` and `deduplication` are those of a FIFO queue. */
export type Content = {
  body: string;
  attributes?: Attributes;
  system_attributes?: Attributes;
  group?: string;
  deduplication?: string;
};

/** The payload of a message: the text alone, or {"sqs": …} for one with more than a text. */
export function payloadOf(content: Content): string | { sqs: Content } {
  const { body, ...more } = content;
  return Object.keys(more).length === 0 ? body : { sqs: content };
}

const storedAttributes = z
  .record(
    z.string(),
    z.object({
      DataType: z.string(),
      StringValue: z.string().optional(),
      BinaryValue: z.string().optional(),
    }),
  )
  .optional();
const stored = z.object({
  body: z.string(),
  attributes: storedAttributes,
  system_attributes: storedAttributes,
  group: z.string().optional(),
  deduplication: z.string().optional(),
});

/** The message of a payload. One that another client has enqueued becomes JSON. */
export function contentOf(payload: unknown): Content {
  if (typeof payload === 'string') return { body: payload };
  const { sqs } = (payload ?? {}) as { sqs?: Content };
  return sqs && stored.safeParse(sqs).success ? sqs : { body: JSON.stringify(payload) };
}

/** The digits of the first and the last group are the task's id. Some clients want a UUID. */
export function messageIdOf(task: string): string {
  const digits = task.padStart(20, '0');
  return `${digits.slice(0, 8)}-0000-8000-8000-${digits.slice(8)}`;
}

/** Ids have the order of their positions, so this grows within a group. */
export const sequenceNumberOf = (task: string) => task.padStart(20, '0');

const allowed = /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u;
const invalidText =
  'Invalid characters found. Valid are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF';

export function checkBody(body: string): void {
  if (body === '') {
    throw fault('MissingParameter', 'The request must contain the parameter MessageBody.');
  }
  if (!allowed.test(body)) throw fault('InvalidMessageContents', invalidText);
}

const MAX_ATTRIBUTES = 10;
const attribute = z.object({
  DataType: z
    .string()
    .max(255)
    .regex(/^(String|Number|Binary)(\.|$)/),
  StringValue: z.string().min(1).nullish(),
  BinaryValue: z.base64().min(1).nullish(),
});

function checkAttributeName(name: string): void {
  // Letters with accents are allowed, though AWS does not document them.
  const isValid =
    /^[A-Za-z0-9_.\u00c0-\u017f-]{1,255}$/.test(name) && !/^(aws\.|amazon\.|\.)|\.$/i.test(name);
  if (isValid) return;
  throw invalid(
    `The message attribute name ${name.slice(0, 256)} is invalid. It can only contain letters, digits, underscores, hyphens and periods, up to 255, and begin neither with a period, AWS. nor Amazon.`,
  );
}

/** The attributes of a message, undefined without one. */
export function attributesOf(
  input: Record<string, unknown> | null | undefined,
): Attributes | undefined {
  const entries = Object.entries(input ?? {});
  if (entries.length === 0) return undefined;
  if (entries.length > MAX_ATTRIBUTES) {
    throw invalid(
      `The number of message attributes ${entries.length} exceeds the maximum ${MAX_ATTRIBUTES}.`,
    );
  }
  const attributes = entries.map(([name, value]) => {
    checkAttributeName(name);
    const { DataType, StringValue, BinaryValue } = read(
      attribute,
      value,
      'MessageAttributes',
      name,
    );
    const isBinary = DataType.startsWith('Binary');
    if (isBinary ? !BinaryValue : !StringValue) {
      throw invalid(
        `The message attribute ${name} must contain a non-empty value of type ${isBinary ? 'Binary' : 'String'}.`,
      );
    }
    if (StringValue && !allowed.test(StringValue)) throw invalid(invalidText);
    return [name, isBinary ? { DataType, BinaryValue } : { DataType, StringValue }] as const;
  });
  return Object.fromEntries(attributes) as Attributes;
}

/** The size that the limits of SQS count, in bytes. */
export function sizeOf({ body, attributes = {} }: Content): number {
  const sizes = Object.entries(attributes).map(
    ([name, { DataType, StringValue = '', BinaryValue = '' }]) =>
      Buffer.byteLength(name + DataType + StringValue) + Buffer.byteLength(BinaryValue, 'base64'),
  );
  return sizes.reduce((sum, size) => sum + size, Buffer.byteLength(body));
}
