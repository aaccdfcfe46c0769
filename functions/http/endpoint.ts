import type { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { FreeConsumer } from '../consumers/hand_over.ts';
import { unlimitedAnswers } from '../database/connect.ts';
import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { reachOf } from '../nodes/reach.ts';
import type { Answer } from './answer.ts';
import { bearerKey, type Statement } from './authorize.ts';
import { type Call, type Env, readCall, withoutBatchPrefix } from './call.ts';
import {
  type CallKind,
  type OnGrowth,
  refuseIfFull,
  withBodySlots,
  withSlot,
} from './concurrency_limits.ts';
import { type Documentation, document } from './document.ts';
import { refusal } from './problem.ts';
import { requireKnownKey } from './require_known_key.ts';
import type { noQuery } from './schemas.ts';
import type { Trace } from './trace.ts';

export type { Call, Env } from './call.ts';

export type App = OpenAPIHono<Env>;

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

/** Over HTTPS to Neon such JSON is escaped as part of a JSON request, which could exceed the limit of 10 MiB. */
const isLarge = (value: unknown) => typeof value === 'string' && value.length > 1_000_000;

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
    const runOnce = async (query: Query, own: typeof call, last: boolean) => {
      const text = runs++ === 0 ? statement : repeatedStatement(statement);
      const [row] = await query(text, [usesKey ? key : null, ...values(own, last)]);
      return row?.body == null ? undefined : (row as Answer);
    };
    const isWait = repeat !== undefined && isWaiting(call);
    const { operationId } = endpoint;
    const run = async () => {
      const { reach, most } = reachOf(connect, env, operationId, call, checkKey);
      // A call that waits in the hub holds no connection, and a call that asks nothing opens none.
      if (isWait && c.get('hub')) {
        const look: Once = (last = true) =>
          reach((send) => send((query, own) => runOnce(query, own, last)));
        return repeat(look, call, most);
      }
      return reach((send, most) => {
        const once: Once = (last = true) => send((query, own) => runOnce(query, own, last));
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
        withSlot(share, env, key, call.disconnected, async () => {
          const bindings = parameters.some(isLarge) ? unlimitedAnswers(env) : env;
          const { reach } = reachOf(connect, bindings, operationId, call);
          const answer = await reach((send) =>
            send(async (query) => (await query(statement, [key, ...parameters]))[0] as Answer),
          );
          return answer?.body ?? null;
        });
      const body = await further(answer?.body ?? null, call, run);
      answer = body === null ? undefined : { ...answer, body };
    }
    if (!answer && none) throw refusal(none.status, none.detail, { hint: none.hint });
    const reason = answer && conflict?.(answer.body);
    if (reason) throw refusal(409, reason.detail, { field: reason.field, hint: reason.hint });
    if (answer?.missing?.length) c.header('Tock-Missing-Nodes', answer.missing.join(', '));
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
