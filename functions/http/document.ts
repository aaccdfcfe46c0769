import { createRoute, type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import { mayMissNodes } from '../nodes/placements.ts';
import type { Needs } from './authorize.ts';
import { problemSchema, repeatHeaders } from './schemas.ts';

/** The groups of routes in the OpenAPI document, in its order. */
export const tags = {
  Tasks: 'Producers enqueue, read, change, cancel, move and rerun tasks.',
  Workers: 'Workers claim tasks and report how their runs ended.',
  Queues: 'A queue has a policy, limits and a push secret. The queue `*` holds the defaults.',
  'Concurrency keys': 'A concurrency key limits how many tasks of a queue run at once.',
  Schedules: 'A schedule enqueues tasks by cron expression, period or instant.',
  Pools:
    'A pool assigns each task to one worker at a time, for example to elect a leader. A key for some queues may use the pools with those names.',
  Keys: 'An API key has scopes. It may be limited to queues, to tenants, in time and by a rate.',
  Metrics: 'These routes count tasks, and measure rates and durations.',
  Operations: 'These routes show and run the maintenance of the installation.',
  Archive: 'The archive stores history in object storage before the database drops it.',
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
  414: { name: 'UrlTooLong', description: 'The URL is longer than 8,192 characters.' },
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
export function registerRefusals(registry: OpenAPIHono['openAPIRegistry']): void {
  for (const { name, ...refusal } of Object.values(refusals)) {
    registry.registerComponent('responses', name, { ...refusal, content });
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

/** The part of an endpoint that the OpenAPI document shows. */
export type Documentation = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  /** The route's name in generated clients: a verb and its object in camelCase. */
  operationId: string;
  tag: Tag;
  /** What the call does: a phrase without a full stop. */
  summary: string;
  /** Details beyond the summary: sentences. */
  description?: string;
  /** What the answer has: a sentence. */
  returns: string;
  needsBody?: boolean;
  /** Accepts request_id, or the header Idempotency-Key. */
  repeatable?: boolean;
  answer: z.ZodType;
  /** The answer's media type. Default: JSON. */
  media?: string;
  status?: 200 | 201;
  /** The refusal if the statement returns no row. */
  none?: { status: 404 | 409; detail: string; hint: string };
  /** Describes refusals of this route that are not `none`. */
  refused?: { 409?: string; 503?: string };
};
type Input = { params: z.ZodObject; query?: z.ZodObject; body?: z.ZodType };

function refusalsOf({ none, refused }: Documentation) {
  const own = { ...(none && { [none.status]: none.detail }), ...refused };
  return Object.fromEntries(
    Object.entries(own).map(([status, text]) => {
      const description = status === '503' ? `${text} Or the database is unavailable.` : text;
      return [status, { description, content }];
    }),
  );
}

function needsOf({ scope, forAll }: Needs): string {
  if (!scope) return 'Every valid key may make the call.';
  return `The key needs the scope \`${scope}\`${forAll ? ' for all queues' : ''}.`;
}

/** What an answer of several nodes has if some did not answer. */
export const missingNodes = z
  .array(z.int())
  .optional()
  .describe('With several nodes, those that did not answer: what they have is left out.');
export const missingNodesHeader = {
  'Tock-Missing-Nodes': {
    description: 'As `missing_nodes`, separated by commas. Absent if all nodes answered.',
    schema: { type: 'string' as const },
  },
};

function answerOf({ operationId, returns, answer, media }: Documentation) {
  if (!mayMissNodes(operationId)) return { description: returns, ...json(answer, media) };
  const schema =
    answer instanceof z.ZodObject ? answer.extend({ missing_nodes: missingNodes }) : answer;
  return { description: returns, headers: missingNodesHeader, ...json(schema, media) };
}

/** The OpenAPI document's entry of an endpoint, whose key needs `needs`. */
export function document(endpoint: Documentation & Input, needs: Needs) {
  const { method, path, operationId, tag, summary, params, query, body } = endpoint;
  const { needsBody = false, status = 200 } = endpoint;
  return documented({
    method,
    path,
    operationId,
    tags: [tag],
    summary,
    description: [endpoint.description, needsOf(needs)].filter(Boolean).join(' '),
    security: [{ key: [] }],
    request: {
      params,
      ...(query && { query }),
      ...(endpoint.repeatable && { headers: repeatHeaders }),
      ...(body && { body: { ...json(body), required: needsBody } }),
    },
    responses: {
      [status]: answerOf(endpoint),
      ...shared(401, 422, 429, 503),
      ...(needs.scope && shared(403)),
      ...(body && shared(400, 413, 415)),
      ...refusalsOf(endpoint),
    },
  });
}
