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
const made = s.options({
  name: s.text(100),
  scopes: s.list(scope, 1, `a list of one or more of ${scopes.join(', ')}`),
  queues: s.list(s.queueName, 1).nullish().openapi({ description: 'Left out: all queues.' }),
  tenants: s
    .list(s.text(200), 1, tenantsError)
    .max(100, { error: tenantsError })
    .nullish()
    .openapi({ description: 'Left out: all tenants. For scopes enqueue and read alone.' }),
  ...expiry,
  ...rate,
});
const changes = s
  .options({ name: s.text(100).optional(), ...expiry, ...rate })
  .refine((body) => Object.keys(body).length > 0, {
    error: 'name what to change: name, expires_at or expires_in_seconds, rate_limit, rate_seconds',
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
  replaces: s.keyPrefix.nullable().openapi({ description: 'The key that it was rotated from.' }),
});
const newKey = key.extend({ key: z.string() });
const listed = key.extend({
  revoked_at: s.moment.nullable(),
  replaced_by: s.keyPrefix.nullable(),
  last_used_at: s.moment.nullable().openapi({ description: 'To about a minute.' }),
  uses: s.count.openapi({ description: 'How often it was looked at; a call may do so twice.' }),
});
const columnsOf = (row: z.ZodObject) =>
  Object.keys(row.shape)
    .map((name) => `k.${name}`)
    .join(', ');

const none = {
  status: 404,
  detail: 'There is no key with this prefix.',
  hint: 'GET /v1/keys lists them.',
} as const;

/** /v1/keys: only for keys of every queue, or a limited one could make itself an unlimited one. */
export function keys(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path,
    summary: 'Make a key; it is shown this once',
    description:
      'Where the answer was lost, GET /v1/keys has its prefix: end it, and make another.',
    params: s.noParams,
    body: made,
    needsBody: true,
    statement: authorized(
      'admin',
      everyQueue,
      columnsOf(newKey),
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
    summary: 'All keys, but for their secret part',
    params: s.noParams,
    statement: authorized(
      'admin',
      everyQueue,
      "coalesce(json_agg(k order by k.created_at), '[]') as keys",
      `(select ${columnsOf(listed)} from tock.keys_list() as k) as k`,
    ),
    values: () => [],
    answer: z.strictObject({ keys: z.array(listed) }),
  });

  serve(app, connect, {
    method: 'patch',
    path: `${path}/{prefix}`,
    summary: "Change a key's name, expiry or rate; null takes away",
    description: 'For other scopes, queues or tenants make a new key.',
    params,
    body: changes,
    needsBody: true,
    statement: authorized(
      'admin',
      everyQueue,
      columnsOf(listed),
      'tock.update_key(p_prefix => $2, p_changes => $3::jsonb) as k',
    ),
    values: ({ params, text }) => [params.prefix, text],
    answer: listed,
    none,
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/{prefix}/rotate`,
    summary: 'Make a key that replaces one, which ends after overlap_seconds',
    description:
      'The new key is shown this once. Called again it is refused (409), and names the key that replaced it: where nobody has its secret, end that one and rotate again.',
    params,
    body: s.options({ overlap_seconds: s.whole(0, 2_678_400).default(86_400) }),
    statement: authorized(
      'admin',
      everyQueue,
      columnsOf(newKey),
      'tock.rotate_key(p_prefix => $2, p_overlap_seconds => $3) as k',
    ),
    values: ({ params, body }) => [params.prefix, body.overlap_seconds],
    answer: newKey,
    status: 201,
    none,
  });

  serve(app, connect, {
    method: 'delete',
    path: `${path}/{prefix}`,
    summary: 'End a key at once',
    params,
    statement: authorized(
      'admin',
      everyQueue,
      '$2::text as prefix, k.revoked',
      '(select r.revoked from tock.revoke_key(p_prefix => $2::text) as r (revoked) where r.revoked) as k',
    ),
    values: ({ params }) => [params.prefix],
    answer: z.strictObject({ prefix: s.keyPrefix, revoked: z.literal(true) }),
    none,
  });
}
