import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { documented, json, shared } from '../http/document.ts';
import type { App } from '../http/endpoint.ts';
import { refusal } from '../http/problem.ts';
import { HEALTH_MS } from '../timeouts.ts';

/** Rejects after HEALTH_MS, because a probe needs an answer soon, even if the database hangs. */
async function withDeadline(work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${HEALTH_MS} ms`)), HEALTH_MS);
  });
  // A pending timer would keep a Node process from ending.
  await Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

const healthy = z.strictObject({ status: z.literal('ok'), database: z.literal('reachable') });

/** /v1/health: needs no key, so it reports only whether the database answers. */
export function health(app: App, connect: Connect): void {
  const route = documented({
    method: 'get',
    path: '/v1/health',
    operationId: 'getHealth',
    tags: ['Operations'],
    summary: 'Check that the database answers',
    description: `The call needs no key. It waits up to ${HEALTH_MS / 1000} seconds for the database, and is a 503 after that.`,
    security: [],
    responses: {
      200: { description: 'The database answers.', ...json(healthy) },
      ...shared(414, 503),
    },
  });
  app.openAPIRegistry.registerPath(route);
  app.get(route.getRoutingPath(), async (c) => {
    try {
      await withDeadline(connect(c.env, (query) => query('select 1 as one')));
    } catch (error) {
      console.error(`health: ${error instanceof Error ? error.message : error}`);
      throw refusal(503, 'The database does not answer.', { hint: 'Retry in a moment.' });
    }
    return c.json({ status: 'ok', database: 'reachable' } satisfies z.output<typeof healthy>);
  });
}
