import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const settings = s.options({
  concurrency_limit: s.orNull(s.whole(1, 1000)),
  concurrency_rate_limit: s.orNull(s.whole(1, 1_000_000)),
  concurrency_rate_seconds: s.orNull(s.whole(1, 86_400)),
  concurrency_rate_burst: s.orNull(s.whole(1, 1_000_000)),
  paused: s.flag,
});
const concurrency_key = settings.extend({
  concurrency_key: z.string(),
  holders: z.array(s.id),
  waiting: s.count,
});

const columns = `g.concurrency_key, g.paused, g.concurrency_limit, g.concurrency_rate_limit, g.concurrency_rate_seconds, g.concurrency_rate_burst,
  g.holders::text[], g.waiting`;
const list = '/v1/queues/{queue}/concurrency-keys';
const path = `${list}/{concurrency_key}`;
const params = z.strictObject({ queue: s.queueName, concurrency_key: s.text(200) });
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
    summary: "List a queue's concurrency keys, the first 1,000 by name",
    params: z.strictObject({ queue: s.queueName }),
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
    summary: 'A concurrency key: its holders and the number of waiters',
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
    summary:
      "Set a concurrency key's limit or rate, or pause it; null restores the queue's setting",
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
    answer: settings.extend({ concurrency_key: z.string() }),
  });

  serve(app, connect, {
    method: 'delete',
    path,
    summary:
      "Reset a concurrency key: the queue's settings, not paused, a full bucket; holders and waiters stay",
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
