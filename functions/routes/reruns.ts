import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import {
  authorizedForBoth,
  authorizedForTasks,
  lookedAt,
  ownRequestId,
  ownTenant,
} from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const request = { request_id: s.requestId.nullish(), reason: s.text(200).nullish() };

const rerun = z.strictObject({
  id: s.id,
  state: s.taskState.openapi({ description: 'As it was found.' }),
  rerun_id: s.id.nullable().openapi({ description: 'The new task.' }),
  refused: z.enum(['unfinished', 'erased']).nullable(),
});

const again = `(select r.id::text as id, r.state, r.rerun_id::text as rerun_id, r.refused
  from tock.rerun(p_ids => key.ids, p_request_id => ${ownRequestId('$3')}, p_reason => $4) as r where key.ids <> '{}' offset 0) as v`;

function refused(body: string) {
  const { id, state, refused: why } = JSON.parse(body) as z.output<typeof rerun>;
  if (why === null) return null;
  return {
    detail: why === 'erased' ? 'This task has been erased.' : `This task is ${state}.`,
    field: 'id',
    hint:
      why === 'erased'
        ? 'Nothing is left of what it was: enqueue another.'
        : `It can be run again once it has ended; GET /v1/tasks/${id} shows how it goes.`,
  };
}

/** Tasks that have ended run again, each as a new task. */
export function reruns(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/{id}/rerun',
    summary: 'Run an ended task again, as a new task',
    params: z.strictObject({ id: s.id }),
    body: s.options(request),
    repeatable: true,
    statement: authorizedForTasks('enqueue', 'v.id, v.state, v.rerun_id, v.refused', again),
    values: ({ params, body, requestId }) => [[params.id], requestId, body.reason],
    answer: rerun,
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue gave.',
    },
    conflict: refused,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/rerun',
    summary: 'Run up to 10,000 ended tasks again; ids that nobody knows are left out',
    params: s.noParams,
    body: s.options({ ids: s.list(s.id, 1), ...request }),
    needsBody: true,
    repeatable: true,
    statement: authorizedForTasks('enqueue', "coalesce(json_agg(v), '[]') as tasks", again),
    values: ({ body, requestId }) => [body.ids, requestId, body.reason],
    answer: z.strictObject({ tasks: z.array(rerun) }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/redrive',
    summary:
      'Run dead tasks of a queue again, all or those of an error or tenant, here or elsewhere',
    description:
      'Up to `limit` a call: go on while there is a cursor. Those that were run again before are left out, unless `again`.',
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
      `r.redriven, r.ids::text[] as ids, r.cursor, ${lookedAt('r.scanned', 'r.redriven')}`,
      `tock.redrive(p_queue => $2, p_filter => jsonb_build_object('error', $3::text, 'tenant', ${ownTenant('$4')}),
        p_limit => coalesce($5::integer, 1000), p_to_queue => $6::text, p_cursor => $7, p_request_id => ${ownRequestId('$8')},
        p_again => coalesce($9::boolean, false), p_reason => $10) as r`,
      'own tasks',
    ),
    values: ({ params, body: b, requestId }) => {
      const what = [b.error, b.tenant, b.limit, b.to_queue, b.cursor];
      return [params.queue, ...what, requestId, b.again, b.reason];
    },
    answer: z.strictObject({
      redriven: s.count,
      ids: z.array(s.id),
      cursor: s.nextCursor,
      scanned: s.count,
    }),
  });
}
