import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const durations = z.strictObject({
  mean: z.number().nullable(),
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
});

const point = z.strictObject({
  at: s.moment,
  enqueued: s.count,
  started: s.count,
  done: s.count,
  failed: s.count,
  lost: s.count,
  dead: s.count,
  ready: s.count.nullable(),
  running: s.count.nullable(),
  waiting: s.count.nullable(),
  oldest_ready_seconds: z.number().nullable(),
  wait: durations,
  run: durations,
});

const answer = z.strictObject({ step_seconds: s.whole(60, 31_536_000), points: z.array(point) });

const query = s.options({
  from: s.instant.optional(),
  to: s.instant.optional(),
  step_seconds: s.inQuery(s.whole(60, 31_536_000)).optional(),
});

const description =
  'Points of `step_seconds`, a multiple of 60, from `from` (default: an hour before `to`) to before `to` (default: now): up to 1,500. Data older than two days exists by the hour. A depth is the highest in its point, null if none was collected. Waits and durations are in seconds.';

/** $3, $4 and $5 are from, to and step_seconds. */
const points = (queue: string) =>
  `(select n.* from tock.series(p_queue => ${queue}, p_from => $3::timestamptz, p_to => $4::timestamptz,
      p_step_seconds => $5::integer) as n) as n`;

const select = `min(n.step_seconds) as step_seconds,
  json_agg(json_build_object(${Object.keys(point.shape)
    .map((name) => `'${name}', n.${name}`)
    .join(', ')}) order by n.at) as points`;

/** Serves /v1/series: the data for charts, of all queues or of one. */
export function series(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/series',
    summary: 'Activity of a queue, in points of a minute or longer',
    description,
    params: s.queueParams,
    query,
    statement: authorized('read', '$2', select, points('$2')),
    values: ({ params, query: { from, to, step_seconds } }) => [
      params.queue,
      from,
      to,
      step_seconds,
    ],
    answer,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/series',
    summary: 'Activity of all queues together, in points of a minute or longer',
    description,
    params: s.noParams,
    query,
    statement: authorized('read', everyQueue, select, points('$2::text')),
    values: ({ query: { from, to, step_seconds } }) => [null, from, to, step_seconds],
    answer,
  });
}
