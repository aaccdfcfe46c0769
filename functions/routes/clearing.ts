import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

/** Purge and drop of a queue. */
export function clearing(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/purge',
    operationId: 'purgeQueue',
    tag: 'Queues',
    summary: 'Cancel all ready and waiting tasks of a queue',
    description:
      'A call cancels up to a million ready and 10,000 waiting tasks. Call again while `more` is true or `busy` is not 0.',
    returns: 'The numbers of cancelled tasks, and whether more are left.',
    params: s.queueParams,
    body: s.options({
      state: s
        .word('ready', 'waiting')
        .nullish()
        .describe('Only tasks in this state. Default: both states.'),
    }),
    statement: authorized(
      'admin',
      '$2',
      'p.ready, p.waiting, p.busy, p.more',
      'tock.purge_queue(p_queue => $2, p_state => $3) as p',
    ),
    values: ({ params, body }) => [params.queue, body.state],
    answer: z.strictObject({
      ready: s.count.describe('The number of cancelled ready tasks.'),
      waiting: s.count.describe('The number of cancelled waiting tasks.'),
      busy: s.count.describe('The number of streams that a claim had locked.'),
      more: s.flag.describe('Whether more is left of what the queue had when the call began.'),
    }),
  });

  serve(app, connect, {
    method: 'delete',
    path: '/v1/queues/{queue}',
    operationId: 'dropQueue',
    tag: 'Queues',
    summary: 'Purge a paused queue, and drop it once it has no unfinished task',
    description:
      'The call deletes the policy, the concurrency keys and the unique keys of the queue. It keeps the history. If unfinished tasks are left, `dropped` is false: call again.',
    returns: 'Whether the call dropped the queue, and what is left in it.',
    params: s.queueParams,
    query: s.options({
      force: s.flagText
        .optional()
        .describe('Also drop a queue that is not paused. Default: false.'),
    }),
    statement: authorized(
      'admin',
      '$2',
      'd.dropped, d.ready, d.running, d.waiting',
      'tock.drop_queue(p_queue => $2, p_force => coalesce($3::boolean, false)) as d',
    ),
    values: ({ params, query }) => [params.queue, query.force],
    answer: z.strictObject({
      dropped: s.flag.describe('Whether the queue was dropped.'),
      ready: s.count.describe('The number of ready tasks that are left.'),
      running: s.count.describe('The number of running tasks that are left.'),
      waiting: s.count.describe('The number of waiting tasks that are left.'),
    }),
    refused: { 409: 'The queue is not paused, and `force` is not true.' },
    none: {
      status: 404,
      detail: 'There is no queue with this name.',
      hint: 'GET /v1/queues lists the queues.',
    },
  });
}
