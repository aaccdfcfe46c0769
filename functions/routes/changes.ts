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

const wanted = s
  .options({
    priority: s.priority.optional(),
    delay_seconds: s.seconds.optional(),
    run_at: s.instant.optional(),
    payload: s.anything.optional(),
  })
  .refine(...s.oneTime)
  .refine((body) => Object.keys(body).length > 0, {
    error: 'name what to change: priority, delay_seconds or run_at, payload',
    // Options that are wrong or unknown have not come this far.
    when: ({ issues }) => issues.length === 0,
  })
  .openapi('Changes');

const changed = z.strictObject({
  id: s.id,
  state: s.taskState.openapi({ description: 'As it was found, or after a cancel: cancelled.' }),
  changed: s.flag.openapi({ description: 'Of a running task: its worker was asked.' }),
});

const columns = 'v.id, v.state, v.changed';
const rows = (verb: string) =>
  `(select v.id::text as id, v.state, v.changed from ${verb} as v where key.ids <> '{}' offset 0) as v`;
const cancelled = rows('tock.cancel(p_ids => key.ids)');
const none = {
  status: 404,
  detail: 'There is no task with this id.',
  hint: 'Use an id that enqueue gave.',
} as const;

/** Of an answer that says so itself: nothing was done, and nothing can be. */
function ended(...states: string[]) {
  return (body: string) => {
    const { id, state } = JSON.parse(body) as z.output<typeof changed>;
    if (!states.includes(state)) return null;
    return {
      detail: `This task has ended: it is ${state}.`,
      field: 'id',
      hint: `GET /v1/tasks/${id} shows how it went, while its queue's retention keeps it; POST /v1/tasks/${id}/rerun runs it again.`,
    };
  };
}

/** Changes of mind: what isn't running yet is changed or cancelled, of what runs its worker hears. */
export function changes(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'patch',
    path,
    summary: "Change a task's priority, time or payload; of a running one for its next attempt",
    params,
    body: wanted,
    needsBody: true,
    statement: authorizedForTasks(
      'enqueue',
      columns,
      rows('tock.change(p_ids => key.ids, p_changes => $3::jsonb)'),
    ),
    values: ({ params, text }) => [[params.id], text],
    answer: changed,
    none,
    conflict: ended('done', 'dead', 'cancelled', 'expired'),
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/cancel`,
    summary: 'Cancel a task; the worker of a running one hears of it when it extends',
    params,
    body: s.options({}),
    statement: authorizedForTasks('enqueue', columns, cancelled),
    values: ({ params }) => [[params.id]],
    answer: changed,
    none,
    conflict: ended('done', 'dead', 'expired'),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/cancel',
    summary: 'Cancel up to 10,000 tasks; ids that nobody knows are left out of the answer',
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
    summary: "Erase an ended task's payload, result and errors, of all its runs, for good",
    params,
    statement: authorizedForTasks(
      'admin',
      'e.erased',
      '(select r.erased from tock.erase(p_id => key.ids[1]) as r (erased) where r.erased is not null) as e',
    ),
    values: ({ params }) => [[params.id]],
    // What only the archive has is read there first, as it says whose it is.
    further: async (body, { params, env }, run) => {
      const store = body === null ? openStore(env) : null;
      if (!store) return body;
      const ask = (rows: string, looked: string[]) => run(eraseArchived, [params.id, rows, looked]);
      return readMissing(await ask('[]', []), store, ask);
    },
    answer: z.strictObject({ erased: s.count }),
    none,
  });
}
