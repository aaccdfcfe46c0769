import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { type App, documented, json } from '../http/endpoint.ts';
import { refusal } from '../http/problem.ts';
import { HEALTH_MS } from '../timeouts.ts';

/** A probe wants its answer soon, also when the database is frozen. */
async function soon(work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${HEALTH_MS} ms`)), HEALTH_MS);
  });
  // Left alone it would keep a process of Node from ending.
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const healthy = z.strictObject({ status: z.literal('ok'), database: z.literal('reachable') });

/** /v1/health: for anybody, so it says no more than whether the database answers. */
export function health(app: App, connect: Connect): void {
  const route = documented({
    method: 'get',
    path: '/v1/health',
    summary: 'Whether the database answers',
    responses: { 200: { description: 'It does', ...json(healthy) } },
  });
  app.openAPIRegistry.registerPath(route);
  app.get(route.getRoutingPath(), async (c) => {
    try {
      await soon(connect(c.env, (query) => query('select 1 as one')));
    } catch (error) {
      console.error(`health: ${error instanceof Error ? error.message : error}`);
      throw refusal(503, 'The database does not answer.', { hint: 'Try again in a moment.' });
    }
    return c.json({ status: 'ok', database: 'reachable' } satisfies z.output<typeof healthy>);
  });
}
