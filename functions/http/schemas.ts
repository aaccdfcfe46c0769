import { z } from '@hono/zod-openapi';
import { MAX_ITEMS } from './body.ts';

const TEN_YEARS = 315_360_000;

/** A whole number; the error says what is allowed. */
export function whole(min: number, max: number) {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export function number(min: number, max: number) {
  const error = `a number from ${min} to ${max}`;
  return z.number({ error }).min(min, { error }).max(max, { error });
}

export function text(max: number) {
  const error = `a string of 1 to ${max} characters`;
  return z.string({ error }).min(1, { error }).max(max, { error });
}

/** Text that may be empty. */
export function upTo(max: number) {
  const error = `a string of up to ${max} characters`;
  return z.string({ error }).max(max, { error });
}

export function list<T extends z.ZodType>(
  item: T,
  min: number,
  error = `a list of ${min} to ${MAX_ITEMS} items`,
) {
  return z.array(item, { error }).min(min, { error }).max(MAX_ITEMS, { error });
}

/** An object with known options; `others` are names from another form of it. */
export function options<S extends z.ZodRawShape>(shape: S, ...others: string[]) {
  const names = [...Object.keys(shape), ...others].join(', ') || 'none';
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `unknown option; options: ${names}`
        : `an object; options: ${names}`,
  });
}

function matching(pattern: RegExp, error: string) {
  return z.string({ error }).regex(pattern, { error });
}

export const flag = z.boolean({ error: 'true or false' });

const idError = 'a whole number in a string, as returned by enqueue and claim';

/** A bigint is a string in JSON, because a double cannot hold it. */
export const id = matching(/^[1-9]\d{0,18}$/, idError)
  .refine((value) => value.length < 19 || value <= '9223372036854775807', { error: idError })
  .openapi({ example: '1048577' });

/** What a task depends on: ids, names of tasks in the same call, or * for all before it. */
const parentError = 'an id of a task, the name of one in this call, or *';
const parentsError = 'an array of up to 10,000 ids of tasks, names of tasks in this call, or *';
export const parents = z
  .array(
    z.union([
      z.int({ error: parentError }).min(1, { error: parentError }),
      z
        .string({ error: parentError })
        .min(1, { error: parentError })
        .max(200, { error: parentError }),
    ]),
    { error: parentsError },
  )
  .max(10_000, { error: parentsError })
  .openapi({ example: ['1048577'] });

/** How long a call waits for a result. */
export const waitSeconds = whole(0, 30);

/** An id of a task in a path. */
export const taskId = id.describe('The id of the task, or of any of its runs.');

/** One of several words. */
export function word<const W extends [string, ...string[]]>(...words: W) {
  return z.enum(words, { error: words.join(' or ') });
}

/** Null turns the option off. */
export const orNull = <T extends z.ZodType>(schema: T) => schema.nullable();

const nameError = 'a name of 1 to 100 letters, digits and _ . : -, starting with a letter or digit';
export const queueName = matching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/, nameError).openapi({
  example: 'mail',
});
const prefixError = 'tock_ and eight hexadecimal digits, as listed by GET /v1/keys';
export const keyPrefix = matching(/^tock_[0-9a-f]{8}$/, prefixError).openapi({
  example: 'tock_0123abcd',
});
export const queueOrDefault = matching(
  /^([A-Za-z0-9][A-Za-z0-9_.:-]{0,99}|\*)$/,
  `${nameError}; or * for the default policy`,
).openapi({ example: 'mail' });

/** A task's stages, in order. */
export const pipeline = list(queueName, 2, 'a list of 2 to 20 queues, each once')
  .max(20, { error: 'a list of 2 to 20 queues, each once' })
  .refine((stages) => new Set(stages).size === stages.length, {
    error: 'a list of 2 to 20 queues, each once',
  })
  .describe(
    'The stages of the task: queues, in order. The task starts in the queue of the call, which is one of them.',
  );

export const poolName = matching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/, nameError).openapi({
  example: 'shard-7',
});

export const scheduleName = matching(
  /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$/,
  'a name of 1 to 200 letters, digits and _ . : -, starting with a letter or digit',
).openapi({ example: 'nightly' });

export const leaseToken = matching(
  // The pattern has no flag i, because the OpenAPI document would show the flag as part of it.
  /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/,
  'a UUID, as returned by claim',
).openapi({ format: 'uuid', example: '5e1f7c0a-3b6d-4d58-9a52-7c1e00000000' });

export const priority = whole(0, 9).describe(
  'Workers claim priority 0 first and 9 last. Default: 5.',
);
export const taskState = z.enum([
  'waiting',
  'ready',
  'running',
  'done',
  'dead',
  'cancelled',
  'expired',
]);

export const seconds = number(0, TEN_YEARS);
export const timeoutSeconds = whole(1, 2_678_400);

/** How long a task waits after a failure. */
export const backoff = options({
  kind: word('fixed', 'linear', 'exponential').describe(
    'How the wait grows. After the n-th failure it is base (`fixed`), base × n (`linear`) or base × factor^(n-1) (`exponential`).',
  ),
  base_seconds: number(0, 86_400).describe('The wait after the first failure.'),
  factor: number(1, 10).describe(
    'The factor from one wait to the next, if the kind is `exponential`.',
  ),
  cap_seconds: number(0, 2_678_400).describe('The longest wait.'),
  jitter: number(0, 1).describe('Each wait is shorter by a random share of up to this.'),
});
const headersError =
  'an object of up to 20 strings of printable ASCII, names of a-z, 0-9 and -, in up to 8,192 bytes';
