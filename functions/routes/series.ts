import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const durations = z.strictObject({
  mean: z.number().nullable(),
  p50: z.number().nullable().describe('The median, accurate to about a quarter.'),
  p95: z.number().nullable().describe('The 95th percentile, accurate to about a quarter.'),
  p99: z.number().nullable().describe('The 99th percentile, accurate to about a quarter.'),
});

const point = z.strictObject({
  at: s.moment.describe('When the point begins.'),
  enqueued: s.count,
  started: s.count,
  done: s.count,
  failed: s.count.describe('The failed runs, also those that another attempt follows.'),
  lost: s.count.describe('The lost runs.'),
  dead: s.count.describe('The tasks that died.'),
  ready: s.count.nullable().describe('The highest number of ready tasks.'),
  running: s.count.nullable().describe('The highest number of running tasks.'),
  waiting: s.count.nullable().describe('The highest number of waiting tasks.'),
  oldest_ready_seconds: z
    .number()
    .nullable()
    .describe('The longest time that the oldest ready task had waited.'),
  wait: durations.describe('How many seconds the tasks waited until they started.'),
  run: durations.describe('How many seconds the runs took.'),
});

const answer = z.strictObject({
  step_seconds: s.whole(60, 31_536_000).describe('The length of a point.'),
  points: z.array(point),
});

const query = s.options({
  from: s.instant.optional().describe('The first instant. Default: an hour before `to`.'),
  to: s.instant.optional().describe('The instant after the last one. Default: now.'),
  step_seconds: s
    .inQuery(s.whole(60, 31_536_000))
    .optional()
    .describe(
      'The length of a point, a multiple of 60. Default: the shortest that needs up to 1,500 points.',
    ),
});

const description =
  'The answer has up to 1,500 points. If `from` is more than two days ago, a point covers whole hours. The numbers of ready, running and waiting tasks are null if nothing was counted in the point.';
const returns = 'The points, oldest first.';

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
    operationId: 'getSeriesOfQueue',
    tag: 'Metrics',
    summary: 'Get the activity of a queue over time',
    description,
    returns,
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
    operationId: 'getSeries',
    tag: 'Metrics',
    summary: 'Get the activity of all queues together over time',
    description,
    returns,
    params: s.noParams,
    query,
    statement: authorized('read', everyQueue, select, points('$2::text')),
    values: ({ query: { from, to, step_seconds } }) => [null, from, to, step_seconds],
    answer,
  });
}
