import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { documented, json, missingNodes, missingNodesHeader, shared } from '../http/document.ts';
import type { App } from '../http/endpoint.ts';
import { refusal } from '../http/problem.ts';
import { reachOf } from '../nodes/reach.ts';
import { HEALTH_MS } from '../timeouts.ts';

/** Rejects after HEALTH_MS, because a probe needs an answer soon, even if the database hangs. */
async function withDeadline<T>(work: Promise<T>, ms = HEALTH_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const late = Object.assign(new Error(`no answer within ${ms} ms`), { code: '08006' });
    timer = setTimeout(() => reject(late), ms);
  });
  // A pending timer would keep a Node process from ending.
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

/** One node that does not answer must not make the others late. */
const NODE_MS = HEALTH_MS - 2000;

const healthy = z.strictObject({
  status: z.literal('ok'),
  database: z.literal('reachable'),
  missing_nodes: missingNodes,
});

/** /v1/health: needs no key, so it reports only whether the database answers. */
export function health(app: App, connect: Connect): void {
  const route = documented({
    method: 'get',
    path: '/v1/health',
    operationId: 'getHealth',
    tags: ['Operations'],
    summary: 'Check that the database answers',
    description: `The call needs no key. It waits up to ${HEALTH_MS / 1000} seconds for the database, and is a 503 after that. With several nodes one that answers is enough.`,
    security: [],
    responses: {
      200: {
        description: 'The database answers.',
        headers: missingNodesHeader,
        ...json(healthy),
      },
      ...shared(414, 503),
    },
  });
  app.openAPIRegistry.registerPath(route);
  app.get(route.getRoutingPath(), async (c) => {
    const env = c.env ?? {};
    const { reach } = reachOf(connect, env, 'getHealth', {});
    const look = reach((send) =>
      send(async (query) => {
        const work = query('select 1 as one');
        await (env.TOCK_NODES ? withDeadline(work, NODE_MS) : work);
        return { body: '{}' };
      }),
    );
    let missing: number[] = [];
    try {
      const answer = await withDeadline(look);
      missing = [...(answer?.missing ?? [])];
    } catch (error) {
      console.error(`health: ${error instanceof Error ? error.message : error}`);
      throw refusal(503, 'The database does not answer.', { hint: 'Retry in a moment.' });
    }
    if (missing.length > 0) c.header('Tock-Missing-Nodes', missing.join(', '));
    return c.json({
      status: 'ok',
      database: 'reachable',
      ...(missing.length > 0 && { missing_nodes: missing }),
    } satisfies z.output<typeof healthy>);
  });
}
