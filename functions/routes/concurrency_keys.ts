import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const settings = s.options({
  concurrency_limit: s
    .orNull(s.whole(1, 1000))
    .describe('The maximum number of holders. Null follows the queue.'),
  concurrency_rate_limit: s
    .orNull(s.whole(1, 1_000_000))
    .describe('The maximum number of admissions in the period. Null follows the queue.'),
  concurrency_rate_seconds: s
    .orNull(s.whole(1, 86_400))
    .describe('The period of the rate. Null follows the queue.'),
  concurrency_rate_burst: s
    .orNull(s.whole(1, 1_000_000))
    .describe('The maximum number of admissions at once. Null follows the queue.'),
  paused: s.flag.describe('A paused key admits no task.'),
});
const name = z.string().describe('The name of the concurrency key.');
const concurrency_key = settings.extend({
  concurrency_key: name,
  holders: z.array(s.id).describe('The admitted tasks that have not ended.'),
  waiting: s.count.describe('The number of waiters, up to 1,000.'),
  own_settings: z
    .array(settings.keyof().exclude(['paused']))
    .describe('The settings that the key has itself. The others are those of the queue.'),
});

const columns = `g.concurrency_key, g.paused, g.concurrency_limit, g.concurrency_rate_limit, g.concurrency_rate_seconds, g.concurrency_rate_burst,
  g.holders::text[], g.waiting, g.own_settings`;
const list = '/v1/queues/{queue}/concurrency-keys';
const path = `${list}/{concurrency_key}`;
const params = s.queueParams.extend({
  concurrency_key: s.text(200).describe('The name of the concurrency key.'),
});
const notFound = {
  status: 404,
  detail: 'There is no concurrency key with this name.',
  hint: 'A concurrency key is created when a task names it, or by PATCH.',
} as const;

/** Concurrency keys of a queue: holders, number of waiters, settings. */
export function concurrency_keys(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: list,
    operationId: 'listConcurrencyKeys',
    tag: 'Concurrency keys',
    summary: 'List the first 1,000 concurrency keys of a queue by name',
    description: 'The list has the keys that tasks have used, and those with settings.',
    returns: 'The concurrency keys with their settings, holders and numbers of waiters.',
    params: s.queueParams,
    statement: authorized(
      'read',
      '$2',
      "coalesce(json_agg(v order by v.concurrency_key), '[]') as concurrency_keys",
      `(select ${columns} from tock.concurrency_keys(p_queue => $2, p_limit => 1000) as g) as v`,
    ),
    values: ({ params }) => [params.queue],
    answer: z.strictObject({ concurrency_keys: z.array(concurrency_key) }),
  });

  serve(app, connect, {
    method: 'get',
    path,
    operationId: 'getConcurrencyKey',
    tag: 'Concurrency keys',
    summary: 'Get the settings, holders and number of waiters of a concurrency key',
    returns: 'The concurrency key.',
    params,
    statement: authorized(
      'read',
      '$2',
      columns,
      'tock.concurrency_keys(p_queue => $2, p_concurrency_key => $3) as g',
    ),
    values: ({ params }) => [params.queue, params.concurrency_key],
    answer: concurrency_key,
    none: notFound,
  });

  serve(app, connect, {
    method: 'patch',
    path,
    operationId: 'changeConcurrencyKey',
    tag: 'Concurrency keys',
    summary: 'Set the limit or the rate of a concurrency key, or pause it',
    description:
      'Omitted settings stay. The call creates a key that does not exist. Then it admits waiters as far as the limits allow.',
    returns: 'The settings after the call.',
    params,
    body: settings.partial(),
    needsBody: true,
    statement: authorized(
      'admin',
      '$2',
      'g.concurrency_key, g.paused, g.concurrency_limit, g.concurrency_rate_limit, g.concurrency_rate_seconds, g.concurrency_rate_burst',
      'tock.put_concurrency_key(p_queue => $2, p_concurrency_key => $3, p_settings => $4::jsonb) as g',
    ),
    values: ({ params, text }) => [params.queue, params.concurrency_key, text],
    answer: settings.extend({ concurrency_key: name }),
  });

  serve(app, connect, {
    method: 'delete',
    path,
    operationId: 'resetConcurrencyKey',
    tag: 'Concurrency keys',
    summary: 'Reset a concurrency key to the settings of its queue',
    description:
      'The key is not paused any more, and the bucket of its rate is full. Holders and waiters stay. Then the call admits waiters.',
    returns: '`reset` is true.',
    params,
    statement: authorized(
      'admin',
      '$2',
      'r.reset',
      '(select x.reset from tock.reset_concurrency_key(p_queue => $2, p_concurrency_key => $3) as x (reset) where x.reset) as r',
    ),
    values: ({ params }) => [params.queue, params.concurrency_key],
    answer: z.strictObject({ reset: s.flag }),
    none: notFound,
  });
}
