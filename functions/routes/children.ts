import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, ownTask, queueOfTask } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const child = z.strictObject({ id: s.id, queue: s.queueName, state: s.taskState });

/**
 * A key for some queues or tenants gets those that it may read among the next 1,000. If there are none, its cursor is a
 * number after them that is no id.
 */
const listed = `(with asked as materialized (
    select coalesce($3::integer, 100) as count, case when tock.queues_of_key(p_key => $1) is null
      and tock.tenants_of_key(p_key => $1) is null then coalesce($3::integer, 100) else 1000 end as read),
  page as materialized (
    select l.id, l.queue, l.state from asked as a, tock.children(p_id => ${ownTask}, p_limit => a.read,
      p_after => coalesce($4::bigint, 0)) as l),
  readable as materialized (
    select p.*, row_number() over (order by p.id) as n from page as p
    join unnest(tock.readable(p_key => $1, p_ids => array(select i.id from page as i))) as r (id) on r.id = p.id)
  select coalesce(json_agg(json_build_object('id', r.id::text, 'queue', r.queue, 'state', r.state)
      order by r.id), '[]') as children,
    case when (select count(*) from page) = (select a.read from asked as a)
      or (select count(*) from readable) > count(*)
      then coalesce(max(r.id), (select ((max(p.id) >> 20) + 1 << 20) - 1 from page as p))::text end as cursor
  from readable as r where r.n <= (select a.count from asked as a))`;

/** GET /v1/tasks/:id/children */
export function children(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks/{id}/children',
    operationId: 'listChildren',
    tag: 'Tasks',
    summary: 'List the tasks that depend on a task or are parts of it',
    description:
      'These are the tasks that name it in `depends_on` or as their `parent`, as spawned tasks do. The answer leaves out children that the key may not read, and those whose history is gone.',
    returns: 'The children, in the order of their ids.',
    params: z.strictObject({ id: s.taskId }),
    query: s.options({
      limit: s.pageSize(100),
      cursor: s.id
        .optional()
        .describe('The `cursor` of the previous page. Default: the first page.'),
    }),
    statement: authorized(
      'read',
      queueOfTask,
      'c.children, c.cursor',
      `${listed} as c cross join lateral (select where tock.queue_of_task(p_id => ${ownTask}) is not null) as known`,
      'own tasks',
    ),
    values: ({ params, query }) => [params.id, query.limit, query.cursor],
    answer: z.strictObject({
      children: z.array(child),
      cursor: s.id.nullable().describe('For the next page. Null on the last.'),
    }),
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
  });
}
