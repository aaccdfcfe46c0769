import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Claimed } from '../../client/types.ts';
import type { ConsumerHandler } from './context.ts';
import { fitting } from './payload.ts';

/** What works on the tasks of a queue, as drain() takes it. */
export type Consumer = {
  queue: string;
  /** How many tasks a claim takes at most. */
  batch: number;
  /** How many handlers run at once. */
  concurrency: number;
  lease_seconds: number;
  handler: ConsumerHandler<unknown>;
};

type Options = Pick<Consumer, 'queue'> &
  Partial<Pick<Consumer, 'batch' | 'concurrency' | 'lease_seconds'>>;

const whole = (name: string, value: number, most: number) => {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new RangeError(`defineConsumer: ${name} is a whole number from 1 to ${most}`);
};

/**
 * A queue's consumer. With a `schema` (zod, valibot, arktype, whatever speaks Standard Schema) its handler gets
 * what that makes of the payload; a payload that doesn't fit fails its task for good, and no handler runs.
 */
export function defineConsumer<S extends StandardSchemaV1>(
  options: Options & { schema: S; handler: ConsumerHandler<StandardSchemaV1.InferOutput<S>> },
): Consumer;
export function defineConsumer<P = unknown>(
  options: Options & { handler: ConsumerHandler<P> },
): Consumer;
export function defineConsumer({
  queue,
  concurrency = 1,
  batch = concurrency,
  lease_seconds = 60,
  schema,
  handler,
}: Options & { schema?: StandardSchemaV1; handler: ConsumerHandler<never> }): Consumer {
  if (typeof handler !== 'function') throw new TypeError(`defineConsumer: ${queue} has no handler`);
  if (schema && typeof schema['~standard']?.validate !== 'function') {
    throw new TypeError(`defineConsumer: the schema of ${queue} speaks no Standard Schema`);
  }
  if (!queue) throw new RangeError('defineConsumer: queue is the name of a queue');
  whole('concurrency', concurrency, 1000);
  whole('batch', batch, 10_000);
  whole('lease_seconds', lease_seconds, 86_400);
  const any = handler as ConsumerHandler<unknown>;
  const checked: ConsumerHandler<unknown> = async (task, context) => {
    if (!schema) return any(task, context);
    const payload = await fitting(schema, task.payload);
    return any({ ...task, payload } as Claimed, context);
  };
  return { queue, batch, concurrency, lease_seconds, handler: checked };
}
