import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const finding = z.strictObject({
  finding: z.string().describe('The reason.'),
  severity: z.enum(['critical', 'warning', 'note']),
  detail: z.string().nullable().describe('Names and numbers of this case.'),
  hint: z.string().nullable().describe('What to do.'),
});

/** GET /v1/queues/:queue/why: reasons why tasks are late. */
export function explain(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}/why',
    operationId: 'explainQueue',
    tag: 'Queues',
    summary: 'List the reasons why tasks of a queue are late now',
    description: 'Only a key for all queues sees whose open transaction delays the tasks.',
    returns: 'The reasons, most important first. The list is empty if nothing delays the tasks.',
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
