import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const orNull = s.count.nullable();

const row = {
  max_running: orNull.describe('The maximum number of running tasks. Null: no limit.'),
  running: orNull.describe(
    'The number of running tasks. Null without `max_running`, or while the number is unknown.',
  ),
  rate_limit: orNull.describe('The maximum number of starts in the period. Null: no limit.'),
  rate_seconds: s.count.describe('The period of the rate.'),
  rate_burst: orNull.describe('The maximum number of starts at once. Null: `rate_limit`.'),
  level: z
    .number()
    .nullable()
    .describe('The level of the bucket: how many tasks may start now. Null without a rate.'),
};

const columns = ['queue', ...Object.keys(row)].map((name) => `l.${name}`).join(', ');
const answer = z.strictObject({ queue: s.queueName, ...row });

const notFound = {
  status: 404,
  detail: 'There is no queue with limits under this name.',
  hint: 'PUT the queue with max_running or rate_limit.',
} as const;

/** The current state of queues' limits, which PUT /v1/queues/:queue sets. */
export function limits(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/limits',
    operationId: 'listLimits',
    tag: 'Queues',
    summary: 'List the queues with limits, and how much of them is used',
    returns: 'The queues with limits, by name.',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      "coalesce(json_agg(q order by q.queue), '[]') as limits",
      `(select ${columns} from tock.limits() as l) as q`,
    ),
    values: () => [],
    answer: z.strictObject({ limits: z.array(answer) }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/limits',
    operationId: 'getLimits',
    tag: 'Queues',
    summary: 'Get the limits of a queue, and how much of them is used',
    returns: 'The limits.',
    params: s.queueParams,
    statement: authorized('read', '$2', columns, 'tock.limits(p_queue => $2) as l'),
    values: ({ params }) => [params.queue],
    answer,
    none: notFound,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/limits/reset',
    operationId: 'resetLimits',
    tag: 'Queues',
    summary: 'Refill the bucket of the rate of a queue',
    description: 'The call also counts the running tasks again.',
    returns: 'The limits after the call.',
    params: s.queueParams,
    body: s.options({}),
    statement: authorized('admin', '$2', columns, 'tock.reset_limits(p_queue => $2) as l'),
    values: ({ params }) => [params.queue],
    answer,
    none: notFound,
  });
}
