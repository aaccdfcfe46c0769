import { z } from '@hono/zod-openapi';
import { openStore } from '../archive/open_store.ts';
import { isMissing, readMissing } from '../archive/read_missing.ts';
import type { Connect } from '../database/types.ts';
import { authorized, checked, ownTask, queueOfTask } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import { poll } from '../http/poll.ts';
import * as s from '../http/schemas.ts';
import { checkTarget, checkTargets } from '../push/guard.ts';

const options = {
  payload: s.anything
    .optional()
    .describe('Any JSON, up to `max_payload_bytes` of the queue. Default: null.'),
  delay_seconds: s.seconds.nullish().describe('The task is due after this time. Default: 0.'),
  run_at: s.instant.nullish().describe('The task is due at this instant. Default: now.'),
  priority: s.priority.nullish(),
  tenant: s
    .text(200)
    .nullish()
    .describe('The customer that the task belongs to. A key for one tenant fills it in.'),
  max_attempts: s
    .whole(1, 1000)
    .nullish()
    .describe('The task is dead after this many failed attempts. Default: that of the queue.'),
  concurrency_key: s
    .text(200)
    .nullish()
    .describe(
      'A key with a limit on how many tasks of the queue run at once. The default limit is 1.',
    ),
  expires_at: s.instant.nullish().describe('The task does not start after this instant.'),
  expires_in_seconds: s.seconds
    .nullish()
    .describe('The task does not start later than this after it is due.'),
  timeout_seconds: s.timeoutSeconds
    .nullish()
    .describe('A run fails after this time. Default: that of the queue.'),
  unique_key: s
    .text(500)
    .nullish()
    .describe(
      'A key that one task of the queue has at a time. `on_conflict` rules over a newer task.',
    ),
  unique_policy: s
    .word('pending', 'unfinished', 'period')
    .nullish()
    .describe(
      'How long the task has its unique key: until it starts, until it ends, or for `unique_seconds` and until it ends. Default: `unfinished` if `on_conflict` is `keep`, otherwise `pending`.',
    ),
  unique_seconds: s
    .number(1, 31_536_000)
    .nullish()
    .describe('The period of `unique_policy` `period` and of `on_conflict` `throttle`.'),
  on_conflict: s
    .word('keep', 'replace', 'merge', 'debounce', 'throttle', 'rerun')
    .nullish()
    .describe(
      'What a newer task does while another has the unique key. `keep` changes nothing. `replace` and `merge` change the payload. `debounce` also puts the task off. `throttle` adds one task for each period. `rerun` adds one task after a running one. Default: `keep`.',
    ),
  debounce_max_seconds: s
    .number(0, 31_536_000)
    .nullish()
    .describe('`debounce` puts a task off by at most this much after the first call.'),
  changed_at: s.instant
    .nullish()
    .describe('The version of what the task is about. A call that is not newer changes nothing.'),
  backoff: s.backoff
    .partial()
    .nullish()
    .describe('How long the task waits after a failure. Omitted fields follow the queue.'),
  name: s
    .text(200)
    .nullish()
    .describe('The name by which `depends_on` of other tasks in the call refers to the task.'),
  depends_on: s.parents
    .nullish()
    .describe(
      'The parents: the task waits until they are done. `*` stands for all tasks before it in the call.',
    ),
  on_parent_failure: s
    .word('cancel', 'run', 'wait')
    .nullish()
    .describe(
      'What happens if a parent does not become done. `wait` waits for its rerun. Default: `cancel`.',
    ),
  include_results: s.flag
    .nullish()
    .describe('The payload becomes {payload, parents}, with the results of the parents.'),
  parent: s.id
    .nullish()
    .describe('The task that this one is a part of. The option only records the relation.'),
  pipeline: s.pipeline.nullish(),
  headers: s.headers.describe('Headers that claims return and pushes send, such as traceparent.'),
  push_url: s.url.nullish().describe('In a queue with push, the endpoint of this task.'),
};

export const task = s
  .options(options)
  .refine(...s.oneTime)
  .openapi('Task');
const single = s
  .options({ ...options, request_id: s.requestId.nullish() }, 'tasks')
  .refine(...s.oneTime);
