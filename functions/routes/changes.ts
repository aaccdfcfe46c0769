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
const params = z.strictObject({ id: s.taskId });

const changesBody = s
  .options({
    priority: s.priority.optional().describe('The new priority. Workers claim 0 first and 9 last.'),
    delay_seconds: s.seconds.optional().describe('The task is due after this time from now.'),
    run_at: s.instant.optional().describe('The task is due at this instant.'),
    payload: s.anything.optional().describe('The new payload, any JSON.'),
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
  state: s.taskState.describe(
    'The state in which the call found the task. A cancel returns `cancelled`, unless the task is running.',
  ),
  changed: s.flag.describe('Whether this call changed anything.'),
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
    operationId: 'changeTask',
    tag: 'Tasks',
    summary: 'Change the priority, time or payload of a task',
    description:
      'A running task takes the change at its next attempt. The call is a 503 if a claim holds the stream of a ready task for two seconds.',
    returns: 'The state in which the call found the task, and whether it changed the task.',
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
    refused: { 409: 'The task has ended.' },
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/cancel`,
    operationId: 'cancelTask',
    tag: 'Tasks',
    summary: 'Cancel a task',
    description:
      'A waiting or ready task never starts, unless a claim in progress takes it. The worker of a running task learns of the cancel when it extends the lease. A repeated call is no error.',
    returns: 'The state in which the call found the task, and whether it changed the task.',
    params,
    body: s.options({}),
    statement: authorizedForTasks('enqueue', columns, cancelled),
    values: ({ params }) => [[params.id]],
    answer: changed,
    none: notFound,
    conflict: alreadyEnded('done', 'dead', 'expired'),
    refused: { 409: 'The task is done, dead or expired.' },
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/cancel',
    operationId: 'cancelTasks',
    tag: 'Tasks',
    summary: 'Cancel up to 10,000 tasks',
    description: 'The call treats each task like POST /v1/tasks/{id}/cancel.',
    returns: 'One row for each task. The answer leaves out unknown ids.',
    params: s.noParams,
    body: s.options({ ids: s.list(s.id, 1).describe('The ids of the tasks.') }),
    needsBody: true,
    statement: authorizedForTasks('enqueue', "coalesce(json_agg(v), '[]') as tasks", cancelled),
    values: ({ body }) => [body.ids],
    answer: z.strictObject({ tasks: z.array(changed) }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/reprioritize',
    operationId: 'reprioritizeTasks',
    tag: 'Tasks',
    summary: 'Change the priority of up to 10,000 tasks',
    description:
      'A running task takes the change at its next attempt, and an ended one stays as it is. The call is a 503 if a claim holds the stream of a ready task for two seconds.',
    returns: 'One row for each task. The answer leaves out unknown ids.',
    params: s.noParams,
    body: s.options({
      ids: s.list(s.id, 1).describe('The ids of the tasks.'),
      priority: s.priority.describe('The new priority. Workers claim 0 first and 9 last.'),
    }),
    needsBody: true,
    statement: authorizedForTasks(
      'enqueue',
      "coalesce(json_agg(v), '[]') as tasks",
      rows('tock.reprioritize(p_ids => key.ids, p_priority => $3::integer)'),
    ),
    values: ({ body }) => [body.ids, body.priority],
    answer: z.strictObject({ tasks: z.array(changed) }),
  });

  serve(app, connect, {
    method: 'delete',
    path: `${path}/payload`,
    operationId: 'eraseTask',
    tag: 'Tasks',
    summary: 'Erase the data of an ended task for good',
    description:
      'The call erases its steps, and payload, results, errors, notes, unique key and concurrency key of all its runs. The next vacuum removes them from disk. The archive erases them in its next steps.',
    returns: 'The number of runs that the call erased.',
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
    answer: z.strictObject({ erased: s.count.describe('The number of runs.') }),
    none: notFound,
    refused: { 409: 'The task has not ended.' },
  });
}
