import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import type { Answer } from '../http/answer.ts';
import { checked, checkedInside } from '../http/authorize.ts';
import { type App, type Call, type Once, serve } from '../http/endpoint.ts';
import { poll } from '../http/poll.ts';
import * as s from '../http/schemas.ts';
import { endsOfBody } from '../nodes/claim.ts';
import { checkTargets } from '../push/guard.ts';
import { queueChange } from '../waiting/hub.ts';
import { failure, result } from './outcome_schemas.ts';
import { claimedSteps } from './steps.ts';

const claimOptions = {
  worker: s.text(200).nullish().describe('The name of the worker, for lists and history.'),
  limit: s
    .whole(1, 10_000)
    .default(1)
    .describe(
      'The maximum number of tasks. A claim may return fewer, because it limits the size of the payloads.',
    ),
  lease_seconds: s.leaseSeconds.nullish(),
  wait_seconds: s.waitSeconds
    .default(0)
    .describe('How many seconds the claim waits for a task, if none is ready.'),
  request_id: s.requestId
    .nullish()
    .describe(
      'The request id. A repeated claim with it returns the same tasks while their lease is open, and a 409 after that.',
    ),
};

const ends = s
  .list(
    s.options({
      lease: s.leaseToken,
      results: s.list(result, 1).optional().describe('The runs to complete.'),
      failures: s.list(failure, 1).optional().describe('The runs to fail.'),
    }),
    1,
  )
  .max(1000)
  .describe(
    'Leases of earlier claims, to end before this claim. With the lease alone, all runs that are left are completed.',
  );

const ended = z.strictObject({
  lease: s.leaseToken,
  completed: s.count,
  failed: s.count,
  dead: s.count.describe('How many tasks of the failed runs are dead.'),
  refused: z
    .array(s.id)
    .describe('The ids that the call left alone: not in this lease, or ended otherwise.'),
  lost: z.boolean().describe('True if the lease had ended before. Discard the work.'),
});

const run = z.strictObject({
  id: s.id.describe('The id of the task.'),
  run_id: s.id.describe('The id of this run of the task.'),
  attempt: s.count.describe('The number of the attempt, from 1.'),
  max_attempts: s.count,
  priority: s.count,
  tenant: z.string().nullable(),
  created_at: s.moment.describe('When the task was enqueued.'),
  payload: s.anything,
  headers: s.keptHeaders.nullable().describe('The headers of the task, such as traceparent.'),
  push_url: z.string().nullable().describe('The endpoint of the task, in a queue with push.'),
  steps: claimedSteps,
});

const states = z.enum(['found', 'empty', 'paused', 'limited', 'busy', 'passing']);

const claimState = {
  state: states.describe(
    'What the claim found. `found`: tasks. `empty`: no ready task. `paused`: the queue is paused. `limited`: the queue has reached a limit. `busy`: other claims hold the streams that have tasks. `passing`: the claim skipped 10,000 cancelled tasks; claim again at once.',
  ),
  retry_after_seconds: s.count.describe('When the next claim may find a task: 0 to claim at once.'),
};

