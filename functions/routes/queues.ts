import { z } from '@hono/zod-openapi';
import { authorized, everyQueue } from '../authorize.ts';
import { type App, serve } from '../endpoint.ts';
import type { Connect } from '../query.ts';
import * as s from '../schemas.ts';

const policy = z
  .strictObject({
    lease_seconds: s.leaseSeconds,
    max_attempts: s.whole(1, 1000),
    max_lost: s.whole(1, 1000),
    backoff_base_seconds: s.number(0, 86_400),
    backoff_factor: s.number(1, 10),
    backoff_cap_seconds: s.number(0, 2_678_400),
    backoff_jitter: s.number(0, 1),
    lanes: s.whole(1, 64),
    max_payload_bytes: s.whole(1024, 4_194_304),
    paused: s.flag,
  })
  .openapi('Policy');
const row = policy.extend({ name: s.queueOrDefault, created_at: s.moment });

const stats = {
  ready: s.count,
  running: s.count,
  waiting: s.count,
  dead: s.count,
  oldest_ready_at: s.moment.nullable(),
};

const policyColumns = `'name', q.name, 'lease_seconds', q.lease_seconds, 'max_attempts', q.max_attempts,
  'max_lost', q.max_lost, 'backoff_base_seconds', q.backoff_base_seconds,
  'backoff_factor', q.backoff_factor, 'backoff_cap_seconds', q.backoff_cap_seconds,
  'backoff_jitter', q.backoff_jitter, 'lanes', q.lanes, 'max_payload_bytes', q.max_payload_bytes,
  'paused', q.paused, 'created_at', q.created_at`;
const statsColumns = `'ready', s.ready, 'running', s.running, 'waiting', s.waiting, 'dead', s.dead,
  'oldest_ready_at', s.oldest_ready_at`;

const params = z.strictObject({ queue: s.queueOrDefault });

/** /v1/queues and /v1/queues/:queue; the queue * is the policy that new queues start with. */
export function queues(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'put',
    path: '/v1/queues/{queue}',
    summary: 'Make a queue, or change the options named',
    params,
    body: policy.partial(),
    statement: authorized(
      'admin',
      '$2',
      `json_build_object(${policyColumns})::text as body`,
      'tock.put_queue(p_queue => $2, p_policy => $3::jsonb) as q',
    ),
    values: ({ params, text }) => [params.queue, text],
    answer: row,
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues/{queue}',
    summary: "A queue's policy and how much is in it",
    params,
    statement: authorized(
      'read',
      '$2',
      `json_build_object(${policyColumns}, ${statsColumns})::text as body`,
      'tock.queue(p_queue => $2) as q left join tock.queue_stats(p_queue => $2) as s on true',
    ),
    values: ({ params }) => [params.queue],
    answer: row.extend(z.strictObject(stats).partial().shape),
    none: {
      status: 404,
      detail: 'There is no queue of this name.',
      hint: 'Enqueue a task to it, or PUT it.',
    },
  });

  serve(app, connect, {
    method: 'get',
    path: '/v1/queues',
    summary: 'All queues and how much is in them',
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      `json_build_object('queues', coalesce(json_agg(json_build_object('name', s.queue,
        'paused', s.paused, ${statsColumns}) order by s.queue), '[]'))::text as body`,
      'tock.queue_stats() as s',
    ),
    values: () => [],
    answer: z.strictObject({
      queues: z.array(z.strictObject({ name: s.queueName, paused: s.flag, ...stats })),
    }),
  });
}
