import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, checked, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

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

const maintenance_job = z.strictObject({
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
const segment = z.strictObject({
  number: s.count,
  state: z.enum(['ahead', 'in use', 'ended', 'settled', 'audited']),
  first_position: s.count,
  end_position: s.count,
  started_at: moment,
  closed_at: moment,
  verified_at: moment,
  bytes: s.count.nullable(),
  runs: s.count.nullable().openapi({ description: 'About so many.' }),
});

const finding = z.strictObject({
  finding: z.string(),
  severity: z.enum(['critical', 'warning', 'note']),
  detail: text,
  hint: text,
});

/** What people look at, rather than programs: who they are, who runs what, why tasks are late. */
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
      'r.leases, r.cursor, r.scanned',
      'tock.running(p_queue => $2, p_worker => $3, p_cursor => $4, p_limit => coalesce($5::integer, 100)) as r',
    ),
    values: ({ query: q }) => [q.queue, q.worker, q.cursor, q.limit],
    answer: z.strictObject({ leases: z.array(lease), cursor: s.nextCursor, scanned: s.count }),
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/maintenance',
    summary: 'What goes on inside: maintenance jobs, the jobs of pg_cron, segments',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      `(select coalesce(json_agg(d), '[]') from tock.maintenance_jobs_list() as d) as maintenance_jobs,
        (select coalesce(json_agg(j), '[]') from tock.cron_jobs_list() as j) as jobs,
        (select coalesce(json_agg(e), '[]') from tock.segments_list() as e) as segments`,
      '(select 1) as one',
    ),
    values: () => [],
    answer: z.strictObject({
      maintenance_jobs: z.array(maintenance_job),
      jobs: z.array(job),
      segments: z.array(segment),
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
