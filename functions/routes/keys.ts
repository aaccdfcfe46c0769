import { z } from '@hono/zod-openapi';
import { authorized, everyQueue } from '../authorize.ts';
import { type App, serve } from '../endpoint.ts';
import type { Connect } from '../query.ts';
import * as s from '../schemas.ts';

const path = '/v1/keys';
const prefixError = 'tock_ and eight hexadecimal digits, as the list of keys gives it';
const prefix = z
  .string({ error: prefixError })
  .regex(/^tock_[0-9a-f]{8}$/, { error: prefixError })
  .openapi({ example: 'tock_0123abcd' });
const scopes = ['enqueue', 'claim', 'read', 'admin'] as const;
const scope = z.enum(scopes, { error: `one of ${scopes.join(', ')}` });

const made = s.options({
  name: s.text(100),
  scopes: s.list(scope, 1, `a list of one or more of ${scopes.join(', ')}`),
  queues: s.list(s.queueName, 1).nullish().openapi({ description: 'Left out: all queues.' }),
});
const key = z.strictObject({
  prefix,
  name: z.string(),
  scopes: z.array(scope),
  queues: z.array(s.queueName).nullable(),
  created_at: s.moment,
});

const columns = 'k.prefix, k.name, k.scopes, k.queues, k.created_at';

/** /v1/keys: only for keys of every queue, or a limited one could make itself an unlimited one. */
export function keys(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path,
    summary: 'Make a key; it is shown this once',
    params: s.noParams,
    body: made,
    needsBody: true,
    statement: authorized(
      'admin',
      everyQueue,
      `k.key, ${columns}`,
      'tock.create_key(p_name => $2, p_scopes => $3::text[], p_queues => $4::text[]) as k',
    ),
    values: ({ body }) => [body.name, [...new Set(body.scopes)], body.queues],
    answer: key.extend({ key: z.string() }),
    status: 201,
  });

  serve(app, connect, {
    method: 'get',
    path,
    summary: 'All keys, but for their secret part',
    params: s.noParams,
    statement: authorized(
      'admin',
      everyQueue,
      "coalesce(json_agg(k order by k.created_at), '[]') as keys",
      `(select ${columns}, k.revoked_at from tock.keys_list() as k) as k`,
    ),
    values: () => [],
    answer: z.strictObject({ keys: z.array(key.extend({ revoked_at: s.moment.nullable() })) }),
  });

  serve(app, connect, {
    method: 'delete',
    path: `${path}/{prefix}`,
    summary: 'End a key at once',
    params: z.strictObject({ prefix }),
    statement: authorized(
      'admin',
      everyQueue,
      '$2::text as prefix, k.revoked',
      '(select r.revoked from tock.revoke_key(p_prefix => $2::text) as r (revoked) where r.revoked) as k',
    ),
    values: ({ params }) => [params.prefix],
    answer: z.strictObject({ prefix, revoked: z.literal(true) }),
    none: {
      status: 404,
      detail: 'There is no key with this prefix.',
      hint: 'GET /v1/keys lists them.',
    },
  });
}
