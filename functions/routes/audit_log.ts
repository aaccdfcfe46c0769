import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const entry = z.strictObject({
  number: s.id.describe('The number of the entry. Later entries have higher numbers.'),
  at: s.moment,
  role: z.string().describe('The PostgreSQL role of the session.'),
  key: s.keyPrefix
    .nullable()
    .describe('The prefix of the API key of the call. Null for a call without a key.'),
  key_name: z.string().nullable().describe('The present name of that key.'),
  verb: z.string().describe('The SQL verb, such as put_queue.'),
  object: z
    .string()
    .describe('What the verb changed: the name of a queue, a schedule or a key, or an id.'),
  detail: z
    .record(z.string(), z.unknown())
    .describe('The arguments of the verb, without payloads and secrets.'),
});

/** /v1/audit-log: the administrative actions. */
export function auditLog(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/audit-log',
    operationId: 'listAuditLog',
    tag: 'Operations',
    summary: 'List the audit log, newest first',
    description:
      'The database keeps entries for a year. For the next page, set `before` to the last `number`.',
    returns: 'The entries.',
    params: s.noParams,
    query: s.options({
      key: s.keyPrefix.optional().describe('Only calls with the key of this prefix.'),
      verb: s.text(100).optional().describe('Only this SQL verb.'),
      object: s.text(200).optional().describe('Only changes of this object.'),
      before: s.id.optional().describe('Only entries with a lower number. Default: the newest.'),
      limit: s.pageSize(100),
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
