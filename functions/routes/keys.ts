import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const path = '/v1/keys';
const params = z.strictObject({
  prefix: s.keyPrefix.describe('The first 13 characters of the key.'),
});
const scopes = ['enqueue', 'claim', 'read', 'admin'] as const;
const scope = z.enum(scopes, { error: `one of ${scopes.join(', ')}` });

const expiry = {
  expires_at: s.instant.nullish().describe('The key ends at this instant. Null: never.'),
  expires_in_seconds: s
    .number(1, 315_360_000)
    .nullish()
    .describe('The key ends after this time from now.'),
};
const rate = {
  rate_limit: s
    .whole(1, 1_000_000)
    .nullish()
    .describe('The maximum number of requests in the period. Null: no limit.'),
  rate_seconds: s.whole(1, 86_400).nullish().describe('The period of the rate. Default: 1.'),
};
const tenantsError = 'a list of 1 to 100 tenants';
const newKeyOptions = s.options({
  name: s.text(100).describe('A name for people. Several keys may have the same one.'),
  scopes: s
    .list(scope, 1, `a list of one or more of ${scopes.join(', ')}`)
    .describe('What the key may do.'),
  queues: s
    .list(s.queueName, 1)
    .nullish()
    .describe('The queues that the key may use. Default: all queues.'),
  tenants: s
    .list(s.text(200), 1, tenantsError)
    .max(100, { error: tenantsError })
    .nullish()
    .describe(
      'The tenants whose tasks the key may use. Default: all tenants. Such a key may have only the scopes `enqueue` and `read`.',
    ),
  ...expiry,
  ...rate,
});
const changes = s
  .options({ name: s.text(100).optional().describe('The new name.'), ...expiry, ...rate })
  .refine((body) => Object.keys(body).length > 0, {
    error: 'give at least one of name, expires_at or expires_in_seconds, rate_limit, rate_seconds',
    when: ({ issues }) => issues.length === 0,
  });

const key = z.strictObject({
  prefix: s.keyPrefix.describe('The first 13 characters of the key, which identify it.'),
  name: z.string(),
  scopes: z.array(scope),
  queues: z.array(s.queueName).nullable().describe('The queues of the key. Null: all queues.'),
  tenants: z.array(z.string()).nullable().describe('The tenants of the key. Null: all tenants.'),
  rate_limit: s.count.nullable().describe('The maximum number of requests in the period.'),
  rate_seconds: s.count.nullable().describe('The period of the rate.'),
  created_at: s.moment,
  expires_at: s.moment.nullable().describe('When the key ends. Null: never.'),
  replaces: s.keyPrefix.nullable().describe('The prefix of the key that this key replaces.'),
});
const newKey = key.extend({
  key: z.string().describe('The key with its secret, for the Authorization header.'),
});
const listed = key.extend({
  revoked_at: s.moment.nullable(),
  replaced_by: s.keyPrefix.nullable().describe('The prefix of the key that replaces this key.'),
  last_used_at: s.moment
    .nullable()
    .describe('When a call last used the key, accurate to about a minute.'),
  uses: s.count.describe('How often calls have looked the key up. A call may do so twice.'),
});
const selectColumns = (row: z.ZodObject) =>
  Object.keys(row.shape)
    .map((name) => `k.${name}`)
    .join(', ');

const notFound = {
  status: 404,
  detail: 'There is no key with this prefix.',
  hint: 'GET /v1/keys lists them.',
} as const;

/** /v1/keys: only for keys of all queues; otherwise a limited key could create an unlimited one. */
export function keys(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path,
    operationId: 'createKey',
    tag: 'Keys',
    summary: 'Create a key',
    description:
      'Only this answer has the secret: the database keeps its hash. If the answer was lost, revoke the key by its prefix, which GET /v1/keys lists, and create another.',
    returns: 'The key with its secret.',
    params: s.noParams,
    body: newKeyOptions,
    needsBody: true,
    statement: authorized(
      'admin',
      everyQueue,
      selectColumns(newKey),
      `tock.create_key(p_name => $2, p_scopes => $3::text[], p_queues => $4::text[], p_tenants => $5::text[],
        p_expires_at => $6::timestamptz, p_expires_in_seconds => $7::double precision, p_rate_limit => $8::integer,
        p_rate_seconds => $9::integer) as k`,
    ),
    values: ({ body: b }) => {
      const limits = [b.expires_at, b.expires_in_seconds, b.rate_limit, b.rate_seconds];
      return [b.name, [...new Set(b.scopes)], b.queues, b.tenants, ...limits];
    },
    answer: newKey,
    status: 201,
  });

  serve(app, connect, {
    method: 'get',
    path,
    operationId: 'listKeys',
    tag: 'Keys',
    summary: 'List all keys, without their secrets',
    returns: 'The keys, oldest first.',
    params: s.noParams,
    statement: authorized(
      'admin',
      everyQueue,
      "coalesce(json_agg(k order by k.created_at), '[]') as keys",
      `(select ${selectColumns(listed)} from tock.keys_list() as k) as k`,
    ),
    values: () => [],
    answer: z.strictObject({ keys: z.array(listed) }),
  });

  serve(app, connect, {
    method: 'patch',
    path: `${path}/{prefix}`,
    operationId: 'changeKey',
    tag: 'Keys',
    summary: 'Change the name, expiry or rate of a key',
    description:
      'Null removes the expiry or the rate. To change scopes, queues or tenants, create another key.',
    returns: 'The key after the change.',
    params,
    body: changes,
    needsBody: true,
    statement: authorized(
      'admin',
      everyQueue,
      selectColumns(listed),
      'tock.update_key(p_prefix => $2, p_changes => $3::jsonb) as k',
    ),
    values: ({ params, text }) => [params.prefix, text],
    answer: listed,
    none: notFound,
    refused: { 409: 'The key has been revoked.' },
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/{prefix}/rotate`,
    operationId: 'rotateKey',
    tag: 'Keys',
    summary: 'Create a key that replaces this one',
    description:
      'The new key has the rights and the lifetime of the old one. Only this answer has its secret. If the answer was lost, revoke the new key by its prefix and rotate again.',
    returns: 'The new key with its secret.',
    params,
    body: s.options({
      overlap_seconds: s
        .whole(0, 2_678_400)
        .default(86_400)
        .describe('The old key ends after this time. 0 ends it at once.'),
    }),
    statement: authorized(
      'admin',
      everyQueue,
      selectColumns(newKey),
      'tock.rotate_key(p_prefix => $2, p_overlap_seconds => $3) as k',
    ),
    values: ({ params, body }) => [params.prefix, body.overlap_seconds],
    answer: newKey,
    status: 201,
    none: notFound,
    refused: { 409: 'The key has been revoked or has expired, or another key replaces it.' },
  });

  serve(app, connect, {
    method: 'delete',
    path: `${path}/{prefix}`,
    operationId: 'revokeKey',
    tag: 'Keys',
    summary: 'Revoke a key at once',
    description: 'The next request with the key is a 401. A request in progress continues.',
    returns: 'The prefix of the revoked key.',
    params,
    statement: authorized(
      'admin',
      everyQueue,
      '$2::text as prefix, k.revoked',
      '(select r.revoked from tock.revoke_key(p_prefix => $2::text) as r (revoked) where r.revoked) as k',
    ),
    values: ({ params }) => [params.prefix],
    answer: z.strictObject({ prefix: s.keyPrefix, revoked: z.literal(true) }),
    none: notFound,
  });
}
