import { createRoute, type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { roomy } from '../database/connect.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { bearerKey, type Rights, type Statement } from './authorize.ts';
import { type Known, readBody } from './body.ts';
import {
  enter,
  type Grown,
  loaded,
  refuseIfFull,
  type Share,
  within,
} from './concurrency_limits.ts';
import { refusal } from './problem.ts';
import { requestIdOf } from './request_id.ts';
import { requireKnownKey } from './require_known_key.ts';
import { noQuery, problemSchema, repeatHeaders } from './schemas.ts';
import { type Trace, traceOf } from './trace.ts';
import { validate } from './validate.ts';

/** `pushes`: what was called has made tasks of a queue with push. `rights` are the app's own: see createApp(). */
export type Env = { Bindings: Bindings; Variables: { rights: Rights; pushes?: boolean } };
export type App = OpenAPIHono<Env>;

export type Call<P, B, Q = object> = {
  params: P;
  query: Q;
  body: B;
  /** The body as it came. */
  text: string;
  /** Of a repeatable call, when it has one. */
  requestId: string | null;
  /** Of a call that begins work, the trace that it is part of. */
  trace: Trace | null;
  /** Aborted when the client has gone. */
  gone: AbortSignal;
  /** For a call that waits: see poll.ts. */
  look(): (() => void) | null;
  env: Bindings;
};

/** What every verb's statement gives; body is the answer's JSON, as PostgreSQL wrote it, or there is none. */
export type Answer = { body: string; pushes?: boolean } | undefined;

/** `last` is said to the statement's values: false for a look that is only to see whether to go on. */
export type Once = (last?: boolean) => Promise<Answer>;

/** One route: what it takes, its one statement, what it answers. */
export type Endpoint<
  P extends z.ZodObject,
  B extends z.ZodType,
  Q extends z.ZodObject = typeof noQuery,
> = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  summary: string;
  /** What the summary has no room for. */
  description?: string;
  params: P;
  /** What it takes in its query string; nothing, where there is none. Numbers by inQuery(). */
  query?: Q;
  /** A union is of a batch and of one item. */
  body?: B;
  /** What tells the batch from the one item. */
  batchKey?: string;
  needsBody?: boolean;
  /** `rest`, unless it is said. */
  share?: Share;
  /** Its tasks keep the trace in the request's headers. */
  traced?: boolean;
  /** Takes request_id, or the header Idempotency-Key. */
  repeatable?: boolean;
  /** By authorized(), or a function of 81_http.sql: $1 is the key. By the Worker's bindings, where those matter. */
  statement: Statement | ((env: Bindings, call: { trace: Trace | null }) => Statement);
  /** From $2 on. */
  values(call: Call<z.output<P>, z.output<B>, z.output<Q>>, last: boolean): unknown[];
  /** Runs the statement again, for a call that waits; `most` is how often it may be run in all. */
  repeat?(
    once: Once,
    call: Call<z.output<P>, z.output<B>, z.output<Q>>,
    most?: number,
  ): Promise<Answer>;
  /** Throws where the Worker's bindings stand against the call. */
  check?(call: Call<z.output<P>, z.output<B>, z.output<Q>>, env: Bindings): void;
  /** Goes on where the statement's answer, null where there is none, is not all: runs statements with the key as $1. */
  further?(
    body: string | null,
    call: Call<z.output<P>, z.output<B>, z.output<Q>>,
    run: (statement: string, values: unknown[]) => Promise<string | null>,
  ): Promise<string | null>;
  /** Makes the answer's JSON of what the statement gave, where the bindings have a part in it. */
  finish?(body: string, env: Bindings): Promise<string>;
  /** What the answer is, where it isn't JSON. */
  media?: string;
  answer: z.ZodType;
  status?: 200 | 201;
  /** What it means when there is no answer. */
  none?: { status: 404 | 409; detail: string; hint: string };
  /** Of a row that says why it could not be: a 409 then, null when it is the answer. */
  conflict?(body: string): { detail: string; field: string; hint: string } | null;
};

type Shape = { body?: z.ZodType; batchKey?: string };

