import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue, ownTenant, scannedColumn } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const listed = z.strictObject({
  id: s.id,
  run_id: s.id.describe('The newest run. A waiting task has the id of its waiting entry.'),
  queue: s.queueName,
  state: s.taskState,
  priority: s.count,
  tenant: z.string().nullable(),
  attempt: s.count.describe(
    'The number of the newest attempt, from 1. A waiting task shows its next attempt.',
  ),
  created_at: s.moment,
  run_at: s.moment.nullable().describe('When a waiting task is due.'),
  started_at: s.moment.nullable().describe('When the newest run was claimed.'),
  ended_at: s.moment.nullable(),
  worker: z.string().nullable().describe('The worker of the newest run.'),
  error: z.string().nullable().describe('The first 200 characters of the error of a dead task.'),
  preview: z
    .string()
    .nullable()
    .describe('The first 200 characters of the payload as JSON; null for one over 16 KiB.'),
  rerun: s.flag.describe('Whether the task has a rerun.'),
  cancel_requested: s.flag.describe('Whether a running task has been asked to stop.'),
  waiting_for: z
    .enum(['time', 'concurrency_key', 'dependency', 'child', 'event'])
    .nullable()
    .describe('What a waiting task waits for.'),
  concurrency_key: z.string().nullable().describe('The concurrency key of the task.'),
  parents: s.count
    .nullish()
    .describe('How many tasks it depends on. Only with `waiting_for=dependency`.'),
  parent_counts: z
    .record(z.string(), s.count)
    .nullish()
    .describe(
      'How many of them are in each state. Only with `waiting_for=dependency`; null beyond the bound of a call.',
    ),
});

/** A search by unique key finds tasks of all queues. This keeps those of queues that the API key allows. */
const tasksInAllowedQueues = `case when $9::text is null then t.tasks else coalesce((
    select jsonb_agg(x.task) from jsonb_array_elements(t.tasks) as x (task)
    where k.queues is null or x.task ->> 'queue' = any (k.queues)), '[]') end as tasks`;

/** Adds the counts of parents to tasks that wait for others. */
const withParents = `case when $14::text is distinct from 'dependency' then l.tasks else coalesce((
    select jsonb_agg(x.task || jsonb_build_object('parents', c.parents, 'parent_counts', c.counts) order by x.n)
    from jsonb_array_elements(l.tasks) with ordinality as x (task, n)
    left join tock.parent_counts(p_key => $1, p_ids => array(
      select (i.task ->> 'id')::bigint from jsonb_array_elements(l.tasks) as i (task))) as c
      on c.id = (x.task ->> 'id')::bigint), '[]') end as tasks`;

const groups = `coalesce(json_agg(json_build_object('error', g.error, 'tasks', g.tasks, 'newest_at', g.newest_at,
  'newest_id', g.newest_id::text)) filter (where g.tasks > 0), '[]') as groups,
  coalesce(bool_and(g.counted_all), true) as counted_all`;

/** A list of tasks has their states, so two bounded lists give the counts that their reader finds. */
const ended = `(select
    json_agg(json_build_object('state', n.state, 'tasks', n.tasks, 'counted_all', n.counted_all)) as states
  from tock.tasks(p_filter => jsonb_build_object('queue', $2::text, 'state', 'done'), p_limit => 1000) as d
  cross join tock.tasks(p_filter => jsonb_build_object('queue', $2::text), p_limit => 1000) as t
  cross join lateral (
    select 'done' as state, jsonb_array_length(d.tasks) as tasks, d.cursor is null as counted_all
    union all
    select s.state, count(x.task), t.cursor is null from unnest('{cancelled,expired}'::text[]) as s (state)
    left join jsonb_array_elements(t.tasks) as x (task) on x.task ->> 'state' = s.state
    group by s.state) as n) as e`;

