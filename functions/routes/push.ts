import { z } from '@hono/zod-openapi';
import { misconfigured } from '../database/errors.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { authorized } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { masterSecrets, secretsOf } from '../push/secret.ts';

const columns = 'p.queue, p.generation, p.previous_until';

const answer = z.strictObject({
  queue: s.queueName,
  generation: s.count,
  secret: z.string().openapi({ example: 'whsec_…', description: 'What receivers verify with.' }),
  secrets: z
    .array(z.string())
    .openapi({ description: "All that sign new: one of each of the Worker's, the newest first." }),
  previous: z
    .array(z.string())
    .openapi({ description: 'Those before the rotation, which sign too until previous_until.' }),
  previous_until: s.moment.nullable(),
});

const none = {
  status: 404 as const,
  detail: 'There is no queue of this name.',
  hint: 'PUT it with a push.',
};

function check(_call: unknown, env: Bindings): void {
  if (masterSecrets(env).length > 0) return;
  throw misconfigured(
    'This Worker has no TOCK_PUSH_SECRET, so it pushes nothing.',
    'set it with: wrangler secret put TOCK_PUSH_SECRET',
  );
}

/** The database knows which, the Worker makes them. */
async function finish(body: string, env: Bindings): Promise<string> {
  const of = JSON.parse(body);
  const { current, previous } = await secretsOf(env, of);
  const { queue, generation, previous_until } = of;
  const [secret] = current;
  return JSON.stringify({ queue, generation, secret, secrets: current, previous, previous_until });
}

/** /v1/queues/:queue/push-secret: what signs the queue's pushes. */
export function push(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/push-secret',
    summary: "The secret that signs a queue's pushes",
    params: s.queueParams,
    check,
    statement: authorized('admin', '$2', columns, 'tock.push_secret(p_queue => $2) as p'),
    values: ({ params }) => [params.queue],
    finish,
    answer,
    none,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/push-secret/rotate',
    summary: 'Give a queue another secret, beside which the one before signs for a while',
    description:
      'While the one before still signs, it is answered with what is, so that a repeated call does nothing twice. With overlap_seconds 0 it is always rotated, and what was before is void at once.',
    params: s.queueParams,
    body: s.options({ overlap_seconds: s.whole(0, 2_678_400).default(86_400) }),
    check,
    statement: authorized(
      'admin',
      '$2',
      columns,
      'tock.rotate_push_secret(p_queue => $2, p_overlap_seconds => $3) as p',
    ),
    values: ({ params, body }) => [params.queue, body.overlap_seconds],
    finish,
    answer,
    none,
  });
}
