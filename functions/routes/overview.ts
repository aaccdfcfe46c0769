import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const rate = z.number().min(0);

const row = z.strictObject({
  name: s.queueName,
  paused: s.flag,
  ready: s.count,
  running: s.count,
  waiting: s.count,
  dead: s.count,
  oldest_ready_at: s.moment.nullable().describe('Since when the oldest ready task is ready.'),
  collected_at: s.moment.nullable().describe('When the counts were taken. Null before the first.'),
  enqueued_per_second: rate,
  started_per_second: rate,
  done_per_second: rate,
  failed_per_second: rate,
  wait_p95: z
    .number()
    .nullable()
    .describe('95 % of the tasks waited up to this many seconds. Null if none started.'),
  run_p95: z
    .number()
    .nullable()
    .describe('95 % of the runs took up to this many seconds. Null if none ended.'),
  spark: z
    .strictObject({
      ready: z
        .array(s.count.nullable())
        .describe('The ready tasks in each minute. Null where nothing was counted.'),
      done: z.array(s.count).describe('The tasks done in each minute.'),
    })
    .describe('The last 30 minutes, oldest first. Empty for a queue without activity.'),
});

const columns = Object.keys(row.shape)
  .map((name) => `o.${name}`)
  .join(', ');

/** /v1/overview: one row for each queue, as last collected. */
export function overview(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/overview',
    operationId: 'getOverview',
    tag: 'Metrics',
    summary: 'Get the last counts of all queues',
    description:
      'The maintenance job collect_metrics counts the tasks about once a minute, so the cost of the call does not depend on the backlog. Rates cover the last whole minute, and p95 the last five.',
    returns: 'One row for each queue, by name.',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      "coalesce(json_agg(q order by q.name), '[]') as queues",
      `(select ${columns} from tock.overview() as o) as q`,
    ),
    values: () => [],
    answer: z.strictObject({ queues: z.array(row) }),
  });
}