/** Of what is sent twice escaped. */
const isLarge = (value: unknown) => typeof value === 'string' && value.length > 1_000_000;

const nothing = { text: '{}', json: {} };

/** Content of a route's document. */
export function json(schema: z.ZodType, media = 'application/json') {
  return { content: { [media]: { schema } } };
}

type Route = Omit<RouteConfig, 'responses'> & {
  responses: Record<number, RouteConfig['responses'][number]>;
};

/** A route's entry in the OpenAPI document, which with any route names the problem answer. */
export function documented(route: Route): Route & { getRoutingPath(): string } {
  const content = { 'application/problem+json': { schema: problemSchema } };
  const responses = {
    ...route.responses,
    default: { description: 'A problem (RFC 9457)', content },
  };
  return createRoute({ ...route, responses });
}

function document<P extends z.ZodObject, B extends z.ZodType, Q extends z.ZodObject>(
  endpoint: Endpoint<P, B, Q>,
) {
  const { method, path, summary, params, query, body, needsBody, answer, status = 200 } = endpoint;
  return documented({
    method,
    path,
    summary,
    ...(endpoint.description && { description: endpoint.description }),
    security: [{ key: [] }],
    request: {
      params,
      ...(query && { query }),
      ...(endpoint.repeatable && { headers: repeatHeaders }),
      ...(body && { body: { ...json(body), required: needsBody ?? false } }),
    },
    responses: { [status]: { description: summary, ...json(answer, endpoint.media) } },
  });
}

function isBatch({ batchKey }: Shape, body: object): boolean {
  return batchKey !== undefined && Object.hasOwn(body, batchKey);
}

// A union as such would say of a wrong task only that it is no batch either.
function schemaOf(shape: Shape, body: object): z.ZodType {
  if (!(shape.body instanceof z.ZodUnion)) return shape.body ?? z.unknown();
  const [batch, one] = shape.body.options as [z.ZodType, z.ZodType];
  return isBatch(shape, body) ? batch : one;
}

// SQL knows batches only: of one item it speaks as of tasks[0].
function renamed(error: unknown, shape: Shape, body: object): unknown {
  const { batchKey } = shape;
  if (batchKey !== undefined && !isBatch(shape, body) && error instanceof Error) {
    const { detail } = error as { detail?: string };
    const prefix = `${batchKey}[0]`;
    if (detail?.startsWith(prefix)) {
      Object.assign(error, { detail: detail.slice(prefix.length + 1) || 'body' });
    }
  }
  return error;
}

/** Options named twice contradict each other, or mean a list, which none of them is. */
function queryOf(c: Context<Env>): Record<string, string> {
  for (const [field, values] of Object.entries(c.req.queries())) {
    if (values.length > 1) throw refusal(422, `${field}: given ${values.length} times`, { field });
    if (values[0]?.includes('\0')) throw refusal(422, `${field}: NUL can't be stored`, { field });
  }
  return c.req.query();
}

/** Hono leaves what is no UTF-8 as it was written; a NUL goes through. */
function paramsOf(c: Context<Env>): Record<string, string> {
  const params: Record<string, string> = c.req.param();
  for (const [field, value] of Object.entries(params)) {
    if (value.includes('\0')) throw refusal(422, `${field}: NUL can't be stored`, { field });
  }
  const written = c.req.path.split('/');
  for (const [at, name] of c.req.routePath.split('/').entries()) {
    const field = name.startsWith(':') ? name.slice(1) : null;
    if (field && !isUtf8(written[at] ?? '')) throw refusal(422, `${field}: not UTF-8`, { field });
  }
  return params;
}

function isUtf8(encoded: string): boolean {
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
}

