import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const path = '/v1/pools/{pool}';
const workerPath = `${path}/workers/{worker}`;
const params = z.strictObject({ pool: s.poolName });
const workerParams = params.extend({ worker: s.text(200) });

const name = s.text(200);
const leaseSeconds = s.leaseSeconds.nullish();
const fencing_token = s.id.openapi({
  description: 'The number of a holding: each one is larger than those before, in any pool.',
});
const nameOrNull = z.string().nullable();

const taken = z.strictObject({
  state: z.enum(['free', 'held', 'lost', 'taken', 'empty', 'busy']),
  task: nameOrNull,
  fencing_token: fencing_token.nullable(),
  leased_until: s.moment.nullable(),
});
const assigned = z.strictObject({
  state: z.enum(['assigned', 'held', 'waiting', 'none', 'busy']),
  worker: nameOrNull,
  fencing_token: fencing_token.nullable(),
  leased_until: s.moment.nullable(),
});
const held = 'v.state, v.task, v.fencing_token::text, v.leased_until';

const place = z.strictObject({
  worker: nameOrNull,
  task: nameOrNull,
  state: z.enum(['free', 'held', 'waiting']),
  fencing_token: fencing_token.nullable(),
  since: s.moment,
  leased_until: s.moment.nullable(),
});

/** Pools of workers, each of which holds one task at most. A key for some queues is for the pools of their names. */
export function pools(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/pools',
    summary: 'All pools: how many workers are free or hold a task, and how many tasks wait',
    description: "Counts up to 100,000 of each pool's workers and tasks.",
    params: s.noParams,
    statement: authorized(
      'read',
      everyQueue,
      "coalesce(json_agg(p order by p.pool), '[]') as pools",
      '(select v.pool, v.free, v.held, v.waiting from tock.pools() as v) as p',
    ),
    values: () => [],
    answer: z.strictObject({
      pools: z.array(
        z.strictObject({ pool: s.poolName, free: s.count, held: s.count, waiting: s.count }),
      ),
    }),
  });

  serve(app, connect, {
    method: 'get',
    path,
    summary: "A pool's workers by name, free or with what they hold; or the tasks that wait",
    description:
      'With task= or worker= that one alone: who is the leader, say. The next part begins after= the last name.',
    params,
    query: s.options({
      worker: name.optional(),
      task: name.optional(),
      waiting: s.flagText.optional(),
      after: name.optional(),
      limit: s.wholeText(1, 1000).optional(),
    }),
    statement: authorized(
      'read',
      '$2',
      "coalesce(json_agg(p), '[]') as places",
      `(select v.worker, v.task, v.state, v.fencing_token::text, v.since, v.leased_until
        from tock.pool(p_pool => $2, p_worker => $3, p_task => $4, p_waiting => coalesce($5::boolean, false),
          p_after => $6, p_limit => coalesce($7::integer, 1000)) as v) as p`,
    ),
    values: ({ params: { pool }, query: q }) => [
      pool,
      q.worker,
      q.task,
      q.waiting,
      q.after,
      q.limit,
    ],
    answer: z.strictObject({ places: z.array(place) }),
  });

  serve(app, connect, {
    method: 'put',
    path: workerPath,
    summary: 'Join a pool; again: a heartbeat, which says what the worker holds',
    description:
      'With fencing_token it is a heartbeat for that holding alone: state is lost, and nothing else is done, when that is over.',
    params: workerParams,
    body: s.options({ lease_seconds: leaseSeconds, fencing_token: s.id.nullish() }),
    statement: authorized(
      'claim',
      '$2',
      held,
      'tock.join_pool(p_pool => $2, p_worker => $3, p_lease_seconds => $4, p_fencing_token => $5) as v',
    ),
    values: ({ params: { pool, worker }, body }) => [
      pool,
      worker,
      body.lease_seconds,
      body.fencing_token,
    ],
    answer: taken,
  });

  serve(app, connect, {
    method: 'delete',
    path: workerPath,
    summary: 'Leave a pool: an offered task waits again, another is over',
    params: workerParams,
    statement: authorized(
      'claim',
      '$2',
      'l.left',
      '(select x.gone as left from tock.leave_pool(p_pool => $2, p_worker => $3) as x (gone) where x.gone) as l',
    ),
    values: ({ params: { pool, worker } }) => [pool, worker],
    answer: z.strictObject({ left: s.flag }),
    none: {
      status: 404,
      detail: 'There is no such worker in this pool.',
      hint: 'It may have vanished, or left before.',
    },
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/assign`,
    summary: 'Give a task to one free worker, or to the one that is named',
    description:
      'assigned: by this call; held: it was before; none: nobody is free (or the named one holds another task); waiting: with wait, until a worker takes it.',
    params,
    body: s.options({
      task: name,
      worker: name.nullish(),
      lease_seconds: leaseSeconds,
      wait: s.flag.default(false),
    }),
    needsBody: true,
    statement: authorized(
      'enqueue',
      '$2',
      'v.state, v.worker, v.fencing_token::text, v.leased_until',
      'tock.assign_task(p_pool => $2, p_task => $3, p_worker => $4, p_lease_seconds => $5, p_wait => $6) as v',
    ),
    values: ({ params: { pool }, body }) => [
      pool,
      body.task,
      body.worker,
      body.lease_seconds,
      body.wait,
    ],
    answer: assigned,
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/assign-all`,
    summary: 'Give each task a free worker of its own, while there are any',
    description:
      'As assign; a task that somebody else is giving away or offering at this moment is left out: busy.',
    params,
    body: s.options({ tasks: s.list(name, 1), lease_seconds: leaseSeconds }),
    needsBody: true,
    statement: authorized(
      'enqueue',
      '$2',
      `coalesce(json_agg(json_build_object('task', a.task, 'state', a.state, 'worker', a.worker, 'fencing_token', a.fencing_token::text,
        'leased_until', a.leased_until) order by a.n), '[]') as tasks`,
      `(select v.*
        from tock.assign_tasks(p_pool => $2, p_tasks => $3, p_lease_seconds => $4) with ordinality
          as v (task, state, worker, fencing_token, leased_until, n)) as a`,
    ),
    values: ({ params: { pool }, body }) => [pool, body.tasks, body.lease_seconds],
    answer: z.strictObject({ tasks: z.array(assigned.extend({ task: z.string() })) }),
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/tasks`,
    summary: 'Put tasks into a pool, for workers to take in this order',
    params,
    body: s.options({ tasks: s.list(name, 1) }),
    needsBody: true,
    statement: authorized(
      'enqueue',
      '$2',
      'v.added',
      'tock.add_tasks(p_pool => $2, p_tasks => $3) as v (added)',
    ),
    values: ({ params: { pool }, body }) => [pool, body.tasks],
    answer: z.strictObject({ added: s.count }),
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/take`,
    summary: 'Take the task that has waited for longest, or hear of the one that is held',
    description:
      'taken: by this call; held: the worker had it, and has it for longer now; empty: none waits; busy: somebody is giving it one.',
    params,
    body: s.options({ worker: name, lease_seconds: leaseSeconds }),
    needsBody: true,
    statement: authorized(
      'claim',
      '$2',
      held,
      'tock.take_task(p_pool => $2, p_worker => $3, p_lease_seconds => $4) as v',
    ),
    values: ({ params: { pool }, body }) => [pool, body.worker, body.lease_seconds],
    answer: taken,
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/unassign`,
    summary:
      'Take a task out of a pool, or let it wait there for another; its worker is free again',
    description:
      'With fencing_token only while that holding goes on; once it is over, unassigned is false: by this call made before, or as the deadline passed.',
    params,
    body: s.options({ task: name, fencing_token: s.id.nullish(), again: s.flag.default(false) }),
    needsBody: true,
    statement: authorized(
      'claim',
      '$2',
      'u.unassigned',
      `(select x.done as unassigned
        from tock.unassign_task(p_pool => $2, p_task => $3, p_fencing_token => $4, p_again => $5) as x (done) where x.done or $4 is not null) as u`,
    ),
    values: ({ params: { pool }, body }) => [pool, body.task, body.fencing_token, body.again],
    answer: z.strictObject({ unassigned: s.flag }),
    none: {
      status: 409,
      detail: 'This task is in no place of the pool: it is over, or unknown.',
      hint: 'GET the pool says who has what; with the fence of a holding the call can be repeated.',
    },
  });
}
