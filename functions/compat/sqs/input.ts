import { z } from '@hono/zod-openapi';
import type { CallTock } from '../adapter.ts';
import { fault, invalid } from './faults.ts';

export type Call = {
  tock: CallTock;
  input: Record<string, unknown>;
  /** The scheme and the host of the request, for the URLs of queues. */
  origin: string;
  disconnected: AbortSignal;
};

export type Operation = (call: Call) => Promise<object>;

/** The account in the URLs of queues. Tock has no accounts. */
export const ACCOUNT = '000000000000';

export const whole = (min: number, max: number) => z.int().min(min).max(max);

/** A list of strings. Zod would report each of a million invalid items. */
export const names = z.custom<string[]>(
  (value) =>
    Array.isArray(value) && value.length <= 1000 && value.every((name) => typeof name === 'string'),
);

/** An object with any keys, such as attributes by name. */
export const map = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => (value as Record<PropertyKey, unknown> | null)?.[key], input);
}

/** The parsed input, or an error that names the first invalid parameter. `place` is where the input was. */
export function read<S extends z.ZodType>(
  schema: S,
  input: unknown,
  ...place: string[]
): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const name = [...place, ...(issue?.path ?? [])].join('.');
  if (issue && valueAt(input, issue.path) === undefined) {
    throw fault('MissingParameter', `The request must contain the parameter ${name}.`);
  }
  throw invalid(`The value for parameter ${name} is invalid. Reason: ${issue?.message}.`);
}

const queueName = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;

/** The name of the queue in a call's QueueUrl. */
export function queueOf(input: unknown): string {
  const { QueueUrl } = read(z.object({ QueueUrl: z.string() }), input);
  const name = QueueUrl.slice(QueueUrl.lastIndexOf('/') + 1);
  if (queueName.test(name)) return name;
  throw fault(
    'InvalidAddress',
    `The address ${QueueUrl.slice(0, 200)} is not valid for this endpoint.`,
  );
}

/** In a FIFO queue, MessageGroupId is a concurrency key; in others it is a tenant. */
export const isFifo = (queue: string) => queue.endsWith('.fifo');
