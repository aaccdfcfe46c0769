import { z } from '@hono/zod-openapi';
import { openStore } from '../archive/open_store.ts';
import { isMissing, readMissing } from '../archive/read_missing.ts';
import type { Connect } from '../database/types.ts';
import { authorized, checked, ownTask, queueOfTask } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import { poll } from '../http/poll.ts';
import * as s from '../http/schemas.ts';
import { checkTarget, checkTargets } from '../push/guard.ts';
import { queueChange, taskChange } from '../waiting/hub.ts';
import { batch, payloads, single, taskAnswer } from './task_schemas.ts';

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
    case when w.whole then t.runs end as runs, k.rerun_of, k.reruns,
    case when tock.tenants_of_key(p_key => $1) is null then t.schedule end as schedule`,
  `tock.task(p_id => ${ownTask}) as t
    cross join lateral tock.readable_links(p_key => $1, p_options => t.options, p_error => t.error, p_rerun_of => t.rerun_of,
      p_reruns => t.reruns) as k
    cross join lateral (select $3 or t.state = any ('{${finalStates}}') as whole) as w`,
  'own tasks',
);

/** Like taskStatement, with runs from the archive. The answer may name files that must be read first. */
const archivedToo =
  'select tock.http_task(p_key => $1, p_id => $2, p_whole => $3, p_rows => $4::jsonb, p_scanned => $5::bigint[]) as body';

/** Like http_enqueue(), for callers without a key. Payloads get no trace: such a caller is a program of its own. */
const enqueued = (tasks: string) =>
  checked(
    (check) => `select json_build_object('ids', case
    when b.payloads is not null then tock.enqueue_payloads(p_queue => $2, p_payloads => b.payloads, p_request_id => $4)
    else tock.enqueue(p_queue => $2, p_tasks => (select coalesce(t.body -> 'tasks', jsonb_build_array(t.body - 'request_id'))
      from (select ${tasks}) as t (body)), p_request_id => $4) end::text[])::text as body
from (select $3::text::json -> 'payloads') as b (payloads) where ${check('enqueue', '$2')}`,
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
      'The first use of a name creates the queue, with the defaults of `*`. The text of `payloads` is stored as it is sent; payloads of `tasks` keep their values. If the request has a valid `traceparent` header, its tasks keep it, with `tracestate` and `baggage`. A task with a `traceparent` of its own keeps that one. The variable TOCK_TRACE of the Worker decides: only sampled traces (default), `all` or `off`.',
    returns: 'The ids of the tasks, in the order of the request.',
    params: s.queueParams,
    body: z.union([batch, payloads, single]),
    batchKeys: ['tasks', 'payloads'],
    needsBody: true,
    repeatable: true,
    traced: true,
    changes: ({ params }) => [queueChange(params.queue)],
    check({ body }, env) {
      if ('tasks' in body) checkTargets('tasks', body.tasks, env);
      else if (!('payloads' in body)) checkTarget('push_url', body.push_url, env);
    },
    // Only a Worker that pushes needs to know whether the queue has push.
    statement: ({ TOCK_PUSH_SECRET }, { trace, freeConsumer }) => {
      const body = trace
        ? 'tock.with_trace(p_body => $3::text::jsonb, p_trace => $5)'
        : '$3::text::jsonb';
      const pushes = TOCK_PUSH_SECRET ? ', tock.has_push(p_queue => $2) as pushes' : '';
      const task = `p_key => $1, p_queue => $2, p_body => $3, p_request_id => $4, p_trace => ${trace ? '$5' : 'null'}`;
      const [limit, seconds] = trace ? ['$6', '$7'] : ['$5', '$6'];
      return {
        ...enqueued(body),
        key: freeConsumer
          ? `select e.body, e.claimed${pushes} from tock.http_enqueue_and_claim(${task}, p_limit => ${limit}, p_lease_seconds => ${seconds}) as e`
          : `select tock.http_enqueue(${task}) as body${pushes}`,
      };
    },
    values: ({ params, text, requestId, trace, freeConsumer }) => [
      params.queue,
      text,
      requestId,
      ...(trace ? [JSON.stringify(trace)] : []),
      ...(freeConsumer ? [freeConsumer.limit, freeConsumer.lease_seconds] : []),
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
      'With `wait_seconds` the call returns once the task has ended (done, dead, cancelled or expired), or when the time is up. With the Durable Object bound, the end of the task wakes the call. Otherwise it polls every 20 ms at first, then after each tenth of the time that it has waited.',
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
      { params, query, pollSlot, disconnected, changes },
      maxPolls = Number.POSITIVE_INFINITY,
    ) => {
      const seconds = query.wait_seconds ?? 0;
      if (seconds === 0 || maxPolls < 2) return once();
      const wait = {
        seconds,
        most: maxPolls - 1,
        share: 0.1,
        pollSlot,
        disconnected,
        changes: changes([taskChange(params.id)]),
        pollsAtLast: true,
      };
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
