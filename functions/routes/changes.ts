import { z } from '@hono/zod-openapi';
import { openStore } from '../archive/open_store.ts';
import { readMissing } from '../archive/read_missing.ts';
import type { Connect } from '../database/types.ts';
import { authorizedForTasks } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const path = '/v1/tasks/{id}';
const eraseArchived =
  'select tock.http_erase_archived(p_key => $1, p_id => $2, p_rows => $3::jsonb, p_scanned => $4::bigint[]) as body';
const params = z.strictObject({ id: s.id });

const changesBody = s
  .options({
    priority: s.priority.optional(),
    delay_seconds: s.seconds.optional(),
    run_at: s.instant.optional(),
    payload: s.anything.optional(),
  })
  .refine(...s.oneTime)
  .refine((body) => Object.keys(body).length > 0, {
    error: 'give at least one of priority, delay_seconds or run_at, payload',
    // This check runs only without other issues, such as an unknown option.
    when: ({ issues }) => issues.length === 0,
  })
  .openapi('Changes');

const changed = z.strictObject({
  id: s.id,
  state: s.taskState.openapi({
    description: 'The state at the time of the call; after a cancel, cancelled.',
  }),
  changed: s.flag.openapi({
    description: 'For a running task, true means that its worker is notified.',
  }),
});

const columns = 'v.id, v.state, v.changed';
const rows = (verb: string) =>
  `(select v.id::text as id, v.state, v.changed from ${verb} as v where key.ids <> '{}' offset 0) as v`;
const cancelled = rows('tock.cancel(p_ids => key.ids)');
const notFound = {
  status: 404,
  detail: 'There is no task with this id.',
  hint: 'Use an id that enqueue returned.',
} as const;

/** The 409 for a task that has already ended. */
function alreadyEnded(...states: string[]) {
  return (body: string) => {
    const { id, state } = JSON.parse(body) as z.output<typeof changed>;
    if (!states.includes(state)) return null;
    return {
      detail: `This task has ended: it is ${state}.`,
      field: 'id',
      hint: `GET /v1/tasks/${id} returns its history while the queue's retention keeps it; POST /v1/tasks/${id}/rerun runs it again.`,
    };
  };
}

/**
 * Changes and cancellations of tasks. A running task takes a change at its next attempt; its worker learns of a cancel
 * when it extends.
 */
export function changes(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'patch',
    path,
    summary: "Change a task's priority, time or payload; for a running task from its next attempt",
    params,
    body: changesBody,
    needsBody: true,
    statement: authorizedForTasks(
      'enqueue',
      columns,
      rows('tock.change(p_ids => key.ids, p_changes => $3::jsonb)'),
    ),
    values: ({ params, text }) => [[params.id], text],
    answer: changed,
    none: notFound,
    conflict: alreadyEnded('done', 'dead', 'cancelled', 'expired'),
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/cancel`,
    summary: 'Cancel a task; the worker of a running task is notified when it extends the lease',
    params,
    body: s.options({}),
    statement: authorizedForTasks('enqueue', columns, cancelled),
    values: ({ params }) => [[params.id]],
    answer: changed,
    none: notFound,
    conflict: alreadyEnded('done', 'dead', 'expired'),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/cancel',
    summary: 'Cancel up to 10,000 tasks; unknown ids are left out of the answer',
    params: s.noParams,
    body: s.options({ ids: s.list(s.id, 1) }),
    needsBody: true,
    statement: authorizedForTasks('enqueue', "coalesce(json_agg(v), '[]') as tasks", cancelled),
    values: ({ body }) => [body.ids],
    answer: z.strictObject({ tasks: z.array(changed) }),
  });

  serve(app, connect, {
    method: 'delete',
    path: `${path}/payload`,
    summary: "Permanently erase an ended task's payload, results and errors of all its runs",
    params,
    statement: authorizedForTasks(
      'admin',
      'e.erased',
      '(select r.erased from tock.erase(p_id => key.ids[1]) as r (erased) where r.erased is not null) as e',
    ),
    values: ({ params }) => [[params.id]],
    // Runs that only the archive has are read from there, because they name the task's queue and tenant.
    further: async (body, { params, env }, run) => {
      const store = body === null ? openStore(env) : null;
      if (!store) return body;
      const eraseWith = (rows: string, scanned: string[]) =>
        run(eraseArchived, [params.id, rows, scanned]);
      return readMissing(await eraseWith('[]', []), store, eraseWith);
    },
    answer: z.strictObject({ erased: s.count }),
    none: notFound,
  });
}
