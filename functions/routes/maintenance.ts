import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const text = z.string().nullable();
const moment = s.moment.nullable();

const maintenanceJob = z.strictObject({
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
const cronJob = z.strictObject({
  jobname: z.string(),
  schedule: z.string(),
  active: s.flag,
  last_status: text,
  last_at: moment,
});
const segment = z.strictObject({
  number: s.count,
  state: z.enum(['ahead', 'in use', 'ended', 'closed', 'verified']),
  first_position: s.count,
  end_position: s.count,
  started_at: moment,
  closed_at: moment,
  verified_at: moment,
  bytes: s.count.nullable(),
  runs: s.count.nullable().openapi({ description: 'An estimate.' }),
});

/** GET /v1/maintenance: maintenance jobs, pg_cron jobs, segments. */
export function maintenance(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/maintenance',
    summary: 'List maintenance jobs, pg_cron jobs and segments',
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
      jobs: z.array(cronJob),
      segments: z.array(segment),
    }),
  });
}
