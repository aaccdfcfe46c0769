import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, authorizedForTasks, ownTenant, scannedColumn } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const moved = z.strictObject({
  id: s.id,
  state: s.taskState.describe('The state in which the call found the task.'),
  changed: s.flag.describe('Whether this call moved the task.'),
});

const filter = {
  state: s
    .word('waiting', 'ready', 'running')
    .nullish()
    .describe('Only tasks in this state. Default: waiting and ready tasks.'),
  tenant: s.text(200).nullish().describe('Only tasks of this tenant. Default: all tenants.'),
  cursor: s.cursor.nullish(),
  limit: s
    .whole(1, 10_000)
    .nullish()
    .describe('The maximum number of tasks that the call changes. Default: 1,000.'),
};

const changedPart = z.strictObject({
  matched: s.count.describe('The number of tasks that match the filter.'),
  changed: s.count.describe('The number of tasks that this call changed.'),
  cursor: s.nextCursor,
  scanned: s.count.describe('The number of rows that the call read.'),
});

const description =
  'A call changes up to `limit` tasks and reads up to 10,000 rows. Call again with `cursor` while the answer has one. Later calls leave out tasks that are newer than the first call.';
const returns = 'The number of tasks that matched and changed, and the cursor.';
const columns = `w.matched, w.changed, w.cursor, ${scannedColumn('w.scanned', 'w.matched')}`;
const filterArguments = `p_filter => jsonb_build_object('state', $3::text, 'tenant', ${ownTenant('$4')}), p_cursor => $5,
        p_limit => coalesce($6::integer, 1000)`;

/** Moves of tasks to another queue, and changes of many tasks by filter. */
export function moves(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/move',
    operationId: 'moveTasks',
    tag: 'Tasks',
    summary: 'Move up to 10,000 waiting and ready tasks to another queue',
    description:
      'A task keeps its id and goes to the end of the other queue. Some tasks stay, and `changed` is false: running and ended ones, and those with a concurrency key, a unique key or a pipeline. The key must allow both queues. The call is a 503 if a claim holds the stream of a ready task for two seconds.',
    returns: 'One row for each task. The answer leaves out unknown ids.',
    params: s.noParams,
    body: s.options({
      ids: s.list(s.id, 1).describe('The ids of the tasks.'),
      queue: s.queueName.describe('The queue that the tasks move to.'),
    }),
    needsBody: true,
    statement: authorizedForTasks(
      'enqueue',
      "coalesce(json_agg(v), '[]') as tasks",
      `(select m.id::text as id, m.state, m.changed from tock.move(p_ids => key.ids, p_queue => $3) as m
        where key.ids <> '{}' offset 0) as v`,
      '$3',
    ),
    values: ({ body }) => [body.ids, body.queue],
    answer: z.strictObject({ tasks: z.array(moved) }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/cancel',
    operationId: 'cancelTasksOfQueue',
    tag: 'Tasks',
    summary: 'Cancel tasks of a queue by state and tenant, one part at a time',
    description,
    returns,
    params: s.queueParams,
    body: s.options(filter),
    statement: authorized(
      'enqueue',
      '$2',
      columns,
      `tock.cancel_where(p_queue => $2, ${filterArguments}) as w`,
      'own tasks',
    ),
    values: ({ params, body: b }) => [params.queue, b.state, b.tenant, b.cursor, b.limit],
    answer: changedPart,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/reprioritize',
    operationId: 'reprioritizeTasksOfQueue',
    tag: 'Tasks',
    summary: 'Change the priority of tasks of a queue by state and tenant, one part at a time',
    description,
    returns,
    params: s.queueParams,
    body: s.options({
      priority: s.priority.describe('The new priority. Workers claim 0 first and 9 last.'),
      ...filter,
    }),
    needsBody: true,
    statement: authorized(
      'enqueue',
      '$2',
      columns,
      `tock.reprioritize_where(p_queue => $2, ${filterArguments}, p_priority => $7::integer) as w`,
      'own tasks',
    ),
    values: ({ params, body: b }) => {
      return [params.queue, b.state, b.tenant, b.cursor, b.limit, b.priority];
    },
    answer: changedPart,
  });
}
