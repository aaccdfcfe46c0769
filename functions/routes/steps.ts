import { z } from '@hono/zod-openapi';
import { forLeaseCalls } from '../database/connect.ts';
import type { Connect } from '../database/types.ts';
import { authorized, authorizedForAll, ownTask, queueOfTask } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { id } from './outcome_schemas.ts';

const name = s.text(200).describe('The name of the step. A task has one outcome for each name.');
const event = s
  .text(200)
  .describe(
    'The name of the event, such as orders/17/approved. A key for some queues needs the part before the first slash as a queue.',
  );
const years = s.number(0, 315_360_000);

const newStep = s.options({
  id,
  name,
  result: s.anything.optional().describe('What the step returned: it is done.'),
  error: s.anything.optional().describe('What the step threw.'),
  retry_in_seconds: years
    .optional()
    .describe('With `error`: the run ends, and the step is tried again after this time.'),
  sleep_seconds: years.optional().describe('The task sleeps: its run ends.'),
  sleep_until: s.instant.optional().describe('The task sleeps until this time.'),
  event: event.optional(),
  timeout_seconds: years
    .optional()
    .describe('With `event`: how long the task waits. Default: ten years.'),
  keep_concurrency_key: s.flag
    .optional()
    .describe('Whether a task that sleeps or waits keeps its concurrency key. Default: false.'),
});

const state = z
  .enum(['done', 'failed', 'timed_out', 'retrying', 'waiting'])
  .describe(
    '`done`, `failed` and `timed_out` are final. With `retrying` and `waiting` the run has ended; the task continues at `due_at`.',
  );
const outcome = {
  result: s.anything.describe('The first result that was saved.'),
  error: s.anything.describe('The error of a step that failed, or is tried again.'),
  due_at: s.moment.nullable().describe('When the task continues.'),
};

const savedStep = z
  .strictObject({
    name: z.string(),
    kind: z.enum(['step', 'sleep', 'event']),
    state,
    ...outcome,
    event: z.string().nullable().describe('The event for which the task waits, or did.'),
    failures: s.count.describe('The number of failed attempts of a step with its own retries.'),
  })
  .openapi('Step');

export const claimedSteps = z
  .array(savedStep)
  .nullable()
  .describe(
    'The saved steps of a task that slept or waited for an event. Null for other tasks, and above 512 KiB.',
  );

const upTo1000 = 'a list of 1 to 1000 items';
const params = z.strictObject({
  lease: s.leaseToken.describe('The token of the lease, as the claim returned it.'),
});
const ended = {
  status: 409,
  detail:
    'This lease does not have these runs any more: they have ended, or another worker has them.',
  hint: 'Discard the work and claim again.',
} as const;

