import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { FreeConsumer } from '../consumers/hand_over.ts';
import { statementLimit, unlimitedAnswers } from '../database/connect.ts';
import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { type Changes, createChanges, idlePollMs } from '../waiting/changes.ts';
import type { Hub } from '../waiting/hub.ts';
import type { Answer } from './answer.ts';
import { bearerKey, type Rights, type Statement } from './authorize.ts';
import { type CheckKey, readBody } from './body.ts';
import {
  type CallKind,
  enter,
  type OnGrowth,
  refuseIfFull,
  withBodySlots,
  withSlot,
} from './concurrency_limits.ts';
import { type Documentation, document } from './document.ts';
import { readParams, readQuery } from './parameters.ts';
import { refusal } from './problem.ts';
import { requestIdOf } from './request_id.ts';
import { requireKnownKey } from './require_known_key.ts';
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
export type App = OpenAPIHono<Env>;

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

/** Runs the statement once. `last` is passed to values(): false for a poll that need not return the whole answer. */
export type Once = (last?: boolean) => Promise<Answer>;

/** One route: its input, its one statement, its answer. */
export type Endpoint<
  P extends z.ZodObject,
  B extends z.ZodType,
  Q extends z.ZodObject = typeof noQuery,
> = Documentation & {
  params: P;
  /** Parameters of the query string; use inQuery() for numbers. Default: none. */
  query?: Q;
  /** A union of schemas: the batches, then one item. */
  body?: B;
  /** The fields that mark the batches, in their order. SQL knows one item as a batch of the first kind. */
  batchKeys?: readonly string[];
  /** Default: `rest`. */
  share?: CallKind;
  /** The call's tasks keep the trace in the request's headers. */
  traced?: boolean;
  /** Made by authorized(), or a call of sql/access/http_bodies.sql. $1 is the key. It may depend on the bindings. */
  statement:
    | Statement
    | ((
        env: Bindings,
        call: { trace: Trace | null; freeConsumer: FreeConsumer | null },
      ) => Statement);
  /** The statement's parameters from $2 on. */
  values(call: Call<z.output<P>, z.output<B>, z.output<Q>>, last: boolean): unknown[];
  /** The names that the call may have changed. Default: none for GET, and for other methods null (anything). */
  changes?(call: Call<z.output<P>, z.output<B>, z.output<Q>>): readonly string[] | null;
  /** True for the answer of a call that has changed nothing, not even a lease. */
  foundNothing?(body: string): boolean;
  /** Repeats the statement for a waiting call; `most` is the maximum number of runs. */
  repeat?(
    once: Once,
    call: Call<z.output<P>, z.output<B>, z.output<Q>>,
    most?: number,
  ): Promise<Answer>;
  /** Throws if the Worker's bindings forbid the call. */
  check?(call: Call<z.output<P>, z.output<B>, z.output<Q>>, env: Bindings): void;
  /** Completes the statement's answer (null without one). `run` runs a further statement with the key as $1. */
  further?(
    body: string | null,
    call: Call<z.output<P>, z.output<B>, z.output<Q>>,
    run: (statement: string, values: unknown[]) => Promise<string | null>,
  ): Promise<string | null>;
  /** Builds the answer's JSON from the statement's JSON and the bindings. */
  finish?(body: string, env: Bindings): Promise<string>;
  /** The 409 for a row that reports a conflict; null if the row is the answer. */
  conflict?(body: string): { detail: string; field: string; hint: string } | null;
};

type Shape = { body?: z.ZodType; batchKeys?: readonly string[] };

