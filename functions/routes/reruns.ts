import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import {
  authorizedForBoth,
  authorizedForTasks,
  ownRequestId,
  ownTenant,
  scannedColumn,
} from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const request = {
  request_id: s.requestId.nullish(),
  reason: s.text(200).nullish().describe('Why the tasks run again. The old task shows it.'),
};
const from_step = s
  .text(200)
  .nullish()
  .describe(
    'The new task has the steps that were saved before this one. It is for one task. Default: no steps.',
  );
const again = s.flag
  .nullish()
  .describe('Whether tasks that have a rerun already run again too. Default: true.');

const rerun = z.strictObject({
  id: s.id,
  state: s.taskState.describe('The state in which the call found the task.'),
  rerun_id: s.id.nullable().describe('The id of the new task.'),
  refused: z
    .enum(['unfinished', 'erased', 'rerun'])
    .nullable()
    .describe(
      'Why there is no new task: the old one has not ended, its payload was erased, or (with `again: false`) it has a rerun already.',
    ),
});

const rerunRows = `(select r.id::text as id, r.state, r.rerun_id::text as rerun_id, r.refused
  from tock.rerun(p_ids => key.ids, p_request_id => ${ownRequestId('$3')}, p_reason => $4,
    p_again => coalesce($5::boolean, true), p_from_step => $6) as r where key.ids <> '{}' offset 0) as v`;

function refused(body: string) {
  const { id, state, refused: why } = JSON.parse(body) as z.output<typeof rerun>;
  if (why === null) return null;
  const read = `GET /v1/tasks/${id} returns`;
  const [detail, hint] = {
    erased: ['This task has been erased.', 'Its payload no longer exists: enqueue another task.'],
    rerun: [
      'This task has a rerun already.',
      `${read} it. Leave out again: false to rerun it once more.`,
    ],
    unfinished: [
      `This task is ${state}.`,
      `A task can be rerun once it has ended; ${read} its state.`,
    ],
  }[why] as [string, string];
  return { detail, field: 'id', hint };
}

/** Reruns of ended tasks, each as a new task. */
export function reruns(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/{id}/rerun',
    operationId: 'rerunTask',
    tag: 'Tasks',
    summary: 'Rerun an ended task as a new task',
    description:
      'The new task has the last payload, priority, tenant, `max_attempts` and options of the old one. It has no unique key, and no expiry that has passed.',
    returns: 'The state of the old task, and the id of the new one.',
    params: z.strictObject({ id: s.taskId }),
    body: s.options({ again, from_step, ...request }),
    repeatable: true,
    statement: authorizedForTasks('enqueue', 'v.id, v.state, v.rerun_id, v.refused', rerunRows),
    values: ({ params, body, requestId }) => [
      [params.id],
      requestId,
      body.reason,
      body.again,
      body.from_step,
    ],
    answer: rerun,
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
    conflict: refused,
    refused: { 409: 'The task has not ended, its payload was erased, or it has a rerun already.' },
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/rerun',
    operationId: 'rerunTasks',
    tag: 'Tasks',
    summary: 'Rerun up to 10,000 ended tasks, each as a new task',
    description: 'The call treats each task like POST /v1/tasks/{id}/rerun.',
    returns: 'One row for each task. The answer leaves out unknown ids.',
    params: s.noParams,
    body: s.options({
      ids: s.list(s.id, 1).describe('The ids of the tasks.'),
      again,
      from_step,
      ...request,
    }),
    needsBody: true,
    repeatable: true,
    statement: authorizedForTasks('enqueue', "coalesce(json_agg(v), '[]') as tasks", rerunRows),
    values: ({ body, requestId }) => [body.ids, requestId, body.reason, body.again, body.from_step],
    answer: z.strictObject({ tasks: z.array(rerun) }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/redrive',
    operationId: 'redriveQueue',
    tag: 'Tasks',
    summary: 'Rerun dead tasks of a queue, one part at a time',
    description:
      'A call reruns up to `limit` tasks and reads up to 10,000 rows. Call again with `cursor` while the answer has one. Later calls leave out tasks that died after the first call. The key must allow both queues.',
    returns: 'The ids of the new tasks, and the cursor.',
    params: s.queueParams,
    body: s.options({
      error: s
        .text(200)
        .nullish()
        .describe('Only tasks with this error, as GET /v1/queues/{queue}/dead shows it.'),
      tenant: s.text(200).nullish().describe('Only tasks of this tenant. Default: all tenants.'),
      limit: s
        .whole(1, 10_000)
        .nullish()
        .describe('The maximum number of tasks that the call reruns. Default: 1,000.'),
      cursor: s.cursor.nullish(),
      to_queue: s.queueName
        .nullish()
        .describe('The queue of the new tasks. Default: the queue of the dead ones.'),
      again: s.flag
        .nullish()
        .describe('Also rerun tasks that have a rerun already. Default: false.'),
      ...request,
    }),
    repeatable: true,
    statement: authorizedForBoth(
      'enqueue',
      ['$2', 'coalesce($6, $2)'],
      `r.redriven, r.ids::text[] as ids, r.cursor, ${scannedColumn('r.scanned', 'r.redriven')}`,
      `tock.redrive(p_queue => $2, p_filter => jsonb_build_object('error', $3::text, 'tenant', ${ownTenant('$4')}),
        p_limit => coalesce($5::integer, 1000), p_to_queue => $6::text, p_cursor => $7, p_request_id => ${ownRequestId('$8')},
        p_again => coalesce($9::boolean, false), p_reason => $10) as r`,
      'own tasks',
    ),
    values: ({ params, body: b, requestId }) => {
      const options = [b.error, b.tenant, b.limit, b.to_queue, b.cursor];
      return [params.queue, ...options, requestId, b.again, b.reason];
    },
    answer: z.strictObject({
      redriven: s.count.describe('The number of new tasks.'),
      ids: z.array(s.id).describe('The ids of the new tasks.'),
      cursor: s.nextCursor,
      scanned: s.count.describe('The number of rows that the call read.'),
    }),
  });
}
