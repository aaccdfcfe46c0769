import { z } from '@hono/zod-openapi';
import { type App, serve } from '../endpoint.ts';
import { poll } from '../poll.ts';
import type { Connect } from '../query.ts';
import * as s from '../schemas.ts';

const body = s.options({
  worker: s.text(200).nullish(),
  limit: s.whole(1, 10_000).default(1),
  lease_seconds: s.leaseSeconds.nullish(),
  wait_seconds: s.whole(0, 30).default(0),
  request_id: s.requestId.nullish(),
});

const run = z.strictObject({
  id: s.id,
  run_id: s.id,
  attempt: s.count,
  max_attempts: s.count,
  priority: s.count,
  tenant: z.string().nullable(),
  created_at: s.moment,
  payload: s.anything,
});

const states = z.enum(['found', 'empty', 'paused', 'limited', 'busy', 'passing']);

/** Parses what found nothing only: the rest may be megabytes. */
const stateOf = (body: string): z.output<typeof states> =>
  body.startsWith('{"lease":null,') ? JSON.parse(body).state : 'found';

const laterOf = (body: string): number => JSON.parse(body).retry_after_seconds;

/** /v1/queues/:queue/claim. The runs come from claim() alone: a join would read an older snapshot. */
export function claim(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/queues/{queue}/claim',
    summary: 'Lease what is ready, or wait for it up to wait_seconds',
    description:
      'A claim that waits looks every 20 ms, less often where the database is slow, or where the queue is limited by its rate; over HTTPS to Neon 45 times in all.',
    params: s.queueParams,
    body,
    repeatable: true,
    // claim() stands in the statement itself: called from a function it isn't alone.
    statement: `select tock.http_claimed(p_queue => $2, p_runs => array(
  select c from tock.claim(p_queue => $2, p_worker => $3, p_limit => $4, p_lease_seconds => $5,
    p_request_id => $6, p_alone => true) as c)) as body
where tock.authorize(p_key => $1, p_scope => 'claim', p_queue => $2)`,
    values: ({ params, body, requestId }) => [
      params.queue,
      body.worker,
      body.limit,
      body.lease_seconds,
      requestId,
    ],
    repeat: (once, { body, gone }, most) =>
      poll(once, stateOf, { seconds: body.wait_seconds, most, laterOf, gone }),
    answer: z.strictObject({
      lease: s.leaseToken.nullable(),
      leased_until: s.moment.nullable(),
      tasks: z.array(run),
      state: states.openapi({
        description:
          'limited: as much is running, or was started, as the queue allows; busy: others hold what there is; passing: claim again at once, many cancelled were passed.',
      }),
      retry_after_seconds: s.count,
    }),
  });
}
