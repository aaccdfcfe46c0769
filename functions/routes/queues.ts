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
    lease_seconds: s.leaseSeconds.describe(
      'The duration of a lease, if the claim names none. Default: 60.',
    ),
    max_attempts: s
      .whole(1, 1000)
      .describe('A task is dead after this many failed attempts. Default: 10.'),
    max_lost: s.whole(1, 1000).describe('A task is dead after this many lost runs. Default: 10.'),
    backoff_kind: s.backoff.shape.kind.describe(
      'How the wait grows. After the n-th failure it is base (`fixed`), base × n (`linear`) or base × factor^(n-1) (`exponential`). Default: `exponential`.',
    ),
    backoff_base_seconds: s.backoff.shape.base_seconds.describe(
      'The wait after the first failure. Default: 5.',
    ),
    backoff_factor: s.backoff.shape.factor.describe(
      'The factor from one wait to the next, if the kind is `exponential`. Default: 2.',
    ),
    backoff_cap_seconds: s.backoff.shape.cap_seconds.describe('The longest wait. Default: 3,600.'),
    backoff_jitter: s.backoff.shape.jitter.describe(
      'Each wait is shorter by a random share of up to this. Default: 0.2.',
    ),
    lanes: s
      .whole(1, 64)
      .describe(
        'The number of shares of the queue, which claims take in random order. Default: 8.',
      ),
    max_payload_bytes: s
      .whole(1024, 4_194_304)
      .describe('The size of the largest payload, as JSON. Default: 262,144.'),
    paused: s.flag.describe('A paused queue accepts tasks, and claims get none. Default: false.'),
    retention_seconds: s.retentionSeconds.describe(
      'How long an ended task can be read. Default: 604,800, seven days.',
    ),
    pause_after_restore: s.flag.describe(
      'Whether the queue is paused after a restore of the database. Default: false.',
    ),
    timeout_seconds: s
      .orNull(s.timeoutSeconds)
      .describe('A run fails after this time, if its task has no limit. Default: null, no limit.'),
    max_wait_seconds: s
      .orNull(s.whole(1, 315_360_000))
      .describe(
        'A task expires this long after it is due, if it has no expiry. Default: null, never.',
      ),
    concurrency_limit: s
      .whole(1, 1000)
      .describe('The maximum number of holders of a concurrency key. Default: 1.'),
    concurrency_retry: s
      .word('keep', 'yield')
      .describe(
        'Whether a failed task stays a holder (`keep`) or goes to the end of the wait list (`yield`). Default: `keep`.',
      ),
    concurrency_rate_limit: s
      .orNull(s.whole(1, 1_000_000))
      .describe(
        'The maximum number of admissions of a concurrency key in the period. Default: null, no limit.',
      ),
    concurrency_rate_seconds: s.whole(1, 86_400).describe('The period of that rate. Default: 1.'),
    concurrency_rate_burst: s
      .orNull(s.whole(1, 1_000_000))
      .describe(
        'The maximum number of admissions at once. Default: null, as `concurrency_rate_limit`.',
      ),
    max_running: s
      .orNull(s.whole(1, 10_000))
      .describe('The maximum number of running tasks. Default: null, no limit.'),
    rate_limit: s
      .orNull(s.whole(1, 1_000_000))
      .describe('The maximum number of starts in the period. Default: null, no limit.'),
    rate_seconds: s.whole(1, 86_400).describe('The period of that rate. Default: 1.'),
    rate_burst: s
      .orNull(s.whole(1, 1_000_000))
      .describe('The maximum number of starts at once. Default: null, as `rate_limit`.'),
    keep_results: s.flag.describe('Whether the database stores results. Default: true.'),
    push: s
      .orNull(s.push.partial())
      .describe('The endpoint that Tock sends the tasks to. Default: null, workers claim them.'),
    dead_webhook: s
      .orNull(s.webhook)
      .describe('The endpoint that Tock notifies of dead tasks. Default: null, none.'),
  })
  .openapi('Policy');
const row = policy.extend({ name: s.queueOrDefault, created_at: s.moment });

const stats = {
  ready: s.count,
  running: s.count,
  waiting: s.count.describe('The number of waiting tasks, up to a million.'),
  dead: s.count,
  oldest_ready_at: s.moment.nullable().describe('Since when the oldest ready task is ready.'),
  waiting_for: z
    .strictObject({
      time: s.count.describe('Tasks that wait for their time, or for their backoff.'),
      concurrency_key: s.count.describe('Tasks that wait for admission by a concurrency key.'),
      dependency: s.count.describe('Tasks that depend on others.'),
      child: s.count.describe('For a child of a step.'),
      event: s.count.describe('For an event.'),
    })
    .nullable()
    .describe('The waiting tasks by what they wait for. Null for `*`.'),
};

const policyColumns = Object.keys(row.shape)
  .map((name) => `q.${name}`)
  .join(', ');
// The queue * has no tasks, so the database returns no counts for it.
const countColumns = ['ready', 'running', 'waiting', 'dead'].map(
  (n) => `coalesce(s.${n}, 0) as ${n}`,
);
const statsColumns = [...countColumns, 's.oldest_ready_at', 's.waiting_for'].join(', ');

const params = z.strictObject({
  queue: s.queueOrDefault.describe('The name of the queue, or `*` for the defaults of new queues.'),
});
const unsigned = 'this Worker pushes nothing: TOCK_PUSH_SECRET is not set';
const secretHint = 'set one: openssl rand -base64 32 | wrangler secret put TOCK_PUSH_SECRET';

/** /v1/queues and /v1/queues/:queue; the queue * is the default policy of new queues. */
export function queues(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'put',
    path: '/v1/queues/{queue}',
    operationId: 'putQueue',
    tag: 'Queues',
    summary: 'Create a queue, or change its policy',
    description: 'Omitted settings stay. A new queue takes them from `*`.',
    returns: 'The policy after the call.',
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
    operationId: 'getQueue',
    tag: 'Queues',
    summary: 'Get the policy of a queue and its counts of tasks',
    returns: 'The queue.',
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
    operationId: 'listQueues',
    tag: 'Queues',
    summary: 'List all queues with their counts of tasks',
    returns: 'The queues, by name.',
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
