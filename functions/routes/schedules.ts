import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, authorizedForAll, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { checkTarget } from '../push/guard.ts';
import { fire, listed, next, scheduleAnswer, settings } from './schedule_schemas.ts';

const nextQuery = {
  count: s.wholeText(1, 1000).optional().describe('The number of fires. Default: 5.'),
  after: s.instant.optional().describe('Only fires after this instant. Default: now.'),
};

const selectColumns = (row: z.ZodObject) =>
  Object.keys(row.shape)
    .map((name) => (name === 'last_task_id' ? 'v.last_task_id::text' : `v.${name}`))
    .join(', ');

const path = '/v1/schedules/{schedule}';
const params = z.strictObject({
  schedule: s.scheduleName.describe('The name of the schedule.'),
});
/** The queue of a schedule's tasks: a key limited to queues may use the schedules that fire into them. */
const itsQueue = 'tock.queue_of_schedule(p_schedule => $2)';
const notFound = {
  status: 404,
  detail: 'There is no schedule with this name.',
  hint: 'PUT it; GET /v1/schedules lists the schedules.',
} as const;

/** The queue of a schedule's tasks, now and before the change. */
const queuesOfPutSchedule = `select $3::jsonb ->> 'queue'
  union select ${itsQueue}
  union select jsonb_path_query($3::jsonb, '$.options.pipeline[*]') #>> '{}'`;