const strings = z.record(z.string(), z.string({ error: headersError }), { error: headersError });
const example = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
/** A task's headers, such as traceparent. */
export const keptHeaders = strings.openapi({ example });
// Too many headers are refused before each one is checked: 300,000 invalid ones would overflow the stack with issues.
const limitHeaders = (value: unknown) =>
  value && typeof value === 'object' && Object.keys(value).length > 20 ? null : value;
/** Headers of an enqueued task. */
export const headers = z
  .preprocess(limitHeaders, strings)
  .nullish()
  .openapi({ type: ['object', 'null'], additionalProperties: { type: 'string' }, example });

const urlError =
  'a URL of up to 2,000 characters, https://host/path, without user, password, fragment and backslash';
const urlShape =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are excluded
  /^https?:\/\/([^[\]/?#@:\\\s\0-\x1f\x7f]+|\[[0-9a-f:.]+\])(:\d{0,5})?([/?][^#\\\s\0-\x1f\x7f]*)?$/i;
/** The URL of an endpoint; push/guard.ts decides whether it is allowed. */
export const url = z
  .string({ error: urlError })
  .max(2000, { error: urlError })
  .refine((value) => urlShape.test(value), { error: urlError })
  .openapi({ example: 'https://example.com/hooks' });

/** Push settings of a queue. */
export const push = options({
  url: url.nullable().describe('The endpoint. Without one, each task needs a `push_url`.'),
  timeout_seconds: whole(1, 300)
    .nullable()
    .describe('How long Tock waits for the answer of the endpoint. Default: 15.'),
});
export const webhook = options({ url: url.describe('The endpoint.') });

export const retentionSeconds = whole(60, TEN_YEARS);
export const leaseSeconds = whole(1, 86_400).describe(
  'The duration of the lease. Default: `lease_seconds` of the queue.',
);

/** A call repeated with the same request id within 24 hours returns the same answer and has no further effect. */
export const requestId = text(200).describe(
  'A repeat within 24 hours returns the same answer, without further effect.',
);
export const repeatHeaders = z.object({
  'Idempotency-Key': text(200)
    .optional()
    .describe('The request id, for callers that do not send `request_id` in the body.'),
});

const instantError = 'an ISO 8601 instant with its zone, like 2030-01-31T09:00:00Z';
// PostgreSQL rejects the year 0, and offsets of 16 hours or more from UTC.
const hasValidZone = /^(?!0000).*(Z|[+-](0\d|1[0-5]):\d\d)$/;
export const instant = z.iso
  .datetime({ offset: true, error: instantError })
  .refine((value) => hasValidZone.test(value), { error: instantError });

type When = { delay_seconds?: number | null | undefined; run_at?: string | null | undefined };

/** Arguments of zod's refine(). */
export const oneTime: [check: (task: When) => boolean, message: { error: string; path: string[] }] =
  [
    (task) => task.delay_seconds == null || task.run_at == null,
    { error: 'give either delay_seconds or run_at, not both', path: ['delay_seconds'] },
  ];

/** An instant in answers. */
export const moment = z.string().openapi({ format: 'date-time' });
export const count = z.int().min(0);
/** Any JSON. */
export const anything = z.unknown().describe('Any JSON.');

export const noParams = z.strictObject({});
export const queueParams = z.strictObject({ queue: queueName.describe('The name of the queue.') });
/** For a route without query string options; it refuses any. */
export const noQuery = z.strictObject(
  {},
  { error: 'this route has no options in its query string' },
);

/** A whole number in a query string, where all values are text. */
export function inQuery(schema: ReturnType<typeof whole>) {
  const parse = (value: unknown) => (/^-?\d{1,15}$/.test(`${value}`) ? Number(value) : value);
  const [minimum, maximum] = [Number(schema.minValue), Number(schema.maxValue)];
  return z.preprocess(parse, schema).openapi({ type: 'integer', minimum, maximum });
}

const numeral = /^\d{1,9}$/;

/** A whole number in a query string, passed on as text. */
export function wholeText(min: number, max: number) {
  const error = `a whole number from ${min} to ${max}`;
  return matching(numeral, error)
    .refine((value) => Number(value) >= min && Number(value) <= max, { error })
    .openapi({ type: 'integer', minimum: min, maximum: max });
}

/** A boolean in a query string. */
export const flagText = word('true', 'false').openapi({ type: 'boolean' });

/** The position after the previous page. */
// With several nodes it has the cursors of all.
export const cursor = matching(/^[0-9a-f]{2,2000}$/, 'the cursor of the previous answer')
  .openapi({ example: '5b5d' })
  .describe('The `cursor` of the previous answer, with the same filter.');
/** The number of rows of a page. */
export const pageSize = (byDefault: number, max = 1000) =>
  wholeText(1, max).optional().describe(`At most this many rows. Default: ${byDefault}.`);
/** Null on the last page. */
export const nextCursor = z
  .string()
  .nullable()
  .describe('The `cursor` for the next call. It is null on the last page.');

export const problemSchema = z
  .strictObject({
    type: z
      .string()
      .describe('The kind of problem: the path of its page on this server, such as /errors/TK404.'),
    title: z.string().describe('The kind of problem in words. It depends only on `type`.'),
    status: z.int().describe('The HTTP status.'),
    detail: z.string().describe('What is wrong with this call.'),
    field: z.string().optional().describe('The first invalid field, such as tasks[3].priority.'),
    hint: z.string().optional().describe('What the caller can do next.'),
    errors: z
      .array(
        z.strictObject({
          field: z.string().describe('The invalid field.'),
          detail: z.string().describe('What the field allows.'),
        }),
      )
      .optional()
      .describe('The invalid fields of the request, up to ten.'),
  })
  .openapi('Problem');
