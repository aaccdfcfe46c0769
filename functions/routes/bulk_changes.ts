import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, authorizedForBoth, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const path = '/v1/bulk-changes';
const change = s.word('cancel', 'reprioritize', 'redrive');

const row = z.strictObject({
  id: s.id,
  change,
  queue: s.queueName,
  filter: z.record(z.string(), z.unknown()).describe('The tasks: state and tenant, or error.'),
  options: z.record(z.string(), z.unknown()).describe('The options of the change.'),
  role: z
    .string()
    .nullable()
    .describe('The PostgreSQL role that started the change. Null for a key for some queues.'),
  key: s.keyPrefix
    .nullable()
    .describe(
      'The prefix of the API key that started it. Null for a call without a key, and for a key for some queues.',
    ),
  key_name: z.string().nullable().describe('The present name of that key.'),
  created_at: s.moment.describe('When the change was started.'),
  state: z
    .enum(['running', 'done', 'stopped', 'failed'])
    .describe(
      '`running`: pages are left. `done`: all tasks were looked at. `stopped`: a call stopped it, or the queue was dropped. `failed`: five pages in a row failed.',
    ),
  matched: s.count.describe('The number of tasks that have matched so far.'),
  changed: s.count.describe('The number of tasks that were changed so far.'),
  error: z
    .string()
    .nullable()
    .describe('Why the last page failed, or why the change ended early. Null after a good page.'),
  ended_at: s.moment.nullable(),
});

/** What a key for some queues sees in place of what other queues and keys have. */
const hidden: Record<string, string> = {
  options: "b.options - 'to_queue'",
  role: 'null',
  key: 'null',
  key_name: 'null',
  error: "case when b.error ~ '^[0-9A-Z]{5} ' then left(b.error, 5) else b.error end",
};

const columns = Object.keys(row.shape)
  .map((name) => {
    if (name === 'id') return 'b.id::text';
    if (!hidden[name]) return `b.${name}`;
    return `case when k.queues is null then b.${name} else ${hidden[name]} end as ${name}`;
  })
  .join(', ');
const withKey = 'cross join (select tock.queues_of_key(p_key => $1) as queues) as k';

const params = z.strictObject({ id: s.id.describe('The id of the bulk change.') });
const itsQueue = '(select o.queue from tock.bulk_changes(p_id => $2::bigint) as o)';
const notFound = {
  status: 404,
  detail: 'There is no bulk change with this id.',
  hint: 'GET /v1/bulk-changes lists those of the last 30 days.',
} as const;

/** Bulk changes that the database goes on with after the call. A key for some tenants is refused. */
export function bulkChanges(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/bulk-changes',
    operationId: 'startBulkChange',
    tag: 'Tasks',
    summary: 'Cancel, reprioritize or redrive all tasks of a queue that match, in the background',
    description:
      'The call returns at once. A maintenance job changes the tasks, page by page. It leaves out tasks that are enqueued, or die, after the call. `state` belongs to cancel and reprioritize, `error`, `to_queue`, `again` and `reason` to redrive. The key must allow both queues.',
    returns: 'The id of the bulk change.',
    params: s.queueParams,
    body: s.options({
      change: change.describe('What is done to the tasks.'),
      state: s
        .word('waiting', 'ready', 'running')
        .nullish()
        .describe('Only tasks in this state. Default: waiting and ready tasks.'),
      tenant: s.text(200).nullish().describe('Only tasks of this tenant. Default: all tenants.'),
      error: s
        .text(200)
        .nullish()
        .describe('Only dead tasks with this error, as GET /v1/queues/{queue}/dead shows it.'),
      priority: s.priority
        .nullish()
        .describe('The new priority, which reprioritize needs. Workers claim 0 first and 9 last.'),
      to_queue: s.queueName
        .nullish()
        .describe('The queue of the new tasks. Default: the queue of the dead ones.'),
      again: s.flag
        .nullish()
        .describe('Also redrive tasks that have a rerun already. Default: false.'),
      reason: s.text(200).nullish().describe('Why the tasks run again. The old task shows it.'),
      request_id: s.requestId.nullish(),
    }),
    needsBody: true,
    repeatable: true,
    status: 201,
    statement: authorizedForBoth(
      'enqueue',
      ['$2', 'coalesce($8, $2)'],
      'v.id::text as id',
      `tock.start_bulk_change(p_queue => $2, p_change => $3,
        p_filter => jsonb_strip_nulls(jsonb_build_object('state', $4::text, 'tenant', $5::text, 'error', $6::text)),
        p_options => jsonb_strip_nulls(jsonb_build_object('priority', $7::integer, 'to_queue', $8::text,
          'again', $9::boolean, 'reason', $10::text)),
        p_request_id => $11) as v (id)`,
    ),
    values: ({ params, body: b, requestId }) => {
      const filter = [b.state, b.tenant, b.error];
      const options = [b.priority, b.to_queue, b.again, b.reason];
      return [params.queue, b.change, ...filter, ...options, requestId];
    },
    answer: z.strictObject({ id: s.id }),
  });

  serve(app, connect, {
    method: 'get',
    path,
    operationId: 'listBulkChanges',
    tag: 'Tasks',
    summary: 'List the bulk changes of all queues or one, newest first',
    description:
      'The database keeps ended ones for 30 days. For the next page, set `before` to the last `id`. A key for some queues must name a queue.',
    returns: 'The bulk changes.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional().describe('Only changes of this queue. Default: all queues.'),
      before: s.id.optional().describe('Only changes with a lower id. Default: the newest.'),
      limit: s.pageSize(100),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      "coalesce(json_agg(v), '[]') as bulk_changes",
      `(select ${columns} from tock.bulk_changes(p_queue => $2, p_before => $3::bigint,
          p_limit => coalesce($4::integer, 100)) as b ${withKey}) as v`,
    ),
    values: ({ query: q }) => [q.queue, q.before, q.limit],
    answer: z.strictObject({ bulk_changes: z.array(row) }),
  });

  serve(app, connect, {
    method: 'get',
    path: `${path}/{id}`,
    operationId: 'getBulkChange',
    tag: 'Tasks',
    summary: 'Get a bulk change',
    returns: 'The bulk change, and how far it is.',
    params,
    statement: authorized(
      'read',
      itsQueue,
      columns,
      `tock.bulk_changes(p_id => $2::bigint) as b ${withKey}`,
    ),
    values: ({ params }) => [params.id],
    answer: row,
    none: notFound,
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/{id}/stop`,
    operationId: 'stopBulkChange',
    tag: 'Tasks',
    summary: 'Stop a bulk change before its next page',
    description: 'What it has changed stays. A repeated call is no error.',
    returns: 'The state after the call.',
    params,
    body: s.options({}),
    statement: authorized(
      'enqueue',
      itsQueue,
      'v.state',
      // From the row that was checked: a change that starts meanwhile was not.
      `(select x.state from tock.bulk_changes(p_id => $2::bigint) as o
        cross join lateral tock.stop_bulk_change(p_id => o.id) as x (state) where x.state is not null) as v`,
    ),
    values: ({ params }) => [params.id],
    answer: z.strictObject({ state: row.shape.state }),
    none: notFound,
  });
}