async function callOf<P extends z.ZodObject, B extends z.ZodType, Q extends z.ZodObject>(
  endpoint: Endpoint<P, B, Q>,
  c: Context<Env>,
  key: string,
  known: Known,
  grown: Grown,
): Promise<Call<z.output<P>, z.output<B>, z.output<Q>>> {
  const params = validate(endpoint.params, paramsOf(c));
  const query = validate(endpoint.query ?? noQuery, queryOf(c)) as z.output<Q>;
  const { text, json } = endpoint.body
    ? await readBody(c, endpoint.needsBody ?? false, known, grown)
    : nothing;
  const body = validate(schemaOf(endpoint, json), json) as z.output<B>;
  const repeat = { 'Idempotency-Key': c.req.header('Idempotency-Key') };
  const headers = endpoint.repeatable ? validate(repeatHeaders, repeat) : {};
  const requestId = requestIdOf(json, headers['Idempotency-Key']);
  const gone = c.req.raw.signal;
  const look = () => enter('looks', c.env ?? {}, key, gone);
  const trace = endpoint.traced ? traceOf((name) => c.req.header(name), c.env ?? {}) : null;
  return { params, query, body, text, requestId, trace, gone, look, env: c.env ?? {} };
}

const waits = ({ body, query }: { body: unknown; query: unknown }) =>
  [body, query].some((said) => ((said ?? {}) as { wait_seconds?: number }).wait_seconds);

/** A call that waits is one request of a key's rate, however often it looks. */
const lookingAgain = (statement: string) =>
  statement.replaceAll(/tock\.(?:authorize|http_task)\(p_key => \$1,/g, '$& p_again => true,');

/** Serves an endpoint: key and input are looked at, then one statement does it all. */
export function serve<
  P extends z.ZodObject,
  B extends z.ZodType,
  Q extends z.ZodObject = typeof noQuery,
>(app: App, connect: Connect, endpoint: Endpoint<P, B, Q>): void {
  const route = document(endpoint);
  app.openAPIRegistry.registerPath(route);
  const { values, repeat, none, conflict, check, further, finish } = endpoint;
  const { status = 200, share = 'rest' } = endpoint;
  const handle = async (c: Context<Env>, key: string, grown: Grown) => {
    // Hono has none where nobody gave any.
    const env = c.env ?? {};
    const rights = c.get('rights');
    const ofKey = rights === 'key';
    refuseIfFull(share, env, key);
    const known = async () => {
      if (!ofKey) return;
      await within(share, env, key, c.req.raw.signal, () => requireKnownKey(connect, env, key));
    };
    const call = await callOf(endpoint, c, key, known, grown);
    // The bindings are of the Worker that serves keys.
    if (ofKey) check?.(call, env);
    const said = endpoint.statement;
    const statement = (typeof said === 'function' ? said(env, call) : said)[rights];
    const ask = () =>
      connect(c.env, (query, most) => {
        let looks = 0;
        const once: Once = async (last = true) => {
          const text = looks++ === 0 ? statement : lookingAgain(statement);
          const [row] = await query(text, [ofKey ? key : null, ...values(call, last)]);
          return row?.body == null ? undefined : (row as Answer);
        };
        return repeat ? repeat(once, call, most) : once();
      });
    const place = repeat && waits(call) ? 'waits' : share;
    let answer = await within(place, env, key, call.gone, ask).catch((error) => {
      throw renamed(error, endpoint, call.body as object);
    });
    if (further && ofKey) {
      const run = (statement: string, given: unknown[]) =>
        within(share, env, key, call.gone, () =>
          connect(given.some(isLarge) ? roomy(env) : env, async (query) => {
            const [row] = await query(statement, [key, ...given]);
            return (row?.body as string | undefined) ?? null;
          }),
        );
      const body = await further(answer?.body ?? null, call, run);
      answer = body === null ? undefined : { ...answer, body };
    }
    if (!answer && none) throw refusal(none.status, none.detail, { hint: none.hint });
    const why = answer && conflict?.(answer.body);
    if (why) throw refusal(409, why.detail, { field: why.field, hint: why.hint });
    if (answer?.pushes) c.set('pushes', true);
    const body = answer && finish ? await finish(answer.body, env) : (answer?.body ?? '{}');
    return c.body(body, status, { 'Content-Type': endpoint.media ?? 'application/json' });
  };
  app.on(endpoint.method.toUpperCase(), route.getRoutingPath(), async (c) => {
    const key = c.get('rights') === 'key' ? bearerKey(c.req.header('authorization')) : '';
    return loaded(share, c.env ?? {}, key, c.req.raw.signal, (grown) => handle(c, key, grown));
  });
}
