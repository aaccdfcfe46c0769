import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const lease = z.strictObject({
  queue: s.queueName,
  worker: z.string().nullable(),
  claimed_at: s.moment,
  leased_until: s.moment,
  late: s.flag,
  runs: s.count,
  unfinished: s.count,
  tasks: z.array(s.id).openapi({ description: 'Up to ten tasks that have not ended.' }),
});

/** GET /v1/leases: open leases, without their tokens. */
export function openLeases(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/leases',
    summary: 'List open leases with their workers and tasks, earliest end first',
    description:
      'Without lease tokens, which only the workers may know. A lease with tasks of several lanes or priorities has one entry for each.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional(),
      worker: s.text(200).optional(),
      cursor: s.cursor.optional(),
      limit: s.wholeText(1, 1000).optional(),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      'r.leases, r.cursor, r.scanned',
      'tock.running(p_queue => $2, p_worker => $3, p_cursor => $4, p_limit => coalesce($5::integer, 100)) as r',
    ),
    values: ({ query: q }) => [q.queue, q.worker, q.cursor, q.limit],
    answer: z.strictObject({ leases: z.array(lease), cursor: s.nextCursor, scanned: s.count }),
  });
}
