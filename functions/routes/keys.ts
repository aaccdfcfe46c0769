import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const path = '/v1/keys';
const params = z.strictObject({ prefix: s.keyPrefix });
const scopes = ['enqueue', 'claim', 'read', 'admin'] as const;
const scope = z.enum(scopes, { error: `one of ${scopes.join(', ')}` });

const expiry = {
  expires_at: s.instant.nullish(),
  expires_in_seconds: s.number(1, 315_360_000).nullish(),
};
const rate = {
  rate_limit: s.whole(1, 1_000_000).nullish(),
  rate_seconds: s.whole(1, 86_400).nullish(),
};
const tenantsError = 'a list of 1 to 100 tenants';
const newKeyOptions = s.options({
  name: s.text(100),
  scopes: s.list(scope, 1, `a list of one or more of ${scopes.join(', ')}`),
  queues: s.list(s.queueName, 1).nullish().openapi({ description: 'Default: all queues.' }),
  tenants: s
    .list(s.text(200), 1, tenantsError)
    .max(100, { error: tenantsError })
    .nullish()
    .openapi({
      description: 'Default: all tenants. Allowed only with the scopes enqueue and read.',
    }),
  ...expiry,
  ...rate,
});
const changes = s
  .options({ name: s.text(100).optional(), ...expiry, ...rate })
  .refine((body) => Object.keys(body).length > 0, {
    error: 'give at least one of name, expires_at or expires_in_seconds, rate_limit, rate_seconds',
    when: ({ issues }) => issues.length === 0,
  });

const key = z.strictObject({
  prefix: s.keyPrefix,
  name: z.string(),
  scopes: z.array(scope),
  queues: z.array(s.queueName).nullable(),
  tenants: z.array(z.string()).nullable(),
  rate_limit: s.count.nullable(),
  rate_seconds: s.count.nullable(),
  created_at: s.moment,
  expires_at: s.moment.nullable(),
  replaces: s.keyPrefix.nullable().openapi({ description: 'The key that this key replaces.' }),
});
const newKey = key.extend({ key: z.string() });
const listed = key.extend({
  revoked_at: s.moment.nullable(),
  replaced_by: s.keyPrefix.nullable(),
  last_used_at: s.moment.nullable().openapi({ description: 'Accurate to about a minute.' }),
  uses: s.count.openapi({
    description: 'The number of times that the key was checked; a call may check it twice.',
  }),
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
    summary: 'Create a key; its secret is shown only in this answer',
    description:
      'If the answer was lost, GET /v1/keys lists its prefix: revoke that key and create another.',
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
    summary: 'List all keys, without their secrets',
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
    summary: "Change a key's name, expiry or rate; null removes the value",
    description: 'To change scopes, queues or tenants, create another key.',
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
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/{prefix}/rotate`,
    summary: 'Create a key that replaces this one, which expires after overlap_seconds',
    description:
      'The new key is shown only in this answer. A second call returns 409 and names the key that replaced this one: if its secret is lost, revoke that key and rotate again.',
    params,
    body: s.options({ overlap_seconds: s.whole(0, 2_678_400).default(86_400) }),
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
  });

  serve(app, connect, {
    method: 'delete',
    path: `${path}/{prefix}`,
    summary: 'Revoke a key at once',
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
