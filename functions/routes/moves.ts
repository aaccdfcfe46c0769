import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, authorizedForTasks, ownTenant, scannedColumn } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const moved = z.strictObject({ id: s.id, state: s.taskState, changed: s.flag });

const filter = {
  state: s.word('waiting', 'ready', 'running').nullish(),
  tenant: s.text(200).nullish(),
  cursor: s.cursor.nullish(),
  limit: s.whole(1, 10_000).nullish(),
};

const changedPart = z.strictObject({
  matched: s.count,
  changed: s.count,
  cursor: s.nextCursor,
  scanned: s.count,
});

const description =
  'A call changes up to `limit` tasks and scans up to 10,000: continue while there is a cursor. Default for `state`: waiting and ready tasks.';
const columns = `w.matched, w.changed, w.cursor, ${scannedColumn('w.scanned', 'w.matched')}`;
const filterArguments = `p_filter => jsonb_build_object('state', $3::text, 'tenant', ${ownTenant('$4')}), p_cursor => $5,
        p_limit => coalesce($6::integer, 1000)`;

/** Moves of tasks to another queue, and changes of many tasks by filter. */
export function moves(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/move',
    summary: 'Move up to 10,000 waiting and ready tasks to another queue',
    description:
      'A task keeps its id. Running tasks, ended tasks and tasks with a concurrency key or a unique key stay: `changed` is false.',
    params: s.noParams,
    body: s.options({ ids: s.list(s.id, 1), queue: s.queueName }),
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
    summary: 'Cancel tasks of a queue by state and tenant, one part at a time',
    description,
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
    summary: "Change the priority of a queue's tasks by state and tenant, one part at a time",
    description,
    params: s.queueParams,
    body: s.options({ priority: s.priority, ...filter }),
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
