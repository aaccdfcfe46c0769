import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

/** /v1/stats: totals of all queues. */
export function stats(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/stats',
    operationId: 'getStats',
    tag: 'Metrics',
    summary: 'Get the totals of all queues, and when the next work is due',
    returns: 'The totals.',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      `count(*) as queues, coalesce(sum(q.ready), 0) as ready, coalesce(sum(q.running), 0) as running,
        coalesce(sum(q.waiting), 0) as waiting, coalesce(sum(q.dead), 0) as dead,
        min(q.oldest_ready_at) as oldest_ready_at, tock.next_wake_at() as next_wake_at`,
      'tock.queue_stats() as q',
    ),
    values: () => [],
    answer: z.strictObject({
      queues: s.count.describe('The number of queues.'),
      ready: s.count,
      running: s.count,
      waiting: s.count,
      dead: s.count,
      oldest_ready_at: s.moment.nullable().describe('Since when the oldest ready task is ready.'),
      next_wake_at: s.moment
        .nullable()
        .describe('When the next task, lease deadline or schedule is due. Null if nothing is.'),
    }),
  });
}
