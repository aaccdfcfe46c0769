import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, authorizedForTasks, lookedAt, ownTenant } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const moved = z.strictObject({ id: s.id, state: s.taskState, changed: s.flag });

const filter = {
  state: s.word('waiting', 'ready', 'running').nullish(),
  tenant: s.text(200).nullish(),
  cursor: s.cursor.nullish(),
  limit: s.whole(1, 10_000).nullish(),
};

const part = z.strictObject({
  matched: s.count,
  changed: s.count,
  cursor: s.nextCursor,
  scanned: s.count,
});

const goOn =
  'Up to `limit` a call, of up to 10,000 looked at: go on while there is a cursor. Without `state` those that wait or are ready.';
const columns = `w.matched, w.changed, w.cursor, ${lookedAt('w.scanned', 'w.matched')}`;
const where = `p_filter => jsonb_build_object('state', $3::text, 'tenant', ${ownTenant('$4')}), p_cursor => $5,
        p_limit => coalesce($6::integer, 1000)`;

/** Tasks go to another queue; many are changed or cancelled by what they are. */
export function moves(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/tasks/move',
    summary: 'Move up to 10,000 waiting and ready tasks to another queue',
    description:
      'A task keeps its id. Running and ended ones, and those with a concurrency key or a unique key, stay: `changed` is false.',
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
    summary: 'Cancel tasks of a queue by state and tenant, a part at a time',
    description: goOn,
    params: s.queueParams,
    body: s.options(filter),
    statement: authorized(
      'enqueue',
      '$2',
      columns,
      `tock.cancel_where(p_queue => $2, ${where}) as w`,
      'own tasks',
    ),
    values: ({ params, body: b }) => [params.queue, b.state, b.tenant, b.cursor, b.limit],
    answer: part,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/reprioritize',
    summary: 'Give tasks of a queue another priority by state and tenant, a part at a time',
    description: goOn,
    params: s.queueParams,
    body: s.options({ priority: s.priority, ...filter }),
    needsBody: true,
    statement: authorized(
      'enqueue',
      '$2',
      columns,
      `tock.reprioritize_where(p_queue => $2, ${where}, p_priority => $7::integer) as w`,
      'own tasks',
    ),
    values: ({ params, body: b }) => {
      return [params.queue, b.state, b.tenant, b.cursor, b.limit, b.priority];
    },
    answer: part,
  });
}
