import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { FreeConsumer } from '../consumers/hand_over.ts';
import type { Bindings } from '../env.ts';
import { type Changes, createChanges, idlePollMs } from '../waiting/changes.ts';
import type { Hub } from '../waiting/hub.ts';
import type { Rights } from './authorize.ts';
import { type CheckKey, readBody } from './body.ts';
import { enter, type OnGrowth } from './concurrency_limits.ts';
import { readParams, readQuery } from './parameters.ts';
import { requestIdOf } from './request_id.ts';
import { noQuery, repeatHeaders } from './schemas.ts';
import { type Trace, traceOf } from './trace.ts';
import { validate } from './validate.ts';

/**
 * `pushes` is true if the call has added tasks to a queue with push, `claimed` has the tasks that it has claimed for a
 * free consumer, `changes` are the names that it may have changed (null: anything), and `passOn` those whose change woke
 * it. createApp() sets `rights`, `hub`, `reserveConsumer` and `announce`, which tells of the changes before the response,
 * and releases the consumer that a call has reserved.
 */
export type Env = {
  Bindings: Bindings;
  Variables: {
    rights: Rights;
    hub: Hub | null;
    reserveConsumer: () => FreeConsumer | null;
    announce: () => void;
    freeConsumer?: FreeConsumer;
    pushes?: boolean;
    claimed?: string;
    changes?: readonly string[] | null;
    passOn?: readonly string[];
  };
};

export type Call<P, B, Q = object> = {
  params: P;
  query: Q;
  body: B;
  /** The original text of the body. */
  text: string;
  /** The request id of a repeatable call, null without one. */
  requestId: string | null;
  /** True if the caller says that it has sent no call with this request id before. */
  isFirstTry: boolean;
  /** The trace of a call that adds tasks, null without one. */
  trace: Trace | null;
  /** A consumer for which an enqueue claims too. */
  freeConsumer: FreeConsumer | null;
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal;
  /** Takes a slot for one poll of a waiting call: see poll.ts. */
  pollSlot(): (() => void) | null;
  /** How a waiting call learns of changes of these names; undefined if it has to poll. `shared`: see changes.ts. */
  changes(names: readonly string[], shared?: string): Changes | undefined;
  /** Tells others of the call's changes now. Otherwise they are told with the response. */
  announce(): void;
  env: Bindings;
};

type Shape = { body?: z.ZodType; batchKeys?: readonly string[] };

/** The part of an endpoint that says what its input is. */
type Input<P extends z.ZodObject, B extends z.ZodType, Q extends z.ZodObject> = {
  params: P;
  query?: Q;
  body?: B;
  batchKeys?: readonly string[];
  needsBody?: boolean;
  repeatable?: boolean;
  traced?: boolean;
};

const emptyBody = { text: '{}', json: {} };

/** The place of the body's form in the union; -1 for one item. */
const formOf = ({ batchKeys = [] }: Shape, body: object) =>
  batchKeys.findIndex((key) => Object.hasOwn(body, key));

// Each form is validated by its own schema, because the error of a union would only say that a task is not a batch.
function bodySchema(shape: Shape, body: object): z.ZodType {
  if (!(shape.body instanceof z.ZodUnion)) return shape.body ?? z.unknown();
  return shape.body.options.at(formOf(shape, body)) as z.ZodType;
}

// SQL knows batches only, and reports an error of one item as tasks[0].
export function withoutBatchPrefix(error: unknown, shape: Shape, body: object): unknown {
  const [batchKey] = shape.batchKeys ?? [];
  if (batchKey !== undefined && formOf(shape, body) < 0 && error instanceof Error) {
    const { detail } = error as { detail?: string };
    const prefix = `${batchKey}[0]`;
    if (detail?.startsWith(prefix)) {
      Object.assign(error, { detail: detail.slice(prefix.length + 1) || 'body' });
    }
  }
  return error;
}

/** Reads and checks the input of a request. */
export async function readCall<
  P extends z.ZodObject,
  B extends z.ZodType,
  Q extends z.ZodObject = typeof noQuery,
>(
  endpoint: Input<P, B, Q>,
  c: Context<Env>,
  key: string,
  checkKey: CheckKey,
  onGrowth: OnGrowth,
): Promise<Call<z.output<P>, z.output<B>, z.output<Q>>> {
  const params = validate(endpoint.params, readParams(c));
  const query = validate(endpoint.query ?? noQuery, readQuery(c)) as z.output<Q>;
  const { text, json } = endpoint.body
    ? await readBody(c, endpoint.needsBody ?? false, checkKey, onGrowth)
    : emptyBody;
  const body = validate(bodySchema(endpoint, json), json) as z.output<B>;
  const repeat = { 'Idempotency-Key': c.req.header('Idempotency-Key') };
  const headers = endpoint.repeatable ? validate(repeatHeaders, repeat) : {};
  const requestId = requestIdOf(json, headers['Idempotency-Key']);
  const disconnected = c.req.raw.signal;
  const pollSlot = () => enter('polls', c.env ?? {}, key, disconnected);
  const trace = endpoint.traced ? traceOf((name) => c.req.header(name), c.env ?? {}) : null;
  const env = c.env ?? {};
  const changes: Call<object, unknown>['changes'] = (names, shared) => {
    const hub = c.get('hub');
    if (!hub) return undefined;
    return createChanges({
      hub,
      names,
      most_ms: idlePollMs(env),
      ...(shared !== undefined && { shared: `${key}\n${shared}` }),
      passOn: () => c.set('passOn', names),
    });
  };
  // After the body has come, which may take long.
  const freeConsumer = c.get('reserveConsumer')();
  if (freeConsumer) c.set('freeConsumer', freeConsumer);
  return {
    params,
    query,
    body,
    text,
    requestId,
    isFirstTry: c.req.header('Tock-First-Try') === 'true',
    trace,
    freeConsumer,
    disconnected,
    pollSlot,
    changes,
    announce() {
      c.set('changes', null);
      c.get('announce')();
    },
    env,
  };
}
