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

const request = { request_id: s.requestId.nullish(), reason: s.text(200).nullish() };

const rerun = z.strictObject({
  id: s.id,
  state: s.taskState.openapi({ description: 'The state at the time of the call.' }),
  rerun_id: s.id.nullable().openapi({ description: 'The new task.' }),
  refused: z.enum(['unfinished', 'erased']).nullable(),
});

const rerunRows = `(select r.id::text as id, r.state, r.rerun_id::text as rerun_id, r.refused
  from tock.rerun(p_ids => key.ids, p_request_id => ${ownRequestId('$3')}, p_reason => $4) as r where key.ids <> '{}' offset 0) as v`;

function refused(body: string) {
  const { id, state, refused: why } = JSON.parse(body) as z.output<typeof rerun>;
  if (why === null) return null;
  return {
    detail: why === 'erased' ? 'This task has been erased.' : `This task is ${state}.`,
    field: 'id',
    hint:
      why === 'erased'
        ? 'Its payload no longer exists: enqueue another task.'
        : `A task can be rerun once it has ended; GET /v1/tasks/${id} returns its state.`,
  };
}

/** Reruns of ended tasks, each as a new task. */
export function reruns(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/{id}/rerun',
    summary: 'Rerun an ended task as a new task',
    params: z.strictObject({ id: s.id }),
    body: s.options(request),
    repeatable: true,
    statement: authorizedForTasks('enqueue', 'v.id, v.state, v.rerun_id, v.refused', rerunRows),
    values: ({ params, body, requestId }) => [[params.id], requestId, body.reason],
    answer: rerun,
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
    conflict: refused,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/rerun',
    summary: 'Rerun up to 10,000 ended tasks; unknown ids are left out',
    params: s.noParams,
    body: s.options({ ids: s.list(s.id, 1), ...request }),
    needsBody: true,
    repeatable: true,
    statement: authorizedForTasks('enqueue', "coalesce(json_agg(v), '[]') as tasks", rerunRows),
    values: ({ body, requestId }) => [body.ids, requestId, body.reason],
    answer: z.strictObject({ tasks: z.array(rerun) }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/redrive',
    summary: 'Rerun dead tasks of a queue, all or by error or tenant, in this queue or another',
    description:
      'A call reruns up to `limit` tasks: continue while there is a cursor. Tasks that were rerun before are left out, unless `again` is true.',
    params: s.queueParams,
    body: s.options({
      error: s.text(200).nullish(),
      tenant: s.text(200).nullish(),
      limit: s.whole(1, 10_000).nullish(),
      cursor: s.cursor.nullish(),
      to_queue: s.queueName.nullish(),
      again: s.flag.nullish(),
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
      redriven: s.count,
      ids: z.array(s.id),
      cursor: s.nextCursor,
      scanned: s.count,
    }),
  });
}
