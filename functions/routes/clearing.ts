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
    summary: "Permanently cancel a queue's ready and waiting tasks, or one of the two states",
    description:
      'A call cancels up to a million ready and 10,000 waiting tasks. `busy` counts the streams that a claim had locked. Call again while `more` is true.',
    params: s.queueParams,
    body: s.options({ state: s.word('ready', 'waiting').nullish() }),
    statement: authorized(
      'admin',
      '$2',
      'p.ready, p.waiting, p.busy, p.more',
      'tock.purge_queue(p_queue => $2, p_state => $3) as p',
    ),
    values: ({ params, body }) => [params.queue, body.state],
    answer: z.strictObject({
      ready: s.count,
      waiting: s.count,
      busy: s.count,
      more: s.flag,
    }),
  });

  serve(app, connect, {
    method: 'delete',
    path: '/v1/queues/{queue}',
    summary: 'Purge a paused queue, and drop its policy once it has no unfinished tasks',
    description:
      'Returns what is left if the queue could not be dropped yet: call again. force=true also drops a queue that is not paused.',
    params: s.queueParams,
    query: s.options({ force: s.flagText.optional() }),
    statement: authorized(
      'admin',
      '$2',
      'd.dropped, d.ready, d.running, d.waiting',
      'tock.drop_queue(p_queue => $2, p_force => coalesce($3::boolean, false)) as d',
    ),
    values: ({ params, query }) => [params.queue, query.force],
    answer: z.strictObject({
      dropped: s.flag,
      ready: s.count,
      running: s.count,
      waiting: s.count,
    }),
    none: {
      status: 404,
      detail: 'There is no queue with this name.',
      hint: 'GET /v1/queues lists the queues.',
    },
  });
}
