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

const settings = z.strictObject({ enabled: s.flag, prefix: z.string() });
const archiveState = settings.extend({
  waiting: s.count,
  oldest_waiting_at: moment,
  exported: s.count,
  files: s.count,
  rows: s.count,
  bytes: s.count,
  erasures_pending: s.count,
  objects_unwanted: s.count,
  last_step_at: moment,
  failures: s.count,
  failed_at: moment,
  last_error: text,
});
const step = z.strictObject({
  segment: s.count.nullable(),
  part: s.count.nullable(),
  rows: s.count,
  bytes: s.count,
  deleted: s.count,
  erased: s.count,
  more: s.flag,
});
const archivedTask = z.strictObject({
  id: s.id,
  run_id: s.id,
  queue: s.queueName,
  state: s.taskState,
  priority: s.count,
  tenant: text,
  attempt: s.count,
  created_at: s.moment,
  run_at: z.null(),
  ended_at: moment,
  worker: text,
  error: text,
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
    summary: 'The state of the archive',
    params: s.noParams,
    statement: authorized('read', everyQueue, 'a.*', 'tock.archive() as a'),
    values: () => [],
    answer: archiveState,
  });

  serve(app, connect, {
    method: 'put',
    path: '/v1/archive',
    summary: 'Turn the archive on or off, and set the prefix of its files',
    params: s.noParams,
    body: s.options({ enabled: s.flag.optional(), prefix: s.text(500).optional() }),
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
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/archive/end',
    summary: 'End the current segment, so that the archive exports it at once',
    description:
      'The next steps export the segment. Retention drops it once all its runs have been claimed and have ended, whatever the retention of its queues. `why` names what it still waits for. While a segment that was ended by this call exists, the call returns that one. 409 if the archive is off.',
    params: s.noParams,
    statement: authorized(
      'admin',
      everyQueue,
      'e.segment, e.closed_at, e.why',
      'tock.end_segment() as e',
    ),
    values: () => [],
    answer: z.strictObject({ segment: s.count, closed_at: moment, why: text }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/archive/step',
    summary:
      'Export the next part of what is due, and erase and delete what is pending; repeat while `more`',
    description:
      'The only route that uses more than one statement: it reads a part, writes it to the store, reads it back and records it.',
    params: s.noParams,
    body: s.options({ rows: s.whole(1, 100_000).optional() }),
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
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/archive/tasks',
    summary: 'List archived tasks of a queue, newest files first, one page at a time',
    description: `Each task is shown by its last run. A call reads up to ${MAX_FILES} files of about 10,000 runs each and may return no tasks: continue while there is a cursor. /v1/tasks lists the tasks that are still in the database.`,
    params: s.noParams,
    query: s.options({
      queue: s.queueName,
      state: s.taskState.optional(),
      tenant: s.text(200).optional(),
      unique_key: s.text(500).optional(),
      worker: s.text(200).optional(),
      error: s.text(200).optional(),
      from: s.instant.optional(),
      to: s.instant.optional(),
      cursor: s.cursor.optional(),
      limit: s.wholeText(1, 1000).optional(),
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
      scanned: s.count,
    }),
  });
}
