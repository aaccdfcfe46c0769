import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import { refusal } from '../http/problem.ts';
import * as s from '../http/schemas.ts';
import { checkTarget } from '../push/guard.ts';
import { masterSecrets } from '../push/secret.ts';

const policy = s
  .options({
    lease_seconds: s.leaseSeconds,
    max_attempts: s.whole(1, 1000),
    max_lost: s.whole(1, 1000),
    backoff_kind: s.backoff.shape.kind,
    backoff_base_seconds: s.backoff.shape.base_seconds,
    backoff_factor: s.backoff.shape.factor,
    backoff_cap_seconds: s.backoff.shape.cap_seconds,
    backoff_jitter: s.backoff.shape.jitter,
    lanes: s.whole(1, 64),
    max_payload_bytes: s.whole(1024, 4_194_304),
    paused: s.flag,
    retention_seconds: s.retentionSeconds,
    pause_after_restore: s.flag,
    timeout_seconds: s.orNull(s.timeoutSeconds),
    max_wait_seconds: s.orNull(s.whole(1, 315_360_000)),
    concurrency_limit: s.whole(1, 1000),
    concurrency_retry: s.word('keep', 'yield'),
    concurrency_rate_limit: s.orNull(s.whole(1, 1_000_000)),
    concurrency_rate_seconds: s.whole(1, 86_400),
    concurrency_rate_burst: s.orNull(s.whole(1, 1_000_000)),
    max_running: s.orNull(s.whole(1, 10_000)),
    rate_limit: s.orNull(s.whole(1, 1_000_000)),
    rate_seconds: s.whole(1, 86_400),
    rate_burst: s.orNull(s.whole(1, 1_000_000)),
    keep_results: s.flag,
    push: s.orNull(s.push.partial()),
    dead_webhook: s.orNull(s.webhook),
  })
  .openapi('Policy');
const row = policy.extend({ name: s.queueOrDefault, created_at: s.moment });

const stats = {
  ready: s.count,
  running: s.count,
  waiting: s.count,
  dead: s.count,
  oldest_ready_at: s.moment.nullable(),
};

const policyColumns = Object.keys(row.shape)
  .map((name) => `q.${name}`)
  .join(', ');
// The queue * has no tasks, so the database returns no counts for it.
const countColumns = ['ready', 'running', 'waiting', 'dead'].map(
  (n) => `coalesce(s.${n}, 0) as ${n}`,
);
const statsColumns = [...countColumns, 's.oldest_ready_at'].join(', ');

const params = z.strictObject({ queue: s.queueOrDefault });
const unsigned = 'this Worker pushes nothing: TOCK_PUSH_SECRET is not set';
const secretHint = 'set one: openssl rand -base64 32 | wrangler secret put TOCK_PUSH_SECRET';

/** /v1/queues and /v1/queues/:queue; the queue * is the default policy of new queues. */
export function queues(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'put',
    path: '/v1/queues/{queue}',
    summary: 'Create a queue, or change the options given',
    params,
    body: policy.partial(),
    statement: authorized(
      'admin',
      '$2',
      policyColumns,
      'tock.put_queue(p_queue => $2, p_policy => $3::jsonb) as q',
    ),
    values: ({ params, text }) => [params.queue, text],
    check({ body }, env) {
      for (const name of ['push', 'dead_webhook'] as const) {
        checkTarget(`${name}.url`, body[name]?.url, env);
        if (!body[name] || masterSecrets(env).length > 0) continue;
        throw refusal(422, `${name}: ${unsigned}`, { field: name, hint: secretHint });
      }
    },
    answer: row,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}',
    summary: "A queue's policy and its counts of tasks",
    params,
    statement: authorized(
      'read',
      '$2',
      `${policyColumns}, ${statsColumns}`,
      'tock.queue(p_queue => $2) as q left join tock.queue_stats(p_queue => $2) as s on true',
    ),
    values: ({ params }) => [params.queue],
    answer: row.extend(stats),
    none: {
      status: 404,
      detail: 'There is no queue with this name.',
      hint: 'Enqueue a task to it, or PUT it.',
    },
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues',
    summary: 'List all queues with their counts of tasks',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      "coalesce(json_agg(q order by q.name), '[]') as queues",
      `(select s.queue as name, s.paused, ${statsColumns} from tock.queue_stats() as s) as q`,
    ),
    values: () => [],
    answer: z.strictObject({
      queues: z.array(z.strictObject({ name: s.queueName, paused: s.flag, ...stats })),
    }),
  });
}
