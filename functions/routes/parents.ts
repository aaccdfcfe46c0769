import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, ownTask, queueOfTask } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const parent = z.strictObject({
  n: s.count.describe('The place of the parent in `depends_on`, from 1.'),
  id: s.id,
  name: z.string().nullable().describe('The name of the parent in the call that added both.'),
  state: z
    .string()
    .describe('The state of the parent. It is `gone` if the history of the parent was dropped.'),
  result: s.anything.describe('The result of the parent.'),
});

const listed = `(with p as materialized (
    select l.n, l.id, l.name, l.state, l.result
    from tock.parents(p_id => ${ownTask}, p_limit => coalesce($3::integer, 1000), p_after => coalesce($4::integer, 0)) as l)
  select coalesce(json_agg(json_build_object('n', p.n, 'id', p.id::text, 'name', p.name, 'state', p.state,
    'result', p.result) order by p.n), '[]') as parents
  from p join unnest(tock.readable(p_key => $1, p_ids => array(select i.id from p as i))) as r (id) on r.id = p.id)`;

/** GET /v1/tasks/:id/parents */
export function parents(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks/{id}/parents',
    operationId: 'listParents',
    tag: 'Tasks',
    summary: 'List the parents of a task with their states and results',
    description:
      'A parent that was run again has the state and result of its rerun. The answer leaves out parents that the key may not read.',
    returns: 'The parents, in the order of `depends_on`.',
    params: z.strictObject({ id: s.taskId }),
    query: s.options({
      limit: s.pageSize(1000, 10_000),
      after: s
        .wholeText(0, 10_000)
        .optional()
        .describe('The last `n` of the previous page. Default: the first page.'),
    }),
    statement: authorized(
      'read',
      queueOfTask,
      'p.parents',
      `${listed} as p cross join lateral (select where tock.queue_of_task(p_id => ${ownTask}) is not null) as known`,
      'own tasks',
    ),
    values: ({ params, query }) => [params.id, query.limit, query.after],
    answer: z.strictObject({ parents: z.array(parent) }),
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
  });
}
