import { z } from '@hono/zod-openapi';
import { authorized, checked, everyQueue, lookedAt, ownTenant } from '../authorize.ts';
import { type App, serve } from '../endpoint.ts';
import type { Connect } from '../query.ts';
import * as s from '../schemas.ts';

const text = z.string().nullable();
const moment = s.moment.nullable();

const key = z.strictObject({
  prefix: s.keyPrefix,
  name: z.string(),
  scopes: z.array(z.string()),
  queues: z.array(s.queueName).nullable(),
  tenants: z.array(z.string()).nullable(),
  rate_limit: s.count.nullable(),
  rate_seconds: s.count.nullable(),
  created_at: s.moment,
  expires_at: moment,
});

const found = z.strictObject({
  id: s.id,
  run_id: s.id,
  queue: s.queueName,
  state: s.taskState,
  priority: s.count,
  tenant: text,
  attempt: s.count,
  created_at: s.moment,
  run_at: moment,
  ended_at: moment,
  worker: text,
  error: text,
});

/** By its unique key a task is found wherever it has gone on to, also where the key is not for. */
const ofOwnQueues = `case when $9::text is null then t.tasks else coalesce((
    select jsonb_agg(x.task) from jsonb_array_elements(t.tasks) as x (task)
    where k.queues is null or x.task ->> 'queue' = any (k.queues)), '[]') end as tasks`;

const lease = z.strictObject({
  queue: s.queueName,
  worker: text,
  claimed_at: s.moment,
  leased_until: s.moment,
  late: s.flag,
  runs: s.count,
  unfinished: s.count,
  tasks: z.array(s.id).openapi({ description: 'Up to ten of those that have not ended.' }),
});

const duty = z.strictObject({
  name: z.string(),
  every_seconds: s.count,
  last_started_at: moment,
  last_ok_at: moment,
  late_seconds: z.number().nullable(),
  last_amount: s.count.nullable(),
  last_seconds: z.number().nullable(),
  last_error: text,
  failures: s.count,
});
const job = z.strictObject({
  jobname: z.string(),
  schedule: z.string(),
  active: s.flag,
  last_status: text,
  last_at: moment,
});
const epoch = z.strictObject({
  number: s.count,
  state: z.enum(['ahead', 'in use', 'ended', 'settled', 'audited']),
  first_position: s.count,
  end_position: s.count,
  started_at: moment,
  settled_at: moment,
  audited_at: moment,
  bytes: s.count.nullable(),
  runs: s.count.nullable().openapi({ description: 'About so many.' }),
});

const finding = z.strictObject({
  finding: z.string(),
  severity: z.enum(['critical', 'warning', 'note']),
  detail: text,
  hint: text,
});

/** What people look at, rather than programs: who they are, tasks newest first, who runs what, why tasks are late. */
export function looks(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/key',
    summary: 'What the key of this request may',
    params: s.noParams,
    // It refuses where there is no key.
    statement: checked(
      () => 'select row_to_json(k)::text as body from tock.whoami(p_key => $1) as k',
    ),
    values: () => [],
    answer: key,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/search',
    summary: 'Tasks of a queue or of all, the newest first, a part at a time',
    description:
      'By the newest run, or the entry of one that waits. A call looks at some 10,000 rows and may find none among them: go on while there is a cursor. Without queue it looks at the 2,000 streams that were in use last. unique_key and gate need queue, and have no parts.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional(),
      state: s.taskState.optional(),
      tenant: s.text(200).optional(),
      error: s.text(200).optional(),
      worker: s.text(200).optional(),
      from: s.instant.optional(),
      to: s.instant.optional(),
      unique_key: s.text(500).optional(),
      gate: s.text(200).optional(),
      cursor: s.cursor.optional(),
      limit: s.wholeText(1, 1000).optional(),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      `${ofOwnQueues}, t.cursor, ${lookedAt('t.looked_at', 'jsonb_array_length(t.tasks)')}`,
      `(select tock.queues_of_key(p_key => $1) as queues) as k cross join tock.search(p_filter => jsonb_build_object('queue', $2::text, 'state', $3::text, 'tenant', ${ownTenant('$4')},
        'error', $5::text, 'worker', $6::text, 'from', $7::text, 'to', $8::text, 'unique_key', $9::text, 'gate', $10::text),
        p_cursor => $11, p_limit => coalesce($12::integer, 100)) as t`,
      'own tasks',
    ),
    values: ({ query: q }) => [
      q.queue,
      q.state,
      q.tenant,
      q.error,
      q.worker,
      q.from,
      q.to,
      q.unique_key,
      q.gate,
      q.cursor,
      q.limit,
    ],
    answer: z.strictObject({ tasks: z.array(found), cursor: s.nextCursor, looked_at: s.count }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/leases',
    summary: 'Who runs what: open leases, the one that ends first at the top',
    description:
      'Without their tokens, which are their workers’ alone. One that has tasks of several lanes or priorities is shown for each.',
    params: s.noParams,
    query: s.options({
      queue: s.queueName.optional(),
      worker: s.text(200).optional(),
      cursor: s.cursor.optional(),
      limit: s.wholeText(1, 1000).optional(),
    }),
    statement: authorized(
      'read',
      `coalesce($2, ${everyQueue})`,
      'r.leases, r.cursor, r.looked_at',
      'tock.running(p_queue => $2, p_worker => $3, p_cursor => $4, p_limit => coalesce($5::integer, 100)) as r',
    ),
    values: ({ query: q }) => [q.queue, q.worker, q.cursor, q.limit],
    answer: z.strictObject({ leases: z.array(lease), cursor: s.nextCursor, looked_at: s.count }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/duties',
    summary: 'What goes on inside: duties, the jobs of pg_cron, epochs',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      `(select coalesce(json_agg(d), '[]') from tock.duties_list() as d) as duties,
        (select coalesce(json_agg(j), '[]') from tock.cron_jobs_list() as j) as jobs,
        (select coalesce(json_agg(e), '[]') from tock.epochs_list() as e) as epochs`,
      '(select 1) as one',
    ),
    values: () => [],
    answer: z.strictObject({
      duties: z.array(duty),
      jobs: z.array(job),
      epochs: z.array(epoch),
    }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/why',
    summary:
      'Why tasks of a queue are late at this moment, what explains it best first; nothing when nothing holds it up',
    params: s.queueParams,
    statement: authorized(
      'read',
      '$2',
      "coalesce(json_agg(w), '[]') as reasons",
      `(select y.finding, y.severity, y.detail, y.hint
        from tock.why(p_queue => $2, p_sessions => tock.queues_of_key(p_key => $1) is null) as y) as w`,
    ),
    values: ({ params }) => [params.queue],
    answer: z.strictObject({ reasons: z.array(finding) }),
  });
}
