import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

/** /v1/tick: an external wake-up, for a database that was suspended. */
export function tick(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/tick',
    operationId: 'tick',
    tag: 'Operations',
    summary: 'Run the maintenance jobs that are due',
    description: 'pg_cron, the cron trigger of the Worker or its alarm does the same.',
    returns: 'When to call again.',
    params: s.noParams,
    body: s.options({}),
    statement: authorized('admin', everyQueue, 't.next_wake_at', 'tock.tick() as t (next_wake_at)'),
    values: () => [],
    answer: z.strictObject({
      next_wake_at: s.moment
        .nullable()
        .describe('When the next task, lease deadline or schedule is due. Null if nothing is.'),
    }),
  });
}