/** Over HTTPS to Neon such JSON is escaped as part of a JSON request, which could exceed the limit of 10 MiB. */
const isLarge = (value: unknown) => typeof value === 'string' && value.length > 1_000_000;

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
function withoutBatchPrefix(error: unknown, shape: Shape, body: object): unknown {
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

async function readCall<P extends z.ZodObject, B extends z.ZodType, Q extends z.ZodObject>(
  endpoint: Endpoint<P, B, Q>,
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

const isWaiting = ({ body, query }: { body: unknown; query: unknown }) =>
  [body, query].some((value) => ((value ?? {}) as { wait_seconds?: number }).wait_seconds);

/** A waiting call counts as one request for the key's rate limit, however often it polls. */
const repeatedStatement = (statement: string) =>
  statement.replaceAll(
    /tock\.(?:authorize|http_task|http_claim)\(p_key => \$1,/g,
    '$& p_again => true,',
  );

/** Serves an endpoint: checks key and input, then runs one statement. */
export function serve<
  P extends z.ZodObject,
  B extends z.ZodType,
  Q extends z.ZodObject = typeof noQuery,
>(app: App, connect: Connect, endpoint: Endpoint<P, B, Q>): void {
  const { statement: source } = endpoint;
  const needs =
    typeof source === 'function' ? source({}, { trace: null, freeConsumer: null }) : source;
  const route = document(endpoint, needs);
  app.openAPIRegistry.registerPath(route);
  const { values, repeat, none, conflict, check, further, finish } = endpoint;
  const { status = 200, share = 'rest' } = endpoint;
  const handle = async (c: Context<Env>, key: string, onGrowth: OnGrowth) => {
    // Hono has no env if the server passes none.
    const env = c.env ?? {};
    const rights = c.get('rights');
    const usesKey = rights === 'key';
    refuseIfFull(share, env, key);
    const checkKey = async () => {
      if (!usesKey) return;
      await withSlot(share, env, key, c.req.raw.signal, () => requireKnownKey(connect, env, key));
    };
    const call = await readCall(endpoint, c, key, checkKey, onGrowth);
    // check() protects a Worker from its callers; a program with the database URL needs no such protection.
    if (usesKey) check?.(call, env);
    const statement = (typeof source === 'function' ? source(env, call) : source)[rights];
    let runs = 0;
    const runOnce = async (query: Query, last: boolean) => {
      const text = runs++ === 0 ? statement : repeatedStatement(statement);
      const [row] = await query(text, [usesKey ? key : null, ...values(call, last)]);
      return row?.body == null ? undefined : (row as Answer);
    };
    const isWait = repeat !== undefined && isWaiting(call);
    const run = () => {
      // A call that waits in the hub holds no connection, and a call that asks nothing opens none.
      if (isWait && c.get('hub')) {
        const look: Once = (last = true) => connect(env, (query) => runOnce(query, last));
        return repeat(look, call, statementLimit(env));
      }
      return connect(c.env, (query, most) => {
        const once: Once = (last = true) => runOnce(query, last);
        return repeat ? repeat(once, call, most) : once();
      });
    };
    const changed = endpoint.changes?.(call) ?? null;
    const slotKind = isWait ? 'waits' : share;
    let answer = await withSlot(slotKind, env, key, call.disconnected, run).catch((error) => {
      throw withoutBatchPrefix(error, endpoint, call.body as object);
    });
    if (further && usesKey) {
      const run = (statement: string, parameters: unknown[]) =>
        withSlot(share, env, key, call.disconnected, () =>
          connect(parameters.some(isLarge) ? unlimitedAnswers(env) : env, async (query) => {
            const [row] = await query(statement, [key, ...parameters]);
            return (row?.body as string | undefined) ?? null;
          }),
        );
      const body = await further(answer?.body ?? null, call, run);
      answer = body === null ? undefined : { ...answer, body };
    }
    if (!answer && none) throw refusal(none.status, none.detail, { hint: none.hint });
    const reason = answer && conflict?.(answer.body);
    if (reason) throw refusal(409, reason.detail, { field: reason.field, hint: reason.hint });
    if (answer?.pushes) c.set('pushes', true);
    if (answer?.claimed) c.set('claimed', answer.claimed);
    const isIdle = changed?.length === 0 && answer && endpoint.foundNothing?.(answer.body);
    if (endpoint.method !== 'get' && !isIdle) c.set('changes', changed);
    const body = answer && finish ? await finish(answer.body, env) : (answer?.body ?? '{}');
    return c.body(body, status, { 'Content-Type': endpoint.media ?? 'application/json' });
  };
  app.on(endpoint.method.toUpperCase(), route.getRoutingPath(), async (c) => {
    const key = c.get('rights') === 'key' ? bearerKey(c.req.header('authorization')) : '';
    return withBodySlots(share, c.env ?? {}, key, c.req.raw.signal, (onGrowth) =>
      handle(c, key, onGrowth),
    );
  });
}
