import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { checked } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const key = z.strictObject({
  prefix: s.keyPrefix,
  name: z.string(),
  scopes: z.array(z.string()),
  queues: z.array(s.queueName).nullable(),
  tenants: z.array(z.string()).nullable(),
  rate_limit: s.count.nullable(),
  rate_seconds: s.count.nullable(),
  created_at: s.moment,
  expires_at: s.moment.nullable(),
});

/** GET /v1/key: the key of the request. */
export function whoami(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/key',
    summary: 'The scopes and limits of the key of this request',
    params: s.noParams,
    // whoami() refuses a request without a key.
    statement: checked(
      () => 'select row_to_json(k)::text as body from tock.whoami(p_key => $1) as k',
    ),
    values: () => [],
    answer: key,
  });
}
