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
  description:
    'The fencing token of an assignment: each is larger than all earlier ones, in any pool.',
});
const nameOrNull = z.string().nullable();

const taskAnswer = z.strictObject({
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
const memberColumns = 'v.state, v.task, v.fencing_token::text, v.leased_until';

const member = z.strictObject({
  worker: nameOrNull,
  task: nameOrNull,
  state: z.enum(['free', 'held', 'waiting']),
  fencing_token: fencing_token.nullable(),
  since: s.moment,
  leased_until: s.moment.nullable(),
});

/**
 * Pools of workers, each of which holds at most one task. A key limited to queues may use the pools with those names.
 */
export function pools(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/pools',
    summary: 'List all pools: how many workers are free or hold a task, and how many tasks wait',
    description: 'Counts up to 100,000 workers and tasks of each pool.',
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
    summary: "List a pool's workers by name with their state and task, or its waiting tasks",
    description:
      'With task= or worker= only that entry, for example to find the leader. For the next page, set after to the last name.',
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
      "coalesce(json_agg(p), '[]') as members",
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
    answer: z.strictObject({ members: z.array(member) }),
  });

  serve(app, connect, {
    method: 'put',
    path: workerPath,
    summary: "Join a pool; repeated calls are heartbeats and return the worker's task",
    description:
      'With fencing_token it is a heartbeat for that assignment only: if the assignment has ended, state is lost and nothing changes.',
    params: workerParams,
    body: s.options({ lease_seconds: leaseSeconds, fencing_token: s.id.nullish() }),
    statement: authorized(
      'claim',
      '$2',
      memberColumns,
      'tock.join_pool(p_pool => $2, p_worker => $3, p_lease_seconds => $4, p_fencing_token => $5) as v',
    ),
    values: ({ params: { pool, worker }, body }) => [
      pool,
      worker,
      body.lease_seconds,
      body.fencing_token,
    ],
    answer: taskAnswer,
  });

  serve(app, connect, {
    method: 'delete',
    path: workerPath,
    summary: 'Leave a pool: an added task waits again, an assigned task ends its assignment',
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
      detail: 'This pool has no worker with this name.',
      hint: 'The worker may have left, or missed its heartbeats.',
    },
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/assign`,
    summary: 'Assign a task to a free worker, or to a given worker',
    description:
      'assigned: by this call; held: it was assigned before; none: no worker is free, or the given worker holds another task; waiting: with wait, until a worker takes it.',
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
    summary: 'Assign each task to a free worker, while there are any',
    description:
      'As assign; a task that another call is assigning or adding at the moment is left out: busy.',
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
    summary: 'Add tasks to a pool, which workers take in this order',
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
    summary: "Take the task that has waited longest, or return the worker's current task",
    description:
      'taken: by this call; held: the worker held it before, and its lease is extended; empty: no task waits; busy: another call is assigning a task to this worker.',
    params,
    body: s.options({ worker: name, lease_seconds: leaseSeconds }),
    needsBody: true,
    statement: authorized(
      'claim',
      '$2',
      memberColumns,
      'tock.take_task(p_pool => $2, p_worker => $3, p_lease_seconds => $4) as v',
    ),
    values: ({ params: { pool }, body }) => [pool, body.worker, body.lease_seconds],
    answer: taskAnswer,
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/unassign`,
    summary: 'Unassign a task, or let it wait for another worker; its worker is free again',
    description:
      'With fencing_token only while that assignment lasts. Otherwise unassigned is false: this call was made before, or the deadline had passed.',
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
      detail: 'This task is not in the pool: it is unknown, or its assignment has ended.',
      hint: 'GET the pool lists its workers and tasks; a call with a fencing_token can be repeated.',
    },
  });
}
