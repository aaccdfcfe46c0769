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

/** /v1/overview: a row for each queue, as it was counted last. */
export function overview(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/overview',
    summary: 'Each queue at a glance, as it was counted last',
    description:
      'Counted about once a minute (`collected_at`), so it costs the same with any backlog. Rates and p95 are of five minutes; `spark` is by the minute, the oldest first, of 30, empty where nothing was.',
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
