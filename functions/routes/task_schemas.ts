import { z } from '@hono/zod-openapi';
import * as s from '../http/schemas.ts';

export const taskOptions = {
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
  .options(taskOptions)
  .refine(...s.oneTime)
  .openapi('Task');
export const single = s
  .options({ ...taskOptions, request_id: s.requestId.nullish() }, 'tasks', 'payloads')
  .refine(...s.oneTime);
export const batch = s.options({
  tasks: s.list(task, 0).describe('The tasks. The call adds all or none.'),
  request_id: s.requestId.nullish(),
});
export const payloads = s.options({
  payloads: s
    .list(s.anything, 0)
    .describe('A payload for each task. For tasks without options this is the fastest form.'),
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
  cancel_requested_at: moment.describe('When a run that is still running was asked to stop.'),
  ...progress,
  result: s.anything.describe('The result; above 4,096 bytes {"shortened": true}.'),
  error: s.anything.describe(
    'The error; above 4,096 bytes its name, and the starts of its message and stack.',
  ),
});
export const taskAnswer = z.strictObject({
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
        kind: z.enum(['rerun', 'redrive', 'fork']),
        reason: z.string().nullable(),
        created_at: s.moment,
      }),
    )
    .describe('The reruns of this task, in order.'),
  schedule: z
    .string()
    .nullable()
    .describe('Its schedule, for seven days. Null for a key of some tenants.'),
});
