import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Claimed } from '../../client/types.ts';
import type { Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import type { ConsumerHandler } from './context.ts';
import { parsePayload } from './payload.ts';

/** A consumer of a queue, as drain() takes it. */
export type Consumer = {
  queue: string;
  /** Maximum number of tasks of one claim. */
  batch: number;
  /** Maximum number of handlers that run at once. */
  concurrency: number;
  lease_seconds: number;
  /** The version of the handler, which steps keep. */
  version?: number;
  /** The versions whose tasks this handler continues. A task that began under another one sleeps. Default: all. */
  versions?: number[];
  handler: ConsumerHandler<unknown>;
  /** On a node of several: false if it is not to work now; and how its work ended. */
  turn?: { begin(): Promise<boolean>; end(isEmpty: boolean): void };
};

/** Consumers, or a function that reads them from the database. */
export type Consumers =
  | readonly Consumer[]
  | ((query: Query, env: Bindings) => Promise<readonly Consumer[]>);

type Options = Pick<Consumer, 'queue'> &
  Partial<Pick<Consumer, 'batch' | 'concurrency' | 'lease_seconds' | 'version' | 'versions'>>;

const checkInteger = (name: string, value: number, max: number) => {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new RangeError(
    `defineConsumer: ${name} must be a whole number from 1 to ${max}, not ${value}`,
  );
};

/**
 * Defines a queue's consumer. With a `schema` (zod, valibot, arktype: any Standard Schema) the handler gets the parsed
 * payload. An invalid payload makes its task dead without running the handler.
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
  version = 1,
  versions,
  schema,
  handler,
}: Options & { schema?: StandardSchemaV1; handler: ConsumerHandler<never> }): Consumer {
  if (typeof handler !== 'function')
    throw new TypeError(`defineConsumer: ${queue} needs a function as its handler`);
  if (schema && typeof schema['~standard']?.validate !== 'function') {
    throw new TypeError(
      `defineConsumer: the schema of ${queue} does not implement Standard Schema; use zod, valibot or arktype`,
    );
  }
  if (!queue) throw new RangeError('defineConsumer: queue must be the name of a queue');
  checkInteger('concurrency', concurrency, 1000);
  checkInteger('batch', batch, 10_000);
  checkInteger('lease_seconds', lease_seconds, 86_400);
  checkInteger('version', version, 1_000_000);
  if (versions?.includes(version) === false)
    throw new RangeError(`defineConsumer: versions must include version, ${version}`);
  const runHandler = handler as ConsumerHandler<unknown>;
  const checked: ConsumerHandler<unknown> = async (task, context) => {
    if (!schema) return runHandler(task, context);
    const payload = await parsePayload(schema, task.payload);
    return runHandler({ ...task, payload } as Claimed, context);
  };
  return {
    queue,
    batch,
    concurrency,
    lease_seconds,
    version,
    ...(versions && { versions }),
    handler: checked,
  };
}
