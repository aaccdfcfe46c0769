import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const lease = z.strictObject({
  queue: s.queueName,
  worker: z.string().nullable(),
  claimed_at: s.moment,
  leased_until: s.moment.describe('The deadline of the lease.'),
  late: s.flag.describe('Whether the deadline has passed.'),
  runs: s.count.describe('The number of claimed runs.'),
  unfinished: s.count.describe('The number of runs that have not ended.'),
  tasks: z.array(s.id).describe('Up to ten tasks that have not ended.'),
});

const worker = z.strictObject({
  worker: z.string(),
  queues: z.array(s.queueName).describe('The queues of its leases.'),
  first_claim_at: s.moment.describe('The first claim of the period.'),
  last_claim_at: s.moment,
  leases: s.count.describe('The number of its leases in the period.'),
  open_leases: s.count.describe('How many of them are open. An idle worker has none.'),
  average_open: z
    .number()
    .describe('The average number of open leases since the first claim: how busy the worker is.'),
});

/** GET /v1/leases: open leases, without their tokens. GET /v1/workers: who claimed lately. */
export function openLeases(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/leases',
    operationId: 'listOpenLeases',
    tag: 'Workers',
    summary: 'List the open leases with their workers and tasks, earliest deadline first',
    description:
      'The list has no tokens, because only the workers may know them. A lease has one row for each stream. A page may be empty: call again with `cursor` while the answer has one. A key for some queues must name a queue.',
    returns: 'The leases, and the cursor.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional().describe('Only leases of this queue. Default: all queues.'),
      worker: s.text(200).optional().describe('Only leases of this worker. Default: all workers.'),
      cursor: s.cursor.optional(),
      limit: s.pageSize(100),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      'r.leases, r.cursor, r.scanned',
      'tock.running(p_queue => $2, p_worker => $3, p_cursor => $4, p_limit => coalesce($5::integer, 100)) as r',
    ),
    values: ({ query: q }) => [q.queue, q.worker, q.cursor, q.limit],
    answer: z.strictObject({
      leases: z.array(lease),
      cursor: s.nextCursor,
      scanned: s.count.describe('The number of rows that the call read.'),
    }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/workers',
    operationId: 'listWorkers',
    tag: 'Workers',
    summary: 'List the workers that claimed tasks lately, also those that are idle now',
    description:
      'The call reads the last 50 leases of up to 1,000 streams. Tock does not know a worker that never found a task. A key for some queues must name a queue.',
    returns: 'The workers, the latest claim first.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional().describe('Only claims of this queue. Default: all queues.'),
      seconds: s.wholeText(1, 86_400).optional().describe('The period. Default: 3600.'),
      limit: s.pageSize(1000, 10_000),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      "coalesce(json_agg(w), '[]') as workers",
      `tock.workers(p_queue => $2, p_seconds => coalesce($3::integer, 3600), p_limit => coalesce($4::integer, 1000)) as w`,
    ),
    values: ({ query: q }) => [q.queue, q.seconds, q.limit],
    answer: z.strictObject({ workers: z.array(worker) }),
  });
}
