import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { clockFindings } from '../http/clock_skew.ts';
import { type App, serve } from '../http/endpoint.ts';
import { type Finding, withPage } from '../http/findings.ts';
import * as s from '../http/schemas.ts';

const text = z.string().nullable();
const finding = z.strictObject({
  finding: z.string().describe('What is wrong.'),
  severity: z.string().describe('critical, warning or note. A note can wait.'),
  detail: text.describe('Names and numbers of this case.'),
  hint: text.describe('What to do.'),
  page: z
    .string()
    .describe('The path of its page on this server, such as /findings/the-clocks-differ.'),
});

type DoctorAnswer = { findings: Finding[]; before: number; there: number };

/** Adds findings about the clocks, and the pages. The row contains the time at which the Worker sent the statement. */
async function finish(body: string): Promise<string> {
  const { findings, before, there, ...rest } = JSON.parse(body) as DoctorAnswer;
  const clocks = clockFindings('the Worker', { before, there, after: Date.now() });
  return JSON.stringify({ findings: [...findings, ...clocks].map(withPage), ...rest });
}

/** /v1/doctor: problems found, each with a hint. */
export function doctor(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/doctor',
    operationId: 'getDoctor',
    tag: 'Operations',
    summary: 'Check the whole installation',
    description: 'The call also compares the clocks of the Worker and the database.',
    returns: 'The findings, critical ones first. The list is empty if all is well.',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      `coalesce(json_agg(d), '[]') as findings, $2::float8 as before,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as there`,
      '(select f.finding, f.severity, f.detail, f.hint from tock.doctor() as f) as d',
    ),
    values: () => [Date.now()],
    finish,
    answer: z.strictObject({ findings: z.array(finding) }),
  });
}
