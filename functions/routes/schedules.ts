import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, authorizedForAll, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { checkTarget } from '../push/guard.ts';

const settings = s.options({
  queue: s.queueName,
  payload: s.anything.optional(),
  options: z.record(z.string(), z.unknown(), { error: 'an object' }).nullish().openapi({
    description: 'Options of its tasks, as in enqueue: priority, tenant, …',
  }),
  cron: s.text(500).nullish().openapi({ example: '0 3 * * MON-FRI' }),
  every_seconds: s.whole(1, 315_360_000).nullish(),
  run_at: s.instant.nullish(),
  time_zone: s.text(100).nullish().openapi({ example: 'Europe/Berlin' }),
  jitter_seconds: s.whole(0, 86_400).nullish(),
  starts_at: s.instant.nullish(),
  ends_at: s.instant.nullish(),
  overlap: s.word('queue', 'skip', 'replace').nullish(),
  missed: s.word('one', 'skip', 'all').nullish(),
  missed_limit: s.whole(1, 1000).nullish(),
  missed_after_seconds: s.whole(0, 86_400).nullish(),
  fire_as: s.text(100).nullish(),
});

const moment = s.moment.nullable();
const text = z.string().nullable();
const listed = z.strictObject({
  name: s.scheduleName,
  state: z.enum(['active', 'paused', 'over']),
  queue: s.queueName,
  cron: text,
  every_seconds: z.int().nullable(),
  run_at: moment,
  time_zone: z.string(),
  next_fire_at: moment,
  due_at: moment,
  last_fire_at: moment,
  last_fired_at: moment,
  last_outcome: text,
  last_task_id: s.id.nullable(),
  last_error: text,
  failures: s.count,
});
const scheduleAnswer = listed.extend({
  payload: s.anything,
  options: z.record(z.string(), z.unknown()),
  jitter_seconds: s.count,
  starts_at: moment,
  ends_at: moment,
  overlap: z.string(),
  missed: z.string(),
  missed_limit: s.count,
  missed_after_seconds: s.count,
  fire_as: text,
  paused_at: moment,
  created_at: s.moment,
  updated_at: s.moment,
});
const fire = z.strictObject({
  number: s.id,
  fire_at: s.moment,
  until_at: moment,
  fired_at: s.moment,
  outcome: z.enum(['fired', 'run', 'overlapped', 'replaced', 'missed', 'failed']),
  task_id: s.id.nullable(),
  error: text,
});
const next = z.strictObject({ fire_at: s.moment, local_time: z.string() });

const selectColumns = (row: z.ZodObject) =>
  Object.keys(row.shape)
    .map((name) => (name === 'last_task_id' ? 'v.last_task_id::text' : `v.${name}`))
    .join(', ');

const path = '/v1/schedules/{schedule}';
const params = z.strictObject({ schedule: s.scheduleName });
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
    summary: 'Create a schedule, or replace its settings; omitted settings take their defaults',
    description:
      'Exactly one of cron, every_seconds and run_at sets the time. The next fire stays unless the timing changes; a repeated call changes nothing.',
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
    summary: 'A schedule: its settings, its next fire and the result of the last one',
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
    summary: 'List schedules by name, of all queues or one',
    description: 'For the next page, set after to the last name.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional(),
      after: s.text(200).optional(),
      limit: s.wholeText(1, 1000).optional(),
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
    summary: 'Delete a schedule; tasks that it has enqueued stay',
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

  for (const [verb, summary] of [
    ['pause', 'Pause a schedule until it is resumed'],
    ['resume', 'Resume a schedule at its next fire; fires during the pause do not count as missed'],
  ] as const) {
    serve(app, connect, {
      method: 'post',
      path: `${path}/${verb}`,
      summary,
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
    summary: 'Fire a schedule now, even a paused one; its next fire stays',
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
    summary: "List a schedule's fires of the last seven days with their results, newest first",
    description: 'For the next page, set before to the last number.',
    params,
    query: s.options({ limit: s.wholeText(1, 1000).optional(), before: s.id.optional() }),
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
    summary: 'The next fires of a schedule; for a paused one, as if it were resumed',
    params,
    query: s.options({ count: s.wholeText(1, 1000).optional(), after: s.instant.optional() }),
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
    summary: 'The next fires of a cron expression',
    params: s.noParams,
    query: s.options({
      cron: s.text(500),
      time_zone: s.text(100).optional(),
      count: s.wholeText(1, 1000).optional(),
      after: s.instant.optional(),
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
