import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

// OpenMetrics names a counter without its suffix in its TYPE line, which `promtool check metrics` refuses.
const media = 'text/plain; version=0.0.4; charset=utf-8';

/** /metrics: for Prometheus. */
export function metrics(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/metrics',
    operationId: 'getMetrics',
    tag: 'Metrics',
    summary: 'Get the metrics of all queues for Prometheus',
    description:
      'The maintenance job collect_metrics counts the tasks about once a minute. The metrics of the maintenance jobs are current.',
    returns: 'The metrics in the text format of Prometheus.',
    params: s.noParams,
    statement: authorized('read', everyQueue, 'm as text', 'tock.metrics() as m'),
    values: () => [],
    finish: async (body) => (JSON.parse(body) as { text: string }).text,
    media,
    answer: z.string(),
  });
}
