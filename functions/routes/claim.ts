import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { checked } from '../http/authorize.ts';
import { type App, type Endpoint, serve } from '../http/endpoint.ts';
import { poll } from '../http/poll.ts';
import * as s from '../http/schemas.ts';

const asked = {
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

const said = {
  state: states.openapi({
    description:
      'limited: as much is running, or was started, as the queue allows; busy: others hold what there is; passing: claim again at once, many cancelled were passed.',
  }),
  retry_after_seconds: s.count,
};

const someQueue = z.union(
  [s.queueName, s.options({ queue: s.queueName, weight: s.whole(1, 1000) })],
  {
    error: "a queue's name, or {queue, weight}",
  },
);

type SomeQueue = z.output<typeof someQueue>;

const nameOf = (one: SomeQueue) => (typeof one === 'string' ? one : one.queue);
const weightOf = (one: SomeQueue) => (typeof one === 'string' ? 1 : one.weight);

const queuesError = 'a list of 1 to 20 queues, each once';
const queues = z
  .array(someQueue, { error: queuesError })
  .min(1, { error: queuesError })
  .max(20, { error: queuesError })
  .refine((all) => new Set(all.map(nameOf)).size === all.length, { error: queuesError })
  .openapi({
    description:
      'Names: the first queue gives what it has, then the next what is left of limit. With weights each call draws the order by them.',
  });

const lease = z.strictObject({
  queue: s.queueName,
  lease: s.leaseToken,
  leased_until: s.moment,
  tasks: z.array(run),
});

/** Parses what found nothing only: the rest may be megabytes. */
const stateOf = (body: string): z.output<typeof states> =>
  /^{"lease(":null|s":\[\]),/.test(body) ? JSON.parse(body).state : 'found';

const laterOf = (body: string): number => JSON.parse(body).retry_after_seconds;

type Asked = { wait_seconds: number };

/** What a call that waits repeats; see poll(). */
const repeat: Endpoint<z.ZodObject, z.ZodType<Asked>>['repeat'] = (
  once,
  { body, look, gone },
  most,
) =>
  poll(once, stateOf, {
    seconds: body.wait_seconds,
    most,
    secondsToAdmission: laterOf,
    look,
    gone,
  });

const description =
  'A claim that waits looks every 20 ms, less often where the database is slow, or where the queue is limited by its rate; over HTTPS to Neon 45 times in all.';

/** /v1/queues/:queue/claim and /v1/claim. The runs come from the verb alone: a join would read an older snapshot. */
export function claim(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/claim',
    share: 'claims',
    summary: 'Lease what is ready, or wait for it up to wait_seconds',
    description,
    params: s.queueParams,
    body: s.options(asked),
    repeatable: true,
    // claim() stands in the statement itself: called from a function it isn't alone.
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
      ...said,
    }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/claim-for-worker',
    share: 'claims',
    summary: 'Lease one task for a worker, or the one that it has, with a later end',
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
      ...said,
    }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/claim',
    share: 'claims',
    summary: 'Lease what is ready in several queues, in order or by weight',
    description: `Each queue's tasks have a lease of their own. state is of all queues together: found, or the best that one of them said. ${description}`,
    params: s.noParams,
    body: s.options({ queues, ...asked }),
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
      body.queues.map(nameOf),
      body.queues.every((one) => typeof one === 'string') ? null : body.queues.map(weightOf),
      body.worker,
      body.limit,
      body.lease_seconds,
      requestId,
    ],
    repeat,
    answer: z.strictObject({ leases: z.array(lease), ...said }),
  });
}
