import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const orNull = s.count.nullable();

const row = {
  max_running: orNull,
  running: orNull.openapi({ description: 'Null without max_running.' }),
  rate_limit: orNull,
  rate_seconds: s.count,
  rate_burst: orNull,
  level: z.number().nullable().openapi({
    description: 'The level of the bucket: how many tasks may start now. Null without a rate.',
  }),
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
    summary: 'List the queues with limits, and the current state of each limit',
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
    summary: "The current state of a queue's limits",
    params: s.queueParams,
    statement: authorized('read', '$2', columns, 'tock.limits(p_queue => $2) as l'),
    values: ({ params }) => [params.queue],
    answer,
    none: notFound,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/limits/reset',
    summary: "Refill the bucket of a queue's rate",
    params: s.queueParams,
    body: s.options({}),
    statement: authorized('admin', '$2', columns, 'tock.reset_limits(p_queue => $2) as l'),
    values: ({ params }) => [params.queue],
    answer,
    none: notFound,
  });
}
