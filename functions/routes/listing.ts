import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue, lookedAt, ownTenant } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const listed = z.strictObject({
  id: s.id,
  run_id: s.id.openapi({ description: 'Its newest run, or its entry while it waits.' }),
  queue: s.queueName,
  state: s.taskState,
  priority: s.count,
  tenant: z.string().nullable(),
  attempt: s.count,
  created_at: s.moment,
  run_at: s.moment.nullable(),
  ended_at: s.moment.nullable(),
  worker: z.string().nullable(),
  error: z.string().nullable().openapi({ description: 'What a dead one says, shortened.' }),
  rerun: s.flag,
});

/** By its unique key a task is found wherever it has gone on to, also where the key is not for. */
const ofOwnQueues = `case when $9::text is null then t.tasks else coalesce((
    select jsonb_agg(x.task) from jsonb_array_elements(t.tasks) as x (task)
    where k.queues is null or x.task ->> 'queue' = any (k.queues)), '[]') end as tasks`;

const groups = `coalesce(json_agg(json_build_object('error', g.error, 'tasks', g.tasks, 'newest_at', g.newest_at,
  'newest_id', g.newest_id::text)) filter (where g.tasks > 0), '[]') as groups,
  coalesce(bool_and(g.counted_all), true) as counted_all`;

/** GET /v1/tasks, and what the dead of a queue died of. */
export function listing(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks',
    summary: 'Tasks of a queue or of all, the newest first, a part at a time',
    description:
      'By the newest run, or the entry of one that waits. A call looks at some 10,000 rows and may find none among them: go on while there is a cursor. Without queue it looks at the 2,000 streams that were in use last. rerun is true or false: only those that have been run again, or have not. unique_key and concurrency key need queue, and have no parts.',
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
      `${ofOwnQueues}, t.cursor, ${lookedAt('t.scanned', 'jsonb_array_length(t.tasks)')}`,
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
    summary: 'Dead tasks by what their error says, the most frequent first',
    description:
      'Counts those of the newest 100,000 dead tasks that have not been run again; counted_all says whether there were no more.',
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
