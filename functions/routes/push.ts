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
  generation: s.count.describe('The number of the secret, from 1. Each rotation adds 1.'),
  secret: z
    .string()
    .openapi({ example: 'whsec_…' })
    .describe('The first of `secrets`. A receiver verifies signatures with it.'),
  secrets: z
    .array(z.string())
    .describe('The secrets that sign now: one for each secret of the Worker, newest first.'),
  previous: z
    .array(z.string())
    .describe('The secrets before the rotation, which also sign until `previous_until`.'),
  previous_until: s.moment.nullable().describe('Null if no previous secret signs.'),
});
const refused = { 503: 'The Worker has no secret: TOCK_PUSH_SECRET is not set.' };

const notFound = {
  status: 404 as const,
  detail: 'There is no queue with this name.',
  hint: 'PUT the queue with a push.',
};

function check(_call: unknown, env: Bindings): void {
  if (masterSecrets(env).length > 0) return;
  throw misconfigured(
    'This Worker pushes nothing: TOCK_PUSH_SECRET is not set.',
    'set it with: wrangler secret put TOCK_PUSH_SECRET (for wrangler dev in .dev.vars)',
  );
}

/** The database returns the generation; the Worker derives the secrets. */
async function finish(body: string, env: Bindings): Promise<string> {
  const row = JSON.parse(body);
  const { current, previous } = await secretsOf(env, row);
  const { queue, generation, previous_until } = row;
  const [secret] = current;
  return JSON.stringify({ queue, generation, secret, secrets: current, previous, previous_until });
}

/** /v1/queues/:queue/push-secret: the secret that signs the queue's pushes. */
export function push(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/push-secret',
    operationId: 'getPushSecret',
    tag: 'Queues',
    summary: 'Get the secret that signs the pushes of a queue',
    returns: 'The secrets of the queue.',
    params: s.queueParams,
    check,
    statement: authorized('admin', '$2', columns, 'tock.push_secret(p_queue => $2) as p'),
    values: ({ params }) => [params.queue],
    finish,
    answer,
    none: notFound,
    refused,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/push-secret/rotate',
    operationId: 'rotatePushSecret',
    tag: 'Queues',
    summary: 'Rotate the secret that signs the pushes of a queue',
    description:
      'During the overlap both secrets sign, and the call changes nothing. So a repeated call rotates only once.',
    returns: 'The secrets of the queue after the call.',
    params: s.queueParams,
    body: s.options({
      overlap_seconds: s
        .whole(0, 2_678_400)
        .default(86_400)
        .describe(
          'The previous secret signs for this time. 0 always rotates, and ends it at once.',
        ),
    }),
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
    none: notFound,
    refused,
  });
}
