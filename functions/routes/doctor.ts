import { z } from '@hono/zod-openapi';
import { authorized, everyQueue } from '../authorize.ts';
import { type App, serve } from '../endpoint.ts';
import type { Connect } from '../query.ts';
import * as s from '../schemas.ts';

const text = z.string().nullable();
const finding = z.strictObject({
  finding: z.string(),
  severity: z.string(),
  detail: text,
  hint: text,
});

/** /v1/doctor: what is not as it should be, and what to do about it. */
export function doctor(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/doctor',
    summary: 'What is not as it should be; nothing when all is well',
    params: s.noParams,
    statement: authorized(
      'admin',
      everyQueue,
      "coalesce(json_agg(d), '[]') as findings",
      '(select f.finding, f.severity, f.detail, f.hint from tock.doctor() as f) as d',
    ),
    values: () => [],
    answer: z.strictObject({ findings: z.array(finding) }),
  });
}
