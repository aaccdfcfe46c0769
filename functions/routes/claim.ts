import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { checked } from '../http/authorize.ts';
import { type App, type Endpoint, serve } from '../http/endpoint.ts';
import { poll } from '../http/poll.ts';
import * as s from '../http/schemas.ts';

const claimOptions = {
  worker: s.text(200).nullish(),
  limit: s.whole(1, 10_000).default(1),
  lease_seconds: s.leaseSeconds.nullish(),
  wait_seconds: s.waitSeconds.default(0),
  request_id: s.requestId.nullish(),
};

const run = z.strictObject({
  id: s.id,
  run_id: s.id,
  attempt: s.count,
  max_attempts: s.count,
  priority: s.count,
  tenant: z.string().nullable(),
  created_at: s.moment,
  payload: s.anything,
  headers: s.keptHeaders.nullable(),
  push_url: z.string().nullable(),
});

const states = z.enum(['found', 'empty', 'paused', 'limited', 'busy', 'passing']);

const claimState = {
  state: states.openapi({
    description:
      "limited: the queue's running or rate limit is reached; busy: other claims hold the streams that have tasks; passing: the claim skipped many cancelled tasks, claim again at once.",
  }),
  retry_after_seconds: s.count,
};

const queueOrWeighted = z.union(
  [s.queueName, s.options({ queue: s.queueName, weight: s.whole(1, 1000) })],
  {
    error: "a queue's name, or {queue, weight}",
  },
);

type QueueOrWeighted = z.output<typeof queueOrWeighted>;

const queueName = (queue: QueueOrWeighted) => (typeof queue === 'string' ? queue : queue.queue);
const queueWeight = (queue: QueueOrWeighted) => (typeof queue === 'string' ? 1 : queue.weight);

const queuesError = 'a list of 1 to 20 distinct queues';
const queues = z
  .array(queueOrWeighted, { error: queuesError })
  .min(1, { error: queuesError })
  .max(20, { error: queuesError })
  .refine((all) => new Set(all.map(queueName)).size === all.length, { error: queuesError })
  .openapi({
    description:
      'With names, the claim takes tasks from the first queue, then from the next while limit is not reached. With weights, each call draws the queue order by them.',
  });

const lease = z.strictObject({
  queue: s.queueName,
  lease: s.leaseToken,
  leased_until: s.moment,
  tasks: z.array(run),
});

/** Parses only an answer without tasks, because an answer with tasks may have megabytes. */
const stateOf = (body: string): z.output<typeof states> =>
  /^{"lease(":null|s":\[\]),/.test(body) ? JSON.parse(body).state : 'found';

const retryAfter = (body: string): number => JSON.parse(body).retry_after_seconds;

type WaitOptions = { wait_seconds: number };

/** The repeat function of a waiting claim; see poll(). */
const repeat: Endpoint<z.ZodObject, z.ZodType<WaitOptions>>['repeat'] = (
  once,
  { body, pollSlot, disconnected },
  maxPolls,
) =>
  poll(once, stateOf, {
    seconds: body.wait_seconds,
    most: maxPolls,
    secondsToAdmission: retryAfter,
    pollSlot,
    disconnected,
  });

const description =
  'A waiting claim polls every 20 ms, and less often while the database is slow or a rate limits the queue; over HTTPS to Neon at most 45 times.';

/** /v1/queues/:queue/claim and /v1/claim. The verb alone returns the runs; a join would read an older snapshot. */
export function claim(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/claim',
    share: 'claims',
    summary: 'Lease ready tasks, or wait for them up to wait_seconds',
    description,
    params: s.queueParams,
    body: s.options(claimOptions),
    repeatable: true,
    // The statement itself calls claim(), because p_own_transaction is not allowed inside another function.
    statement: checked(
      (check) => `select tock.http_claim(p_queue => $2, p_runs => array(
  select c from tock.claim(p_queue => $2, p_worker => $3, p_limit => $4, p_lease_seconds => $5,
    p_request_id => $6, p_own_transaction => true) as c)) as body
where ${check('claim', '$2')}`,
    ),
    values: ({ params, body, requestId }) => [
      params.queue,
      body.worker,
      body.limit,
      body.lease_seconds,
      requestId,
    ],
    repeat,
    answer: z.strictObject({
      lease: s.leaseToken.nullable(),
      leased_until: s.moment.nullable(),
      tasks: z.array(run),
      ...claimState,
    }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/claim-for-worker',
    share: 'claims',
    summary:
      "Lease one task for a worker, or return the worker's current task with an extended lease",
    params: s.queueParams,
    body: s.options({ worker: s.text(200), lease_seconds: s.leaseSeconds.nullish() }),
    needsBody: true,
    statement: checked(
      (check) => `select tock.http_claim(p_queue => $2, p_runs => array(
  select c from tock.claim_for_worker(p_queue => $2, p_worker => $3, p_lease_seconds => $4) as c)) as body
where ${check('claim', '$2')}`,
    ),
    values: ({ params, body }) => [params.queue, body.worker, body.lease_seconds],
    answer: z.strictObject({
      lease: s.leaseToken.nullable(),
      leased_until: s.moment.nullable(),
      tasks: z.array(run),
      ...claimState,
    }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/claim',
    share: 'claims',
    summary: 'Lease ready tasks of several queues, in order or by weight',
    description: `Each queue's tasks have their own lease. state is that of all queues together: found, or the most favourable state of any queue. ${description}`,
    params: s.noParams,
    body: s.options({ queues, ...claimOptions }),
    needsBody: true,
    repeatable: true,
    statement: checked(
      (check) => `select tock.http_claim_any(p_queues => $2, p_runs => array(
  select c from tock.claim_any(p_queues => $2::text[], p_weights => $3::integer[], p_worker => $4, p_limit => $5,
    p_lease_seconds => $6, p_request_id => $7, p_own_transaction => true) as c)) as body
where (select bool_and(${check('claim', 'q.name')})
  from unnest($2::text[]) as q (name))`,
    ),
    values: ({ body, requestId }) => [
      body.queues.map(queueName),
      body.queues.every((queue) => typeof queue === 'string') ? null : body.queues.map(queueWeight),
      body.worker,
      body.limit,
      body.lease_seconds,
      requestId,
    ],
    repeat,
    answer: z.strictObject({ leases: z.array(lease), ...claimState }),
  });
}
