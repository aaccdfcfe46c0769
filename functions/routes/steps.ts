import { z } from '@hono/zod-openapi';
import { openStore } from '../archive/open_store.ts';
import { readMissing } from '../archive/read_missing.ts';
import { forLeaseCalls } from '../database/connect.ts';
import type { Connect } from '../database/types.ts';
import { authorized, checkedInside, ownTask, queueOfTask } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { checkTarget } from '../push/guard.ts';
import { event } from './events.ts';
import { id } from './outcome_schemas.ts';
import { taskOptions } from './task_schemas.ts';

const name = s.text(200).describe('The name of the step. A task has one outcome for each name.');
const years = s.number(0, 315_360_000);

// Such a child might be the task itself, or wait for it.
const { unique_key: _key, depends_on: _parents, name: _name, ...childOptions } = taskOptions;

const newStep = s.options({
  id,
  name,
  result: s.anything.optional().describe('What the step returned: it is done.'),
  link: s
    .text(2000)
    .optional()
    .describe('The URL that the step returned: it is done. Only workers of the task get it again.'),
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
  invoke: s
    .options({ ...childOptions, queue: s.queueName.describe('The queue of the child.') })
    .optional()
    .describe(
      'A child task: the run ends, and the task continues when the child has ended. The key also needs the scope `enqueue` for its queue.',
    ),
  unused: z
    .literal(true, { error: 'must be true' })
    .optional()
    .describe('Marks a saved step for which the handler has not asked.'),
  version: s
    .whole(1, 1_000_000)
    .optional()
    .describe('The version of the handler, which the step keeps.'),
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
    kind: z.enum(['step', 'sleep', 'event', 'child', 'link']),
    state,
    ...outcome,
    event: z.string().nullable().describe('The event for which the task waits, or did.'),
    child_id: s.id.nullable().describe('The child for which the task waits, or did.'),
    version: s.count.nullable().describe('The version of the handler that saved the step.'),
    failures: s.count.describe('The number of failed attempts of a step with its own retries.'),
  })
  .openapi('Step');

export const claimedSteps = z
  .array(savedStep)
  .nullable()
  .describe(
    'The saved steps of a task that slept or waited for an event. Null for other tasks, and above 512 KiB; empty for a larger fork.',
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

const savedRows = (where: string) => `(
  select json_agg(json_build_object('id', d.id::text, 'name', d.name, 'state', d.state, 'result', d.result,
    'error', d.error, 'due_at', d.due_at, 'cancel_requested', d.cancel_requested) order by d.n) as steps
  from rows from (tock.save_steps(p_lease => $2::uuid, p_steps => $3::jsonb -> 'steps'))
    with ordinality as d (id, name, state, result, error, due_at, cancel_requested, n)
  ${where} having bool_or(d.state <> 'lost') offset 0) as answer`;

const saveStatement = checkedInside(
  'claim',
  `select row_to_json(answer)::text as body
from tock.authorize_steps(p_key => $1, p_lease => $2::uuid, p_steps => $3::jsonb -> 'steps') as key (allowed)
cross join lateral ${savedRows('where key.allowed')}`,
  `select row_to_json(answer)::text as body from ${savedRows('')}`,
);

/** The steps of a task, also from the archive. The answer may name files that must be read first. */
const archivedToo =
  'select tock.http_task_steps(p_key => $1, p_id => $2, p_rows => $3::jsonb, p_scanned => $4::bigint[]) as body';

/** Steps of tasks. */
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
      'Each step has one of `result`, `link`, `error`, `sleep_seconds`, `sleep_until`, `event`, `invoke` and `unused`. A step that has ended keeps its first outcome, so the call can be repeated. If a step sleeps, waits or is to be tried again, its run ends and counts no attempt.',
    returns: 'The outcome of each step, in the same order.',
    params,
    body: s.options({
      steps: s.list(newStep, 1, upTo1000).max(1000, upTo1000).describe('The steps to save.'),
    }),
    batchKeys: ['steps'],
    needsBody: true,
    statement: saveStatement,
    check({ body }, env) {
      for (const [n, { invoke }] of body.steps.entries())
        checkTarget(`steps[${n}].invoke.push_url`, invoke?.push_url, env);
    },
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
    statement: (env) => ({
      ...authorized(
        'read',
        queueOfTask,
        'v.steps',
        `(select coalesce(json_agg(to_jsonb(d) || jsonb_build_object('child_id', d.child_id::text) order by d.n), '[]') as steps
  from rows from (tock.task_steps(p_id => ${ownTask})) with ordinality
    as d (name, kind, state, result, error, event, child_id, due_at, failures, version, unused, saved_at, n)) as v
  cross join lateral (select where tock.queue_of_task(p_id => ${ownTask}) is not null) as known`,
        'own tasks',
      ),
      ...(openStore(env) && { key: archivedToo }),
    }),
    values: ({ params, env }) => [params.id, ...(openStore(env) ? ['[]', []] : [])],
    further: async (body, { params, env }, run) => {
      const store = openStore(env);
      const findWith = (rows: string, scanned: string[]) =>
        run(archivedToo, [params.id, rows, scanned]);
      return store ? readMissing(body, store, findWith) : body;
    },
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
    answer: z.strictObject({
      steps: z.array(
        savedStep.extend({
          unused: s.flag.describe('Whether a later handler ended without asking for the step.'),
          saved_at: s.moment,
          n: s.count.describe('The place in the list, from 1.'),
        }),
      ),
    }),
  });
}
