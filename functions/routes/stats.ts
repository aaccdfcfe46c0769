import { z } from '@hono/zod-openapi';
import { authorized, everyQueue } from '../authorize.ts';
import { type App, serve } from '../endpoint.ts';
import type { Connect } from '../query.ts';
import * as s from '../schemas.ts';

/** /v1/stats: the sum over all queues. */
export function stats(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/stats',
    summary: 'How much there is in all queues, and when time must next do something',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      `json_build_object('queues', count(*), 'ready', coalesce(sum(q.ready), 0),
        'running', coalesce(sum(q.running), 0), 'waiting', coalesce(sum(q.waiting), 0),
        'dead', coalesce(sum(q.dead), 0), 'oldest_ready_at', min(q.oldest_ready_at),
        'next_wake_at', tock.next_wake_at())::text as body`,
      'tock.queue_stats() as q',
    ),
    values: () => [],
    answer: z.strictObject({
      queues: s.count,
      ready: s.count,
      running: s.count,
      waiting: s.count,
      dead: s.count,
      oldest_ready_at: s.moment.nullable(),
      next_wake_at: s.moment.nullable(),
    }),
  });
}
