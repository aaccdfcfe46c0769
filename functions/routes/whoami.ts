import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { checked } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const key = z.strictObject({
  prefix: s.keyPrefix.describe('The first 13 characters of the key, which identify it.'),
  name: z.string(),
  scopes: z.array(z.string()),
  queues: z.array(s.queueName).nullable().describe('The queues of the key. Null: all queues.'),
  tenants: z.array(z.string()).nullable().describe('The tenants of the key. Null: all tenants.'),
  rate_limit: s.count.nullable().describe('The maximum number of requests in the period.'),
  rate_seconds: s.count.nullable().describe('The period of the rate.'),
  created_at: s.moment,
  expires_at: s.moment.nullable().describe('When the key ends. Null: never.'),
  installation: z
    .string()
    .nullable()
    .describe('The name of this installation, from the variable TOCK_NAME of the Worker.'),
  hidden_fields: z
    .array(z.string())
    .describe('The fields that the dashboard hides, from the variable TOCK_HIDDEN_FIELDS.'),
});

/** GET /v1/key: the key of the request. */
export function whoami(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/key',
    operationId: 'getKey',
    tag: 'Keys',
    summary: 'Get the scopes and limits of the key of this request',
    returns: 'The key, without its secret.',
    params: s.noParams,
    // whoami() refuses a request without a key.
    statement: checked(
      () => 'select row_to_json(k)::text as body from tock.whoami(p_key => $1) as k',
    ),
    values: () => [],
    finish: async (body, { TOCK_NAME, TOCK_HIDDEN_FIELDS = '' }) =>
      JSON.stringify({
        ...JSON.parse(body),
        installation: TOCK_NAME || null,
        hidden_fields: TOCK_HIDDEN_FIELDS.split(',').flatMap((name) => name.trim() || []),
      }),
    answer: key,
  });
}
