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

const states = [
  'ready',
  'running',
  'waiting',
  'done',
  'dead',
  'cancelled',
  'expired',
  'gone',
] as const;

/** The rows of a list of parents that the key may read. */
const readable = (list: string) =>
  `${list} as p join unnest(tock.readable(p_key => $1, p_ids => array(select i.id from ${list} as i))) as r (id) on r.id = p.id`;

// For a limited key the limit counts the parents that it may read, wherever they stand in the list.
const listed = `(with page as materialized (
    select l.n, l.id, l.name, l.state, l.result
    from tock.parents(p_id => ${ownTask}, p_limit => case
      when coalesce(tock.tenants_of_key(p_key => $1), tock.queues_of_key(p_key => $1)) is null
      then coalesce($3::integer, 1000) else 10000 end, p_after => coalesce($4::integer, 0),
      p_state => $5, p_results => coalesce($6::boolean, true)) as l),
  every as materialized (
    select l.id, l.state from tock.parents(p_id => ${ownTask}, p_limit => 10000, p_results => false) as l
    where $4::integer is null),
  counts as (select p.state, count(*) as parents from ${readable('every')} group by p.state)
  select coalesce(json_agg(json_build_object('n', p.n, 'id', p.id::text, 'name', p.name, 'state', p.state,
    'result', p.result) order by p.n), '[]') as parents,
    (select json_object_agg(c.state, c.parents) from counts as c) as counts
  from (select p.* from ${readable('page')} order by p.n limit coalesce($3::integer, 1000)) as p)`;

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
      state: z.enum(states).optional().describe('Only parents in this state. Default: all.'),
      results: s.flagText.optional().describe('Whether to include the results. Default: true.'),
    }),
    statement: authorized(
      'read',
      queueOfTask,
      'p.parents, p.counts',
      `${listed} as p cross join lateral (select where tock.queue_of_task(p_id => ${ownTask}) is not null) as known`,
      'own tasks',
    ),
    values: ({ params, query }) => [
      params.id,
      query.limit,
      query.after,
      query.state,
      query.results,
    ],
    answer: z.strictObject({
      parents: z.array(parent),
      counts: z
        .record(z.string(), s.count)
        .nullable()
        .describe('How many parents are in each state; only on the first page.'),
    }),
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
  });
}
