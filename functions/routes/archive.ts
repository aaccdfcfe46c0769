import { z } from '@hono/zod-openapi';
import { openStore } from '../archive/open_store.ts';
import { MAX_FILES, parseCursor, type Search, searchFiles } from '../archive/search.ts';
import { archiveStep } from '../archive/step.ts';
import type { Store } from '../archive/store.ts';
import { unlimitedAnswers } from '../database/connect.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { authorized, everyQueue, ownTenant } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import { refusal } from '../http/problem.ts';
import * as s from '../http/schemas.ts';

const moment = s.moment.nullable();
const text = z.string().nullable();

const settings = z.strictObject({
  enabled: s.flag.describe('Whether the archive is on.'),
  prefix: z.string().describe('The beginning of the paths of new files.'),
});
const archiveState = settings.extend({
  waiting: s.count.describe(
    'The number of segments past their retention that the archive does not have yet.',
  ),
  oldest_waiting_at: moment.describe('When the oldest of them was closed.'),
  exported: s.count.describe('The number of segments in the archive.'),
  files: s.count.describe('The number of files.'),
  rows: s.count.describe('The number of runs in the files.'),
  bytes: s.count.describe('The size of the files.'),
  erasures_pending: s.count.describe('The number of tasks that wait for their erasure from files.'),
  objects_unwanted: s.count.describe('The number of objects in the store that wait for deletion.'),
  last_step_at: moment.describe('When the last step ended.'),
  failures: s.count.describe('The number of steps that failed since the last success.'),
  failed_at: moment.describe('When a step last failed.'),
  last_error: text.describe('The error of the last step. Null after a success.'),
});
const step = z.strictObject({
  segment: s.count.nullable().describe('The segment of the part. Null if no part was due.'),
  part: s.count.nullable().describe('The number of the part in its segment.'),
  rows: s.count.describe('The number of runs in the part.'),
  bytes: s.count.describe('The size of its file.'),
  deleted: s.count.describe('The number of deleted objects.'),
  erased: s.count.describe(
    'The number of tasks that the step erased from the last of their files: 0 or 1.',
  ),
  more: s.flag.describe('Whether another step has work at once.'),
});
const archivedTask = z.strictObject({
  id: s.id,
  run_id: s.id.describe('The last run.'),
  queue: s.queueName,
  state: s.taskState,
  priority: s.count,
  tenant: text,
  attempt: s.count.describe('The number of the last attempt, from 1.'),
  created_at: s.moment,
  run_at: z.null().describe('Always null, because an archived task does not wait.'),
  ended_at: moment,
  worker: text.describe('The worker of the last run.'),
  error: text.describe('The first 200 characters of the error of a dead task.'),
});

function requireStore(env: Bindings): Store {
  const store = openStore(env);
  if (store) return store;
  throw refusal(409, 'This Worker has no archive store.', {
    hint: 'Bind an R2 bucket as ARCHIVE, or set TOCK_ARCHIVE_URL, TOCK_ARCHIVE_KEY_ID and TOCK_ARCHIVE_SECRET.',
  });
}

/** Rethrows an error of the database; answers an error of the store with a 503. */
function failed(error: unknown): never {
  if (!(error instanceof Error) || 'code' in error || 'status' in error) throw error;
  throw refusal(503, `The archive step failed: ${error.message}.`, {
    hint: 'Correct the cause and call again. Tock drops no segment before the archive has it.',
  });
}

