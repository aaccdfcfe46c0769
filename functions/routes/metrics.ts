import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const media = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** /metrics: for Prometheus. */
export function metrics(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/metrics',
    summary: 'Metrics of every queue in OpenMetrics text, as last collected',
    params: s.noParams,
    statement: authorized('read', everyQueue, 'm as text', 'tock.metrics() as m'),
    values: () => [],
    finish: async (body) => (JSON.parse(body) as { text: string }).text,
    media,
    answer: z.string(),
  });
}