const batch = s.options({
  tasks: s.list(task, 0).describe('The tasks. The call adds all or none.'),
  request_id: s.requestId.nullish(),
});

const moment = s.moment.nullable();
const progress = {
  progress: z.number().nullable().describe('The last reported progress, 0 to 100.'),
  note: z.string().nullable().describe('The last reported note.'),
};
const run = z.strictObject({
  id: s.id,
  queue: s.queueName,
  attempt: s.count.describe('The number of the attempt, from 1.'),
  state: z
    .string()
    .describe(
      'How the run ended (done, failed, lost, cancelled and others), or its present state.',
    ),
  worker: z.string().nullable().describe('The worker that claimed the run.'),
  started_at: moment.describe('When the worker claimed the run.'),
  leased_until: moment.describe('The deadline of its lease.'),
  ended_at: moment,
  cancel_requested: s.flag.describe('Whether a cancel reached the run while it was running.'),
  ...progress,
  result: s.anything.describe('The result; above 4,096 bytes {"shortened": true}.'),
  error: s.anything.describe('The error; above 4,096 bytes its name and the start of its message.'),
});
const taskAnswer = z.strictObject({
  id: s.id.describe('The id of the task, which never changes.'),
  queue: s.queueName,
  state: s.taskState.describe(
    'A `waiting` task is not due, or waits for parents or a concurrency key. A worker can claim a `ready` one. The other states are `running` and the four ends.',
  ),
  priority: s.count,
  tenant: z.string().nullable(),
  attempt: s.count.describe(
    'The number of the newest attempt, from 1. A waiting task shows its next attempt.',
  ),
  max_attempts: s.count,
  lost: s.count.describe('The number of lost runs.'),
  created_at: s.moment,
  run_at: moment.describe('When a waiting task is due.'),
  ended_at: moment,
  payload: s.anything.describe('The payload of the newest run.'),
  result: s.anything.describe('What the worker returned.'),
  error: s.anything.describe('The error of the newest run.'),
  options: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('The options that the task keeps. Null without one.'),
  ...progress,
  runs: z.array(run).describe('All runs, in order.'),
  rerun_of: s.id.nullable().describe('The task that this one is a rerun of.'),
  reruns: z
    .array(
      z.strictObject({
        id: s.id,
        kind: z.enum(['rerun', 'redrive']),
        reason: z.string().nullable(),
        created_at: s.moment,
      }),
    )
    .describe('The reruns of this task, in order.'),
});

const finalStates = ['done', 'dead', 'cancelled', 'expired'];

/** Reads the state with a pattern instead of JSON.parse(), because the answer may have megabytes. */
function stateOf(body: string): 'found' | 'going on' {
  // Archived tasks have ended.
  if (isMissing(body)) return 'found';
  const [, state = ''] = /^\{"id":"\d+","queue":"[^"]*","state":"(\w+)"/.exec(body) ?? [];
  return finalStates.includes(state) ? 'found' : 'going on';
}

/** A task as stored in the database. */
const taskStatement = authorized(
  'read',
  queueOfTask,
  `t.id::text as id, t.queue, t.state, t.priority, t.tenant, t.attempt, t.max_attempts, t.lost,
    t.created_at, t.run_at, t.ended_at, case when w.whole then t.payload end as payload, t.result, k.error, k.options,
    t.progress, t.note,
    case when w.whole then t.runs end as runs, k.rerun_of, k.reruns`,
  `tock.task(p_id => ${ownTask}) as t
    cross join lateral tock.readable_links(p_key => $1, p_options => t.options, p_error => t.error, p_rerun_of => t.rerun_of,
      p_reruns => t.reruns) as k
    cross join lateral (select $3 or t.state = any ('{${finalStates}}') as whole) as w`,
  'own tasks',
);

/** Like taskStatement, with runs from the archive. The answer may name files that must be read first. */
const archivedToo =
  'select tock.http_task(p_key => $1, p_id => $2, p_whole => $3, p_rows => $4::jsonb, p_scanned => $5::bigint[]) as body';

