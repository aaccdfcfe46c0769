import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const media = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** /metrics: what Prometheus reads. */
export function metrics(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/metrics',
    summary: 'Every queue in OpenMetrics text, as it was counted last',
    params: s.noParams,
    statement: authorized('read', everyQueue, 'm as text', 'tock.metrics() as m'),
    values: () => [],
    finish: async (body) => (JSON.parse(body) as { text: string }).text,
    media,
    answer: z.string(),
  });
}
