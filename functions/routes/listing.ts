import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue, ownTenant, scannedColumn } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const listed = z.strictObject({
  id: s.id,
  run_id: s.id.openapi({ description: 'The newest run; for a waiting task its entry.' }),
  queue: s.queueName,
  state: s.taskState,
  priority: s.count,
  tenant: z.string().nullable(),
  attempt: s.count,
  created_at: s.moment,
  run_at: s.moment.nullable(),
  ended_at: s.moment.nullable(),
  worker: z.string().nullable(),
  error: z.string().nullable().openapi({ description: 'The error of a dead task, shortened.' }),
  rerun: s.flag,
});

/** A search by unique key finds tasks of all queues. This keeps those of queues that the API key allows. */
const tasksInAllowedQueues = `case when $9::text is null then t.tasks else coalesce((
    select jsonb_agg(x.task) from jsonb_array_elements(t.tasks) as x (task)
    where k.queues is null or x.task ->> 'queue' = any (k.queues)), '[]') end as tasks`;

const groups = `coalesce(json_agg(json_build_object('error', g.error, 'tasks', g.tasks, 'newest_at', g.newest_at,
  'newest_id', g.newest_id::text)) filter (where g.tasks > 0), '[]') as groups,
  coalesce(bool_and(g.counted_all), true) as counted_all`;

/** GET /v1/tasks, and a queue's dead tasks by error. */
export function listing(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks',
    summary: 'List tasks of one or all queues, newest first, one page at a time',
    description:
      'Each task is shown by its newest run, or by its entry if it waits. A call scans about 10,000 rows and may return no tasks: continue while there is a cursor. Without queue it scans the 2,000 streams that were used last. rerun=true returns only tasks that were run again, rerun=false only the others. unique_key and concurrency_key need queue, and return one page.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional(),
      state: s.taskState.optional(),
      tenant: s.text(200).optional(),
      error: s.text(200).optional(),
      worker: s.text(200).optional(),
      rerun: s.flagText.optional(),
      from: s.instant.optional(),
      to: s.instant.optional(),
      unique_key: s.text(500).optional(),
      concurrency_key: s.text(200).optional(),
      cursor: s.cursor.optional(),
      limit: s.wholeText(1, 1000).optional(),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      `${tasksInAllowedQueues}, t.cursor, ${scannedColumn('t.scanned', 'jsonb_array_length(t.tasks)')}`,
      `(select tock.queues_of_key(p_key => $1) as queues) as k cross join tock.tasks(p_filter => jsonb_build_object(
        'queue', $2::text, 'state', $3::text, 'tenant', ${ownTenant('$4')}, 'error', $5::text, 'worker', $6::text,
        'from', $7::text, 'to', $8::text, 'unique_key', $9::text, 'concurrency_key', $10::text, 'rerun', $13::boolean),
        p_cursor => $11, p_limit => coalesce($12::integer, 100)) as t`,
      'own tasks',
    ),
    values: ({ query: q }) => [
      q.queue,
      q.state,
      q.tenant,
      q.error,
      q.worker,
      q.from,
      q.to,
      q.unique_key,
      q.concurrency_key,
      q.cursor,
      q.limit,
      q.rerun,
    ],
    answer: z.strictObject({
      tasks: z.array(listed),
      cursor: s.nextCursor,
      scanned: s.count,
    }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/dead',
    summary: "List a queue's dead tasks by error, most frequent first",
    description:
      'Counts the newest 100,000 dead tasks without those that were run again; counted_all is false if there are more.',
    params: s.queueParams,
    query: s.options({ limit: s.wholeText(1, 1000).optional() }),
    statement: authorized(
      'read',
      '$2',
      'd.groups, d.counted_all',
      `(select ${groups}
        from tock.dead_groups(p_queue => $2, p_limit => coalesce($3::integer, 100)) as g) as d`,
    ),
    values: ({ params, query }) => [params.queue, query.limit],
    answer: z.strictObject({
      groups: z.array(
        z.strictObject({
          error: z.string().nullable(),
          tasks: s.count,
          newest_at: s.moment,
          newest_id: s.id,
        }),
      ),
      counted_all: s.flag,
    }),
  });
}
