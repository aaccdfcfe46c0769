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
  oldest_ready_at: s.moment.nullable(),
  collected_at: s.moment.nullable(),
  enqueued_per_second: rate,
  started_per_second: rate,
  done_per_second: rate,
  failed_per_second: rate,
  wait_p95: z.number().nullable(),
  run_p95: z.number().nullable(),
  spark: z.strictObject({ ready: z.array(s.count), done: z.array(s.count) }),
});

const columns = Object.keys(row.shape)
  .map((name) => `o.${name}`)
  .join(', ');

/** /v1/overview: one row for each queue, as last collected. */
export function overview(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/overview',
    summary: 'One row for each queue, as last collected',
    description:
      'Collected about once a minute (`collected_at`), so the cost does not depend on the backlog. Rates and p95 cover five minutes; `spark` has one value for each of the last 30 minutes, oldest first, and is empty for a queue without activity.',
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