/** GET /v1/tasks, the counts of a queue's ended tasks, and its dead tasks by error. */
export function listing(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks',
    operationId: 'listTasks',
    tag: 'Tasks',
    summary: 'List tasks of one or all queues, newest first, one page at a time',
    description:
      'The list shows each task by its newest run, or by its waiting entry. A call reads about 10,000 rows, so a page may be empty. Call again with `cursor` while the answer has one. Without `queue` the call reads the 2,000 streams that were used last. A key for some queues must name a queue. With `waiting_for=dependency` each task also has the number of its parents in each state. A call looks at up to 10,000 parents, those of tasks with few parents first, and at 2,000 for a key of some queues or tenants.',
    returns: 'Tasks with a preview of their payloads, and the cursor.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional().describe('Only tasks of this queue. Default: all queues.'),
      state: s.taskState.optional().describe('Only tasks in this state. Default: all states.'),
      tenant: s.text(200).optional().describe('Only tasks of this tenant. Default: all tenants.'),
      error: s
        .text(200)
        .optional()
        .describe('Only dead tasks with this error, as the list shows it.'),
      worker: s.text(200).optional().describe('Only tasks whose newest run this worker claimed.'),
      rerun: s.flagText
        .optional()
        .describe('Only tasks with a rerun (true) or without one (false). Default: both.'),
      from: s.instant.optional().describe('Only tasks created at this instant or later.'),
      to: s.instant.optional().describe('Only tasks created before this instant.'),
      unique_key: s
        .text(500)
        .optional()
        .describe('Only tasks with this unique key. It needs `queue`. The answer is one page.'),
      concurrency_key: s
        .text(200)
        .optional()
        .describe(
          'Only tasks with this concurrency key. It needs `queue`. The answer is one page.',
        ),
      waiting_for: s
        .word('time', 'concurrency_key', 'dependency', 'child', 'event')
        .optional()
        .describe(
          'Only tasks that wait for this: a time is also that of a backoff, a child and an event are those of steps.',
        ),
      payload: s
        .text(2000)
        .optional()
        .describe(
          'Only tasks whose payload contains this JSON object, such as `{"customer": 7}`. The call reads about 2,000 rows.',
        ),
      cursor: s.cursor.optional(),
      limit: s.pageSize(100),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      `${withParents}, t.cursor, ${scannedColumn('t.scanned', 'jsonb_array_length(t.tasks)')}`,
      `(select tock.queues_of_key(p_key => $1) as queues) as k cross join tock.tasks(p_filter => jsonb_build_object(
        'queue', $2::text, 'state', $3::text, 'tenant', ${ownTenant('$4')}, 'error', $5::text, 'worker', $6::text,
        'from', $7::text, 'to', $8::text, 'unique_key', $9::text, 'concurrency_key', $10::text, 'rerun', $13::boolean,
        'waiting_for', $14::text, 'payload', $15::text),
        p_cursor => $11, p_limit => coalesce($12::integer, 100)) as t
        cross join lateral (select ${tasksInAllowedQueues}) as l`,
      'own tasks',
    ),
    values: ({ query: q }) => [
      q.queue,
      q.state,
      q.tenant,
      q.error,
      q.worker,
      q.from,
      q.to,
      q.unique_key,
      q.concurrency_key,
      q.cursor,
      q.limit,
      q.rerun,
      q.waiting_for,
      q.payload,
    ],
    answer: z.strictObject({
      tasks: z.array(listed),
      cursor: s.nextCursor,
      scanned: s.count.describe('The number of rows that the call read.'),
    }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/ended',
    operationId: 'countEndedTasks',
    tag: 'Tasks',
    summary: 'Count the done, cancelled and expired tasks of a queue',
    description:
      'The call counts up to 1,000 done tasks, and the cancelled and expired ones among the newest 1,000 tasks of the queue.',
    returns: 'The counts. `counted_all` is false if there may be more.',
    params: s.queueParams,
    statement: authorized('read', '$2', 'e.states', ended),
    values: ({ params }) => [params.queue],
    answer: z.strictObject({
      states: z.array(
        z.strictObject({
          state: z.enum(['done', 'cancelled', 'expired']),
          tasks: s.count,
          counted_all: s.flag,
        }),
      ),
    }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/dead',
    operationId: 'listDeadTasks',
    tag: 'Tasks',
    summary: 'Group the dead tasks of a queue by error, most frequent first',
    description: 'The call reads the newest 100,000 dead tasks, and leaves out those with a rerun.',
    returns: 'The groups. `counted_all` is false if the queue has more dead tasks.',
    params: s.queueParams,
    query: s.options({ limit: s.pageSize(100) }),
    statement: authorized(
      'read',
      '$2',
      'd.groups, d.counted_all',
      `(select ${groups}
        from tock.dead_groups(p_queue => $2, p_limit => coalesce($3::integer, 100)) as g) as d`,
    ),
    values: ({ params, query }) => [params.queue, query.limit],
    answer: z.strictObject({
      groups: z.array(
        z.strictObject({
          error: z.string().nullable().describe('The first 200 characters of the error.'),
          tasks: s.count.describe('The number of dead tasks with this error.'),
          newest_at: s.moment.describe('When the newest of them died.'),
          newest_id: s.id.describe('The newest of them.'),
        }),
      ),
      counted_all: s.flag.describe('Whether the call read all dead tasks of the queue.'),
    }),
  });
}
