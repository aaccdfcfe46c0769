import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, lookedAt, ownTenant } from '../http/authorize.ts';
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

const groups = `coalesce(json_agg(json_build_object('error', g.error, 'tasks', g.tasks, 'newest_at', g.newest_at,
  'newest_id', g.newest_id::text)) filter (where g.tasks > 0), '[]') as groups,
  coalesce(bool_and(g.counted_all), true) as counted_all`;

/** GET /v1/tasks, and what the dead of a queue died of. */
export function listing(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks',
    summary: "A queue's tasks by state, tenant or error, a part at a time",
    description:
      'A call looks at up to 10,000 rows and may find none among them: go on while there is a cursor. Dead tasks that have been run again are listed with rerun=true only.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName,
      state: s.taskState.optional(),
      tenant: s.text(200).optional(),
      error: s.text(200).optional(),
      rerun: s.flagText.optional(),
      cursor: s.cursor.optional(),
      limit: s.wholeText(1, 1000).optional(),
    }),
    statement: authorized(
      'read',
      '$2',
      `t.tasks, t.cursor, ${lookedAt('t.looked_at', 'jsonb_array_length(t.tasks)')}`,
      `tock.tasks(p_filter => jsonb_build_object('queue', $2::text, 'state', $3::text, 'tenant', ${ownTenant('$4')},
        'error', $5::text, 'rerun', $6::boolean), p_cursor => $7, p_limit => coalesce($8::integer, 100)) as t`,
      'own tasks',
    ),
    values: ({ query: q }) => [q.queue, q.state, q.tenant, q.error, q.rerun, q.cursor, q.limit],
    answer: z.strictObject({
      tasks: z.array(listed),
      cursor: s.nextCursor,
      looked_at: s.count,
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