/** Steps of tasks, and events for which tasks wait. */
export function steps(app: App, connect: Connect): void {
  const leaseConnect: Connect = (env, use) => connect(forLeaseCalls(env ?? {}), use);

  serve(app, leaseConnect, {
    method: 'post',
    path: '/v1/leases/{lease}/steps',
    share: 'ends',
    operationId: 'saveSteps',
    tag: 'Workers',
    summary: 'Save what the handlers of runs have done, or let their tasks sleep or wait',
    description:
      'Each step has one of `result`, `error`, `sleep_seconds`, `sleep_until` and `event`. A step that has ended keeps its first outcome, so the call can be repeated. If a step sleeps, waits or is to be tried again, its run ends and counts no attempt.',
    returns: 'The outcome of each step, in the same order.',
    params,
    body: s.options({
      steps: s.list(newStep, 1, upTo1000).max(1000, upTo1000).describe('The steps to save.'),
    }),
    batchKeys: ['steps'],
    needsBody: true,
    statement: authorizedForAll(
      'claim',
      `select tock.queue_of_lease(p_lease => $2::uuid)
  union select split_part(e.step ->> 'event', '/', 1)
  from jsonb_array_elements($3::jsonb -> 'steps') as e (step) where e.step ->> 'event' is not null`,
      'v.steps',
      `(select json_agg(json_build_object('id', d.id::text, 'name', d.name, 'state', d.state, 'result', d.result,
    'error', d.error, 'due_at', d.due_at, 'cancel_requested', d.cancel_requested) order by d.n) as steps
  from rows from (tock.save_steps(p_lease => $2::uuid, p_steps => $3::jsonb -> 'steps'))
    with ordinality as d (id, name, state, result, error, due_at, cancel_requested, n)
  having bool_or(d.state <> 'lost')) as v`,
    ),
    values: ({ params, text }) => [params.lease, text],
    none: ended,
    answer: z.strictObject({
      steps: z.array(
        z.strictObject({
          id: s.id,
          name: z.string(),
          state: z
            .enum([...state.options, 'lost'])
            .describe('`lost`: the lease has this run no longer, and nothing was saved.'),
          ...outcome,
          cancel_requested: z.boolean().describe('The worker stops work on the task.'),
        }),
      ),
    }),
  });

  serve(app, leaseConnect, {
    method: 'get',
    path: '/v1/leases/{lease}/steps',
    share: 'ends',
    operationId: 'getLeasedSteps',
    tag: 'Workers',
    summary: 'Get the saved steps of a run of a lease',
    description:
      'A claim returns the steps of a task that slept or waited. A worker reads those of other retried tasks here.',
    returns: 'The steps, in the order in which they were first saved.',
    params,
    query: s.options({ id }),
    statement: authorized(
      'claim',
      'tock.queue_of_lease(p_lease => $2::uuid)',
      'v.steps',
      `(select x.steps from (select tock.lease_steps(p_lease => $2::uuid, p_id => $3::bigint) as steps) as x
  where x.steps is not null) as v`,
    ),
    values: ({ params, query }) => [params.lease, query.id],
    none: ended,
    answer: z.strictObject({ steps: z.array(savedStep) }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks/{id}/steps',
    operationId: 'listSteps',
    tag: 'Tasks',
    summary: 'List the saved steps of a task',
    description: 'Of a task with a pipeline, these are the steps of its present stage.',
    returns: 'The steps, in the order in which they were first saved.',
    params: z.strictObject({ id: s.taskId }),
    statement: authorized(
      'read',
      queueOfTask,
      'v.steps',
      `(select coalesce(json_agg(d order by d.n), '[]') as steps
  from rows from (tock.task_steps(p_id => ${ownTask})) with ordinality
    as d (name, kind, state, result, error, event, due_at, failures, saved_at, n)) as v
  cross join lateral (select where tock.queue_of_task(p_id => ${ownTask}) is not null) as known`,
      'own tasks',
    ),
    values: ({ params }) => [params.id],
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
    answer: z.strictObject({
      steps: z.array(
        savedStep.extend({
          saved_at: s.moment,
          n: s.count.describe('The place in the list, from 1.'),
        }),
      ),
    }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/events',
    share: 'enqueues',
    operationId: 'signalEvent',
    tag: 'Tasks',
    summary: 'Give an event its payload, and wake the tasks that wait for it',
    description:
      'The first payload of an event counts, also for tasks that wait for it within the next 30 days.',
    returns: 'Whether this payload counts, and how many tasks it woke.',
    params: s.noParams,
    body: s.options({
      event,
      payload: s.anything.optional().describe('Any JSON of up to 256 KiB. Default: null.'),
      request_id: s.requestId.nullish(),
    }),
    needsBody: true,
    repeatable: true,
    statement: authorized(
      'enqueue',
      "split_part($2, '/', 1)",
      'v.accepted, v.woken',
      `tock.signal(p_event => $2, p_payload => $3::jsonb -> 'payload', p_request_id => $4) as v`,
    ),
    values: ({ body, text, requestId }) => [body.event, text, requestId],
    answer: z.strictObject({
      accepted: z
        .boolean()
        .describe(
          'False if the event had a payload before, unless that came with this request id.',
        ),
      woken: s.count.describe('How many tasks continue.'),
    }),
  });
}
