import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const entry = z.strictObject({
  number: s.id,
  at: s.moment,
  role: z.string().openapi({ description: 'The PostgreSQL role of the session.' }),
  key: s.keyPrefix
    .nullable()
    .openapi({ description: 'The API key of the call; null for calls without a key.' }),
  key_name: z.string().nullable(),
  verb: z.string(),
  object: z.string(),
  detail: z.record(z.string(), z.unknown()),
});

/** /v1/audit-log: the administrative actions. */
export function auditLog(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/audit-log',
    summary: 'List administrative actions, newest first',
    description: 'Entries are kept for a year. For the next page, set before to the last number.',
    params: s.noParams,
    query: s.options({
      key: s.keyPrefix.optional(),
      verb: s.text(100).optional(),
      object: s.text(200).optional(),
      before: s.id.optional(),
      limit: s.wholeText(1, 1000).optional(),
    }),
    statement: authorized(
      'admin',
      everyQueue,
      "coalesce(json_agg(v), '[]') as entries",
      `(select a.number::text, a.at, a.role, a.key, a.key_name, a.verb, a.object, a.detail
        from tock.audit_log(p_key => $2, p_verb => $3, p_object => $4, p_before => $5::bigint,
          p_limit => coalesce($6::integer, 100)) as a) as v`,
    ),
    values: ({ query: q }) => [q.key, q.verb, q.object, q.before, q.limit],
    answer: z.strictObject({ entries: z.array(entry) }),
  });
}
