import { z } from '@hono/zod-openapi';
import * as s from '../http/schemas.ts';

export const settings = s.options({
  queue: s.queueName.describe('The queue of the tasks.'),
  payload: s.anything.optional().describe('The payload of the tasks, any JSON. Default: null.'),
  options: z
    .record(z.string(), z.unknown(), { error: 'an object' })
    .nullish()
    .describe(
      'The options of the tasks, as in an enqueue, without times and parents. Default: none.',
    ),
  cron: s
    .text(500)
    .nullish()
    .openapi({ example: '0 3 * * MON-FRI' })
    .describe(
      'A cron expression of five fields, or of six with the second first. @hourly, @daily, @weekly, @monthly and @yearly are allowed.',
    ),
  every_seconds: s
    .whole(1, 315_360_000)
    .nullish()
    .describe('The period. The first fire is at `starts_at`, or one period from now.'),
  run_at: s.instant.nullish().describe('The instant of the only fire.'),
  time_zone: s
    .text(100)
    .nullish()
    .openapi({ example: 'Europe/Berlin' })
    .describe('The time zone of `cron`, a name of the IANA database. Default: UTC.'),
  jitter_seconds: s
    .whole(0, 86_400)
    .nullish()
    .describe('Each fire is due up to this much later. Default: 0.'),
  starts_at: s.instant.nullish().describe('No fire is before this instant. Default: no limit.'),
  ends_at: s.instant.nullish().describe('No fire is at or after this instant. Default: no limit.'),
  overlap: s
    .word('queue', 'skip', 'replace')
    .nullish()
    .describe(
      'What a fire does while the last task has not ended: add one more task, skip the fire, or cancel the last task. Default: `queue`.',
    ),
  missed: s
    .word('one', 'skip', 'all')
    .nullish()
    .describe(
      'What becomes of missed fires: only the last one fires, none fires, or the oldest `missed_limit` fire. Default: `one`.',
    ),
  missed_limit: s
    .whole(1, 1000)
    .nullish()
    .describe('The maximum number of missed fires that fire with `all`. Default: 100.'),
  missed_after_seconds: s
    .whole(0, 86_400)
    .nullish()
    .describe('A fire that is later than this is missed. Default: 60.'),
  fire_as: s
    .text(100)
    .nullish()
    .describe('The field of the payload that gets {schedule, fire_at}. Default: none.'),
});

const moment = s.moment.nullable();
const text = z.string().nullable();
export const listed = z.strictObject({
  name: s.scheduleName,
  state: z.enum(['active', 'paused', 'over']).describe('A schedule is `over` after its last fire.'),
  queue: s.queueName,
  cron: text,
  every_seconds: z.int().nullable(),
  run_at: moment,
  time_zone: z.string(),
  next_fire_at: moment.describe('The next fire.'),
  due_at: moment.describe('When the next fire is due, with its jitter.'),
  last_fire_at: moment.describe('The time of the last fire.'),
  last_fired_at: moment.describe('When the last fire happened.'),
  last_outcome: text.describe('The outcome of the last fire.'),
  last_task_id: s.id.nullable().describe('The task of the last fire that enqueued one.'),
  last_error: text.describe('The error of the last try to fire. Null after a success.'),
  failures: s.count.describe('The number of tries that failed since the last success.'),
});
export const scheduleAnswer = listed
  .extend({
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
  })
  .openapi('Schedule');
export const fire = z.strictObject({
  number: s.id.describe('The number of the fire, for `before`.'),
  fire_at: s.moment.describe('The time of the fire.'),
  until_at: moment.describe('Several missed fires are one row, from `fire_at` to before this.'),
  fired_at: s.moment.describe('When the fire happened.'),
  outcome: z
    .enum(['fired', 'run', 'overlapped', 'replaced', 'missed', 'failed'])
    .describe(
      '`fired` enqueued a task. `run` did so on demand. `overlapped` was skipped, because the last task had not ended. `replaced` gave way to a later fire that was due too. `missed` was too late. `failed` enqueued no task.',
    ),
  task_id: s.id.nullable().describe('The task of the fire.'),
  error: text.describe('Why the fire failed.'),
});
export const next = z.strictObject({
  fire_at: s.moment,
  local_time: z.string().describe('The same time in the time zone of the expression.'),
});