const queueOrWeighted = z.union(
  [
    s.queueName,
    s.options({
      queue: s.queueName,
      weight: s.whole(1, 1000).describe('The share of the queue, relative to the other weights.'),
    }),
  ],
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
  .describe(
    'The queues, by name or with weights. With names the claim takes all tasks of the first queue, then those of the next, up to `limit`. With weights each call draws the order of the queues.',
  );

const lease = z.strictObject({
  queue: s.queueName,
  lease: s.leaseToken.describe('The token of the lease.'),
  leased_until: s.moment.describe('The deadline of the lease.'),
  tasks: z.array(run),
});
const oneLease = z.strictObject({
  lease: s.leaseToken.nullable().describe('The token of the lease. Null without a task.'),
  leased_until: s.moment.nullable().describe('The deadline of the lease. Null without a task.'),
  tasks: z.array(run),
  ...claimState,
});
const oneLeaseAndEnded = oneLease.extend({
  ended: z
    .array(ended)
    .optional()
    .describe('What happened to each lease of `ends`, in the same order.'),
});
const refused = { 409: 'The lease of the claim with this request id has ended.' };

/** Parses only an answer without tasks, because an answer with tasks may have megabytes. */
const stateOf = (body: string): z.output<typeof states> =>
  /^{"lease(":null|s":\[\]),/.test(body) ? JSON.parse(body).state : 'found';

const retryAfter = (body: string): number => JSON.parse(body).retry_after_seconds;

type WaitOptions = { wait_seconds: number };

/**
 * A waiting claim ends its leases in the first statement only, and others are told of it then. `ended` moves from the
 * answer of that statement into the last one.
 */
async function endOnce(
  once: Once,
  { body, announce }: { body: { ends?: unknown }; announce(): void },
  claim: () => Promise<Answer>,
): Promise<Answer> {
  const first = await once();
  if (!first || stateOf(first.body) === 'found') return first;
  announce();
  const { ended } = JSON.parse(first.body);
  body.ends = undefined;
  const answer = await claim();
  if (!answer) return first;
  return { ...answer, body: `${answer.body.slice(0, -1)},"ended":${JSON.stringify(ended)}}` };
}

/** Repeats a waiting claim; see poll(). */
function waitForTask(
  once: Once,
  {
    body,
    requestId,
    isFirstTry,
    pollSlot,
    disconnected,
    changes,
  }: Omit<Call<object, WaitOptions>, 'params' | 'query'>,
  queues: readonly string[],
  maxPolls?: number,
): Promise<Answer> {
  return poll(once, stateOf, {
    seconds: body.wait_seconds,
    most: maxPolls,
    secondsToAdmission: retryAfter,
    pollSlot,
    disconnected,
    changes: changes(queues.map(queueChange), JSON.stringify(queues)),
    isRepeatable: requestId !== null && !isFirstTry,
  });
}

const description =
  'With the Durable Object bound, an enqueue over HTTP wakes a waiting claim. Otherwise the claim polls every 20 ms. It polls less often while the database is slow, or while a rate limits the queue. Over HTTPS to Neon it polls at most 45 times. With the header `Tock-First-Try: true` the caller says that it has sent no call with this request id before; then a waiting claim need not look for the tasks of an earlier one.';

/** /v1/queues/:queue/claim and /v1/claim. The verb alone returns the runs; a join would read an older snapshot. */
export function claim(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/claim',
    share: 'claims',
    operationId: 'claimTasks',
    tag: 'Workers',
    summary: 'Lease ready tasks of a queue, or wait for them',
    description: `With \`ends\` the call first ends leases of earlier claims, in the same transaction. So a worker needs one call for each task. While other claims hold the tasks, such a call returns none. ${description}`,
    returns: 'The tasks under one lease. A claim that finds no task is no error: `state` says why.',
    params: s.queueParams,
    body: s.options({ ...claimOptions, ends: ends.optional() }),
    repeatable: true,
    check({ body }, env) {
      for (const [n, { results = [] }] of (body.ends ?? []).entries()) {
        for (const [m, { spawn }] of results.entries()) {
          checkTargets(`ends[${n}].results[${m}].spawn.tasks`, spawn?.tasks ?? [], env);
        }
      }
    },
    statement: checkedInside(
      'claim',
      `select tock.http_claim(p_key => $1, p_queue => $2, p_worker => $3, p_limit => $4, p_lease_seconds => $5,
  p_request_id => $6, p_ends => ${endsOfBody}) as body`,
      `select tock.claim_body(p_queue => $2, p_runs => n.claimed, p_ended => n.ended) as body
from tock.next(p_queue => $2, p_ends => ${endsOfBody}, p_worker => $3, p_limit => $4, p_lease_seconds => $5,
  p_request_id => $6, p_own_transaction => true) as n`,
    ),
    // The text, because numbers of a result keep their digits there.
    values: ({ params, body, requestId, text }) => [
      params.queue,
      body.worker,
      body.limit,
      body.lease_seconds,
      requestId,
      body.ends ? text : null,
    ],
    repeat(once, call, maxPolls) {
      const { body } = call;
      const queues = [call.params.queue];
      if (!body.ends) return waitForTask(once, call, queues, maxPolls);
      if (body.wait_seconds === 0) return once();
      return endOnce(once, call, () => waitForTask(once, call, queues, maxPolls && maxPolls - 1));
    },
    changes: ({ body }) => (body.ends ? null : []),
    foundNothing: (body) => stateOf(body) !== 'found',
    refused,
    answer: oneLeaseAndEnded,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/claim-for-worker',
    share: 'claims',
    operationId: 'claimTaskForWorker',
    tag: 'Workers',
    summary: 'Lease one task for a worker, or return its present task',
    description:
      'While the last lease of the worker is open, the call returns the same task with a later deadline. So a worker has one task of the queue at a time.',
    returns: 'One task and its lease, or no task and the `state` that says why.',
    params: s.queueParams,
    body: s.options({
      worker: s.text(200).describe('The name of the worker. It identifies the worker.'),
      lease_seconds: s.leaseSeconds.nullish(),
    }),
    needsBody: true,
    statement: checked(
      (check) => `select tock.claim_body(p_queue => $2, p_runs => array(
  select c from tock.claim_for_worker(p_queue => $2, p_worker => $3, p_lease_seconds => $4) as c),
  p_ended => null) as body
where ${check('claim', '$2')}`,
    ),
    values: ({ params, body }) => [params.queue, body.worker, body.lease_seconds],
    changes: () => [],
    foundNothing: (body) => stateOf(body) !== 'found',
    answer: oneLease,
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/claim',
    share: 'claims',
    operationId: 'claimTasksOfQueues',
    tag: 'Workers',
    summary: 'Lease ready tasks of several queues, in order or by weight',
    description: `The tasks of each queue have a lease of their own. Without a task, \`state\` is the best state of the queues: passing, busy, empty, limited, paused, in this order. The key must allow all queues. ${description}`,
    returns: 'One lease for each queue with tasks. A claim that finds no task is no error.',
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
    repeat: (once, call, maxPolls) =>
      waitForTask(once, call, call.body.queues.map(queueName), maxPolls),
    changes: () => [],
    foundNothing: (body) => stateOf(body) !== 'found',
    refused,
    answer: z.strictObject({ leases: z.array(lease), ...claimState }),
  });
}