/** /v1/archive: history in object storage. */
export function archive(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/archive',
    operationId: 'getArchive',
    tag: 'Archive',
    summary: 'Get the state of the archive',
    returns: 'The state of the archive.',
    params: s.noParams,
    statement: authorized('read', everyQueue, 'a.*', 'tock.archive() as a'),
    values: () => [],
    answer: archiveState,
  });

  serve(app, connect, {
    method: 'put',
    path: '/v1/archive',
    operationId: 'putArchive',
    tag: 'Archive',
    summary: 'Turn the archive on or off, and set the prefix of its files',
    description: 'Omitted settings stay.',
    returns: 'The settings after the call.',
    params: s.noParams,
    body: s.options({
      enabled: s.flag.optional().describe('Whether the archive is on.'),
      prefix: s
        .text(500)
        .optional()
        .describe(
          'The beginning of the paths of new files: up to five names of letters, digits and _ . - with / between them.',
        ),
    }),
    statement: authorized(
      'admin',
      everyQueue,
      'a.enabled, a.prefix',
      'tock.put_archive(p_settings => $2::jsonb) as a',
    ),
    values: ({ text: json }) => [json],
    // Without a store the archive would never write a file, and no segment could be dropped.
    check({ body }, env) {
      if (body.enabled) requireStore(env);
    },
    answer: settings,
    refused: { 409: 'The call turns the archive on, and the Worker has no archive store.' },
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/archive/end',
    operationId: 'endSegment',
    tag: 'Archive',
    summary: 'End the current segment, so that the archive exports it at once',
    description:
      'The next steps export the segment. Retention drops it once all its runs have ended, whatever the retention of its queues. While a segment that this call ended exists, the call returns that one.',
    returns: 'The ended segment.',
    params: s.noParams,
    statement: authorized(
      'admin',
      everyQueue,
      'e.segment, e.closed_at, e.why',
      'tock.end_segment() as e',
    ),
    values: () => [],
    answer: z.strictObject({
      segment: s.count.describe('The number of the segment.'),
      closed_at: moment.describe('When all its runs had ended. Null before that.'),
      why: text.describe('What the segment still waits for. Null if it is closed.'),
    }),
    refused: { 409: 'The archive is off, or the current segment has just begun.' },
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/archive/step',
    operationId: 'stepArchive',
    tag: 'Archive',
    summary: 'Export the next part of the history, and erase and delete what is due',
    description:
      'The call reads a part, writes it to the store, reads it back and records it. These are several transactions. Call again while `more` is true.',
    returns: 'What the step did.',
    params: s.noParams,
    body: s.options({
      rows: s
        .whole(1, 100_000)
        .optional()
        .describe('The maximum number of runs in the part. Default: 10,000.'),
    }),
    statement: authorized('admin', everyQueue, '$2::integer as rows', '(select 1) as one'),
    values: ({ body }) => [body.rows],
    finish: async (body, env) => {
      const { rows } = JSON.parse(body) as { rows: number | null };
      const bounds = { rows: rows ?? undefined };
      const work = connect(unlimitedAnswers(env), (query) =>
        archiveStep(query, requireStore(env), bounds),
      );
      return JSON.stringify(await work.catch(failed));
    },
    answer: step,
    refused: {
      409: 'The Worker has no archive store.',
      503: 'The step failed, in the store or in the database. No segment is dropped before the archive has it.',
    },
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/archive/tasks',
    operationId: 'listArchivedTasks',
    tag: 'Archive',
    summary: 'List archived tasks of a queue, newest files first, one page at a time',
    description: `The list shows each task by its last run. A call reads up to ${MAX_FILES} files of about 10,000 runs each, so a page may be empty. Call again with \`cursor\` while the answer has one. GET /v1/tasks lists the tasks that are still in the database.`,
    returns: 'Tasks without their payloads, and the cursor.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.describe('The queue of the tasks.'),
      state: s.taskState.optional().describe('Only tasks in this state. Default: all states.'),
      tenant: s.text(200).optional().describe('Only tasks of this tenant. Default: all tenants.'),
      unique_key: s.text(500).optional().describe('Only tasks with this unique key.'),
      worker: s.text(200).optional().describe('Only tasks whose last run this worker claimed.'),
      error: s
        .text(200)
        .optional()
        .describe('Only dead tasks with this error, as the list shows it.'),
      from: s.instant.optional().describe('Only tasks created at this instant or later.'),
      to: s.instant.optional().describe('Only tasks created before this instant.'),
      cursor: s.cursor.optional(),
      limit: s.pageSize(100),
    }),
    statement: authorized(
      'read',
      '$2',
      `f.files, f.erased, tock.tenants_of_key(p_key => $1) is null as counts, $2::text as queue, ${ownTenant('$3')} as tenant, $4::text as state, f.from_micros as "from", f.to_micros as "to",
        $11::text as unique_key, $12::text as worker, $13::text as error, coalesce($9::integer, 0) as skip, coalesce($10::integer, 100) as limit`,
      `tock.archive_search(p_queue => $2, p_from => $5::text::timestamptz, p_to => $6::text::timestamptz,
        p_segment => $7::integer, p_part => $8::integer, p_limit => ${MAX_FILES}) as f`,
      'own tasks',
    ),
    values: ({ query: q }) => {
      const [segment, part, skip] = parseCursor(q.cursor) ?? [null, null, null];
      const page = [segment, part, skip, q.limit];
      return [q.queue, q.tenant, q.state, q.from, q.to, ...page, q.unique_key, q.worker, q.error];
    },
    finish: async (body, env) =>
      JSON.stringify(await searchFiles(requireStore(env), JSON.parse(body) as Search)),
    answer: z.strictObject({
      tasks: z.array(archivedTask),
      cursor: s.nextCursor,
      scanned: s.count.describe('The number of runs that the call read.'),
    }),
    refused: {
      409: 'The Worker has no archive store.',
      503: 'The store does not answer or lacks a file, or too many tasks wait for their erasure.',
    },
  });
}