/** Schedules: tasks that are enqueued at set times. */
export function schedules(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'put',
    path,
    operationId: 'putSchedule',
    tag: 'Schedules',
    summary: 'Create a schedule, or replace its settings',
    description:
      'Exactly one of `cron`, `every_seconds` and `run_at` sets the time. Omitted settings take their defaults. The next fire stays unless the timing changes, so a repeated call changes nothing. The key must allow the queue of the schedule, also the one before the change.',
    returns: 'The schedule after the call.',
    params,
    body: settings,
    needsBody: true,
    check: ({ body }, env) => checkTarget('options.push_url', body.options?.push_url, env),
    statement: authorizedForAll(
      'admin',
      queuesOfPutSchedule,
      selectColumns(scheduleAnswer),
      'tock.put_schedule(p_schedule => $2, p_settings => $3::jsonb) as v',
    ),
    values: ({ params, text }) => [params.schedule, text],
    answer: scheduleAnswer,
  });

  serve(app, connect, {
    method: 'get',
    path,
    operationId: 'getSchedule',
    tag: 'Schedules',
    summary: 'Get a schedule with its next and its last fire',
    returns: 'The schedule.',
    params,
    statement: authorized(
      'read',
      itsQueue,
      selectColumns(scheduleAnswer),
      'tock.schedule(p_schedule => $2) as v',
    ),
    values: ({ params }) => [params.schedule],
    answer: scheduleAnswer,
    none: notFound,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/schedules',
    operationId: 'listSchedules',
    tag: 'Schedules',
    summary: 'List the schedules of all queues or one, by name',
    description:
      'For the next page, set `after` to the last name. A key for some queues must name a queue.',
    returns: 'The schedules.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional().describe('Only schedules of this queue. Default: all queues.'),
      after: s.text(200).optional().describe('Only later names. Default: the first page.'),
      limit: s.pageSize(100),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      "coalesce(json_agg(l order by l.name), '[]') as schedules",
      `(select ${selectColumns(listed)}
        from tock.schedules(p_queue => $2, p_after => $3, p_limit => coalesce($4::integer, 100)) as v) as l`,
    ),
    values: ({ query }) => [query.queue, query.after, query.limit],
    answer: z.strictObject({ schedules: z.array(listed) }),
  });

  serve(app, connect, {
    method: 'delete',
    path,
    operationId: 'deleteSchedule',
    tag: 'Schedules',
    summary: 'Delete a schedule',
    description: 'Tasks that the schedule has enqueued stay.',
    returns: '`dropped` is true.',
    params,
    statement: authorized(
      'admin',
      itsQueue,
      'd.dropped',
      '(select x.dropped from tock.drop_schedule(p_schedule => $2) as x (dropped) where x.dropped) as d',
    ),
    values: ({ params }) => [params.schedule],
    answer: z.strictObject({ dropped: s.flag }),
    none: notFound,
  });

  for (const [verb, summary, description] of [
    ['pause', 'Pause a schedule until a call resumes it', 'Tasks that are enqueued stay.'],
    [
      'resume',
      'Resume a paused schedule',
      'The next fire is the next one from now. Fires during the pause do not count as missed.',
    ],
  ] as const) {
    serve(app, connect, {
      method: 'post',
      path: `${path}/${verb}`,
      operationId: `${verb}Schedule`,
      tag: 'Schedules',
      summary,
      description,
      returns: 'The schedule after the call.',
      params,
      body: s.options({}),
      statement: authorized(
        'admin',
        itsQueue,
        selectColumns(scheduleAnswer),
        `tock.${verb}_schedule(p_schedule => $2) as v`,
      ),
      values: ({ params }) => [params.schedule],
      answer: scheduleAnswer,
      none: notFound,
    });
  }

  serve(app, connect, {
    method: 'post',
    path: `${path}/run`,
    operationId: 'runSchedule',
    tag: 'Schedules',
    summary: 'Fire a schedule now',
    description:
      'The call enqueues a task even if the schedule is paused or its last task has not ended. The next fire stays.',
    returns: 'The id of the task.',
    params,
    body: s.options({ request_id: s.requestId.nullish() }),
    repeatable: true,
    statement: authorized(
      'admin',
      itsQueue,
      'r.id::text as id',
      'tock.run_schedule(p_schedule => $2, p_request_id => $3) as r (id)',
    ),
    values: ({ params, requestId }) => [params.schedule, requestId],
    answer: z.strictObject({ id: s.id }),
    none: notFound,
  });

  serve(app, connect, {
    method: 'get',
    path: `${path}/fires`,
    operationId: 'listFires',
    tag: 'Schedules',
    summary: 'List the fires of a schedule in the last seven days, newest first',
    description: 'For the next page, set `before` to the last `number`.',
    returns: 'The fires with their outcomes.',
    params,
    query: s.options({
      limit: s.pageSize(20),
      before: s.id.optional().describe('Only fires with a lower number. Default: the newest.'),
    }),
    statement: authorized(
      'read',
      itsQueue,
      'f.fires',
      `tock.schedule(p_schedule => $2) as v cross join lateral (
        select coalesce(json_agg(n), '[]') as fires from (
          select o.number::text, o.fire_at, o.until_at, o.fired_at, o.outcome, o.task_id::text, o.error
          from tock.schedule_history(p_schedule => v.name, p_limit => coalesce($3::integer, 20), p_before => $4::bigint) as o) as n) as f`,
    ),
    values: ({ params, query }) => [params.schedule, query.limit, query.before],
    answer: z.strictObject({ fires: z.array(fire) }),
    none: notFound,
  });

  serve(app, connect, {
    method: 'get',
    path: `${path}/next`,
    operationId: 'listNextFires',
    tag: 'Schedules',
    summary: 'List the next fires of a schedule',
    description: 'A paused schedule has the fires that it would have without the pause.',
    returns: 'The next fires. The list is empty if there are none.',
    params,
    query: s.options(nextQuery),
    statement: authorized(
      'read',
      itsQueue,
      'f.fires',
      `tock.schedule(p_schedule => $2) as v cross join lateral (
        select coalesce(json_agg(n), '[]') as fires from (
          select o.fire_at, o.local_time from tock.next_fires(p_schedule => v.name,
            p_count => coalesce($3::integer, 5), p_after => $4::timestamptz) as o) as n) as f`,
    ),
    values: ({ params, query }) => [params.schedule, query.count, query.after],
    answer: z.strictObject({ fires: z.array(next) }),
    none: notFound,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/next-fires',
    operationId: 'listNextFiresOfCron',
    tag: 'Schedules',
    summary: 'List the next fires of a cron expression',
    returns: 'The next fires.',
    params: s.noParams,
    query: s.options({
      cron: s.text(500).describe('The cron expression.'),
      time_zone: s
        .text(100)
        .optional()
        .describe('A name of the IANA time zone database. Default: UTC.'),
      ...nextQuery,
    }),
    statement: authorized(
      'read',
      'null',
      "coalesce(json_agg(n), '[]') as fires",
      `(select o.fire_at, o.local_time from tock.next_fires(p_cron => $2, p_time_zone => $3,
          p_count => coalesce($4::integer, 5), p_after => $5::timestamptz) as o) as n`,
    ),
    values: ({ query }) => [query.cron, query.time_zone, query.count, query.after],
    answer: z.strictObject({ fires: z.array(next) }),
  });
}
