import { createRoute, type OpenAPIHono, type RouteConfig, type z } from '@hono/zod-openapi';
import type { Endpoint, Env } from './endpoint.ts';
import { type noQuery, problemSchema, repeatHeaders } from './schemas.ts';

/** The groups of routes in the OpenAPI document, in its order. */
export const tags = {
  Tasks: 'Producers enqueue, read, change, cancel, move and rerun tasks.',
  Workers: 'Workers claim tasks and report how their runs ended.',
  Queues: 'A queue has a policy, limits and a push secret. The queue `*` holds the defaults.',
  'Concurrency keys': 'A concurrency key limits how many tasks of a queue run at once.',
  Schedules: 'A schedule enqueues tasks by cron expression, period or instant.',
  Pools: 'A pool assigns each task to one worker at a time. It also elects a leader.',
  Keys: 'An API key has scopes. It may be limited to queues, to tenants, in time and by a rate.',
  Metrics: 'These routes count tasks, and measure rates and durations.',
  Operations: 'These routes show and run the maintenance of the installation.',
  Archive: 'The archive keeps history in object storage after its segment is dropped.',
};
export type Tag = keyof typeof tags;

const content = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
};

const headers = {
  'Retry-After': {
    description: 'The seconds to wait before the next call.',
    schema: { type: 'integer' as const, minimum: 0 },
  },
};

/** Refusals that many routes share, in components.responses of the document. */
const refusals = {
  400: {
    name: 'Malformed',
    description: 'The body is missing, is not UTF-8 or is not JSON, or it ended early.',
  },
  401: {
    name: 'Unauthorized',
    description: 'The request has no key, or its key is unknown, revoked or expired.',
  },
  403: {
    name: 'Forbidden',
    description: 'The key lacks the scope, or does not allow this queue or this tenant.',
  },
  413: { name: 'TooLarge', description: 'The body is larger than 5 MiB.' },
  415: { name: 'NotJson', description: 'The Content-Type of the body is not JSON.' },
  422: {
    name: 'Invalid',
    description:
      'A parameter or a field is invalid. `field` names the first one, and `errors` lists up to ten.',
  },
  429: {
    name: 'TooManyRequests',
    headers,
    description: 'The key has reached its rate limit. Call again after `Retry-After` seconds.',
  },
  503: {
    name: 'Unavailable',
    headers,
    description:
      'The database is unreachable, overloaded or locked, or the Worker has too many calls at once. Call again after `Retry-After` seconds.',
  },
};
type SharedStatus = keyof typeof refusals;

/** References to shared refusals, by status. */
export const shared = (...statuses: SharedStatus[]): Record<number, { $ref: string }> =>
  Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${refusals[status].name}` }]),
  );

/** Adds the shared refusals to the document. */
export function registerRefusals({ openAPIRegistry }: OpenAPIHono<Env>): void {
  for (const { name, ...refusal } of Object.values(refusals)) {
    openAPIRegistry.registerComponent('responses', name, { ...refusal, content });
  }
}

/** The content of a route in the OpenAPI document. */
export function json(schema: z.ZodType, media = 'application/json') {
  return { content: { [media]: { schema } } };
}

type Route = Omit<RouteConfig, 'responses'> & {
  operationId: string;
  tags: [Tag];
  responses: Record<number, RouteConfig['responses'][number]>;
};

/** A route's entry in the OpenAPI document, including the problem answer. */
export function documented(route: Route): Route & { getRoutingPath(): string } {
  const responses = {
    ...route.responses,
    default: {
      description: 'The call failed. The problem (RFC 9457) says why, and what to do next.',
      ...json(problemSchema, 'application/problem+json'),
    },
  };
  return createRoute({ ...route, responses });
}

function refusalsOf({ body, none, refused }: Endpoint<z.ZodObject, z.ZodType, z.ZodObject>) {
  const own = { ...(none && { [none.status]: none.detail }), ...refused };
  const described = Object.entries(own).map(([status, description]) => [
    status,
    { description, content },
  ]);
  return {
    ...shared(401, 422, 429, 503),
    ...(body && shared(400, 413, 415)),
    ...Object.fromEntries(described),
  };
}

/** The OpenAPI document's entry of an endpoint. */
export function document<
  P extends z.ZodObject,
  B extends z.ZodType,
  Q extends z.ZodObject = typeof noQuery,
>(endpoint: Endpoint<P, B, Q>) {
  const { method, path, operationId, tag, summary, params, query, body, answer } = endpoint;
  const { statement, needsBody = false, status = 200, returns, media } = endpoint;
  const { scope } = typeof statement === 'function' ? statement({}, { trace: null }) : statement;
  const needs = scope ? `The key needs the scope \`${scope}\`.` : 'Every valid key may call it.';
  return documented({
    method,
    path,
    operationId,
    tags: [tag],
    summary,
    description: [endpoint.description, needs].filter(Boolean).join(' '),
    security: [{ key: [] }],
    request: {
      params,
      ...(query && { query }),
      ...(endpoint.repeatable && { headers: repeatHeaders }),
      ...(body && { body: { ...json(body), required: needsBody } }),
    },
    responses: {
      [status]: { description: returns, ...json(answer, media) },
      ...(scope && shared(403)),
      ...refusalsOf(endpoint as never),
    },
  });
}