/** Like http_enqueue(), for callers without a key. */
const enqueued = (body: string) =>
  checked(
    (check) => `select json_build_object('ids', tock.enqueue(p_queue => $2,
  p_tasks => coalesce(b.body -> 'tasks', jsonb_build_array(b.body - 'request_id')), p_request_id => $4)::text[])::text as body
from (select ${body}::jsonb) as b (body) where ${check('enqueue', '$2')}`,
  );

/** /v1/queues/:queue/tasks and /v1/tasks/:id */
export function tasks(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/tasks',
    share: 'enqueues',
    operationId: 'enqueueTasks',
    tag: 'Tasks',
    summary: 'Enqueue one task, or up to 10,000 in one transaction',
    description:
      'The first use of a name creates the queue, with the defaults of `*`. If the request has a valid `traceparent` header, its tasks keep it, with `tracestate` and `baggage`. A task with a `traceparent` of its own keeps that one. The variable TOCK_TRACE of the Worker decides: only sampled traces (default), `all` or `off`.',
    returns: 'The ids of the tasks, in the order of the request.',
    params: s.queueParams,
    body: z.union([batch, single]),
    batchKey: 'tasks',
    needsBody: true,
    repeatable: true,
    traced: true,
    check({ body }, env) {
      if ('tasks' in body) checkTargets('tasks', body.tasks, env);
      else checkTarget('push_url', body.push_url, env);
    },
    // Only a Worker that pushes needs to know whether the queue has push.
    statement: ({ TOCK_PUSH_SECRET }, { trace }) => {
      const body = trace ? 'tock.with_trace(p_body => $3, p_trace => $5)' : '$3';
      const pushes = TOCK_PUSH_SECRET ? ', tock.has_push(p_queue => $2) as pushes' : '';
      return {
        ...enqueued(body),
        key: `select tock.http_enqueue(p_key => $1, p_queue => $2, p_body => ${body}, p_request_id => $4) as body${pushes}`,
      };
    },
    values: ({ params, text, requestId, trace }) => [
      params.queue,
      text,
      requestId,
      ...(trace ? [JSON.stringify(trace)] : []),
    ],
    answer: z.strictObject({
      ids: z
        .array(s.id)
        .describe('The ids, in order. For a unique key, the id of the task that now has it.'),
    }),
    status: 201,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks/{id}',
    operationId: 'getTask',
    tag: 'Tasks',
    summary: 'Get a task and its runs, or wait for its end',
    description:
      'With `wait_seconds` the call returns once the task has ended (done, dead, cancelled or expired), or when the time is up. The call polls every 20 ms at first, then after each tenth of the time that it has waited.',
    returns: 'The task, as it is at the end of the call.',
    params: z.strictObject({ id: s.taskId }),
    query: s.options({
      wait_seconds: s
        .inQuery(s.waitSeconds)
        .optional()
        .describe('How many seconds the call waits for the end of the task. Default: 0.'),
    }),
    // While the task has not ended, only the last poll reads more than its state.
    statement: (env) => (openStore(env) ? { ...taskStatement, key: archivedToo } : taskStatement),
    values: ({ params, env }, last) => [params.id, last, ...(openStore(env) ? ['[]', []] : [])],
    further: async (body, { params, env }, run) => {
      const store = openStore(env);
      const findWith = (rows: string, scanned: string[]) =>
        run(archivedToo, [params.id, true, rows, scanned]);
      return store ? readMissing(body, store, findWith) : body;
    },
    repeat: async (
      once,
      { query, pollSlot, disconnected },
      maxPolls = Number.POSITIVE_INFINITY,
    ) => {
      const seconds = query.wait_seconds ?? 0;
      if (seconds === 0 || maxPolls < 2) return once();
      const wait = { seconds, most: maxPolls - 1, share: 0.1, pollSlot, disconnected };
      const answer = await poll(() => once(false), stateOf, wait);
      return answer && stateOf(answer.body) !== 'found' && !disconnected.aborted ? once() : answer;
    },
    answer: taskAnswer,
    none: {
      status: 404,
      detail: 'There is no task with this id.',
      hint: 'Use an id that enqueue returned.',
    },
  });
}
