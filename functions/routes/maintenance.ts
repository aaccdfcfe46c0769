import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const text = z.string().nullable();
const moment = s.moment.nullable();

const node = z.int().optional().describe('With several nodes, the number of its node.');

const maintenanceJob = z.strictObject({
  node,
  name: z.string(),
  every_seconds: s.count.describe('The period of the job.'),
  last_started_at: moment,
  last_ok_at: moment.describe('When the job last ended without an error.'),
  late_seconds: z
    .number()
    .nullable()
    .describe('How late the job is, beyond three periods and two minutes. Null if it is on time.'),
  last_amount: s.count.nullable().describe('How many rows or objects the last run changed.'),
  last_seconds: z.number().nullable().describe('The duration of the last run.'),
  last_error: text,
  failures: s.count.describe('The number of runs that failed since the last success.'),
});
const cronJob = z.strictObject({
  node,
  jobname: z.string(),
  schedule: z.string().describe('The cron expression or the period, as pg_cron has it.'),
  active: s.flag,
  last_status: text.describe('The status of the last run, as pg_cron has it.'),
  last_at: moment.describe('When the last run began.'),
});
const segment = z.strictObject({
  node,
  number: s.count,
  state: z
    .enum(['ahead', 'in use', 'ended', 'closed', 'verified'])
    .describe(
      '`ahead`: no run has its positions yet. `ended`: new runs go to a later segment. `closed`: all its runs have ended. `verified`: a maintenance job has compared its runs with its leases.',
    ),
  first_position: s.count.describe('The first position.'),
  end_position: s.count.describe('The position after the last one.'),
  started_at: moment.describe('When the segment came into use.'),
  closed_at: moment.describe('When all its runs had ended.'),
  verified_at: moment.describe('When a maintenance job compared its runs with its leases.'),
  bytes: s.count.nullable().describe('The size of its tables and indexes.'),
  runs: s.count.nullable().describe('The number of its runs, an estimate.'),
});

/** GET /v1/maintenance: maintenance jobs, pg_cron jobs, segments. */
export function maintenance(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/maintenance',
    operationId: 'getMaintenance',
    tag: 'Operations',
    summary: 'List the maintenance jobs, the pg_cron jobs and the segments',
    returns: 'Jobs by name, and the newest 100 segments, newest first.',
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
      maintenance_jobs: z.array(maintenanceJob),
      jobs: z.array(cronJob).describe('Empty if pg_cron is not in this database.'),
      segments: z.array(segment),
    }),
  });
}
