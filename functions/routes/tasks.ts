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
  payload: s.anything.optional(),
  delay_seconds: s.seconds.nullish(),
  run_at: s.instant.nullish(),
  priority: s.priority.nullish(),
  tenant: s.text(200).nullish(),
  max_attempts: s.whole(1, 1000).nullish(),
  concurrency_key: s.text(200).nullish(),
  expires_at: s.instant.nullish(),
  expires_in_seconds: s.seconds.nullish(),
  timeout_seconds: s.timeoutSeconds.nullish(),
  unique_key: s.text(500).nullish(),
  unique_policy: s.word('pending', 'unfinished', 'period').nullish(),
  unique_seconds: s.number(1, 31_536_000).nullish(),
  on_conflict: s.word('keep', 'replace', 'merge', 'debounce', 'throttle', 'rerun').nullish(),
  debounce_max_seconds: s.number(0, 31_536_000).nullish(),
  changed_at: s.instant.nullish(),
  backoff: s.backoff.partial().nullish(),
  name: s.text(200).nullish(),
  depends_on: s.parents.nullish(),
  on_parent_failure: s.word('cancel', 'run', 'wait').nullish(),
  include_results: s.flag.nullish(),
  parent: s.id.nullish(),
  pipeline: s.pipeline.nullish(),
  headers: s.headers,
  push_url: s.url.nullish(),
};

export const task = s
  .options(options)
  .refine(...s.oneTime)
  .openapi('Task');
const single = s
  .options({ ...options, request_id: s.requestId.nullish() }, 'tasks')
  .refine(...s.oneTime);
const batch = s.options({ tasks: s.list(task, 0), request_id: s.requestId.nullish() });

const moment = s.moment.nullable();
const progress = { progress: z.number().nullable(), note: z.string().nullable() };
const run = z.strictObject({
  id: s.id,
  queue: s.queueName,
  attempt: s.count,
  state: z.string(),
  worker: z.string().nullable(),
  started_at: moment,
  leased_until: moment,
  ended_at: moment,
  cancel_requested: s.flag,
  ...progress,
  result: s.anything,
  error: s.anything,
});
const taskAnswer = z.strictObject({
  id: s.id,
  queue: s.queueName,
  state: s.taskState,
  priority: s.count,
  tenant: z.string().nullable(),
  attempt: s.count,
  max_attempts: s.count,
  lost: s.count,
  created_at: s.moment,
  run_at: moment,
  ended_at: moment,
  payload: s.anything,
  result: s.anything,
  error: s.anything,
  options: z.record(z.string(), z.unknown()).nullable(),
  ...progress,
  runs: z.array(run),
  rerun_of: s.id.nullable(),
  reruns: z.array(
    z.strictObject({
      id: s.id,
      kind: z.enum(['rerun', 'redrive']),
      reason: z.string().nullable(),
      created_at: s.moment,
    }),
  ),
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
    summary: 'Enqueue one task, or up to 10,000 in one transaction',
    description:
      "A valid traceparent among the request's headers is stored, with its tracestate and baggage, in the headers of each task without its own traceparent; see TOCK_TRACE.",
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
    answer: z.strictObject({ ids: z.array(s.id) }),
    status: 201,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/tasks/{id}',
    summary: 'A task and its runs: at once, or when it has ended, after at most wait_seconds',
    description:
      'Returns the task when it has ended (done, dead, cancelled, expired) or when the time is up. The call polls every 20 ms at first, then after each tenth of the time waited so far.',
    params: z.strictObject({ id: s.id }),
    query: s.options({ wait_seconds: s.inQuery(s.waitSeconds).optional() }),
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
