import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized, everyQueue } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import {
  assigned,
  leaseSeconds,
  member,
  params,
  task,
  taskAnswer,
  tasks,
  worker,
  workerParams,
} from './pool_schemas.ts';

const path = '/v1/pools/{pool}';
const workerPath = `${path}/workers/{worker}`;
const memberColumns = 'v.state, v.task, v.fencing_token::text, v.leased_until';

/**
 * Pools of workers, each of which holds at most one task. A key limited to queues may use the pools with those names.
 */
export function pools(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/pools',
    operationId: 'listPools',
    tag: 'Pools',
    summary: 'List all pools with their numbers of workers and tasks',
    description: 'The call counts up to 100,000 workers and tasks of each pool.',
    returns: 'The pools, by name.',
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
        z.strictObject({
          pool: s.poolName,
          free: s.count.describe('The number of workers without a task.'),
          held: s.count.describe('The number of workers with a task.'),
          waiting: s.count.describe('The number of tasks that wait for a worker.'),
        }),
      ),
    }),
  });

  serve(app, connect, {
    method: 'get',
    path,
    operationId: 'listPoolMembers',
    tag: 'Pools',
    summary: 'List the workers of a pool with their tasks, or its waiting tasks',
    description:
      'The list leaves out workers past their deadline. For the next page, set `after` to the last name.',
    returns: 'The members, by name.',
    params,
    query: s.options({
      worker: worker.optional().describe('Only this worker.'),
      task: task.optional().describe('Only this task, for example to find the leader.'),
      waiting: s.flagText
        .optional()
        .describe('Whether to list the waiting tasks instead of the workers. Default: false.'),
      after: s.text(200).optional().describe('Only later names. Default: the first page.'),
      limit: s.pageSize(1000),
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
    operationId: 'joinPool',
    tag: 'Pools',
    summary: 'Join a pool, or send a heartbeat',
    description:
      'A repeated call is a heartbeat: it moves the deadline of the worker. A worker past its deadline loses its task.',
    returns: 'The task of the worker: `state` is `free`, `held` or `lost`.',
    params: workerParams,
    body: s.options({
      lease_seconds: leaseSeconds,
      fencing_token: s.id
        .nullish()
        .describe(
          'The call is a heartbeat for this assignment only. If the assignment has ended, `state` is `lost` and nothing changes.',
        ),
    }),
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
    operationId: 'leavePool',
    tag: 'Pools',
    summary: 'Leave a pool',
    description:
      'The assignment of the worker ends. A task that a call added to the pool waits again. A task that a call assigned leaves the pool.',
    returns: '`left` is true.',
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
    operationId: 'assignTask',
    tag: 'Pools',
    summary: 'Assign a task to a free worker, or to a named one',
    description: 'The call assigns the task to the worker that has been free for longest.',
    returns: 'The worker of the task.',
    params,
    body: s.options({
      task,
      worker: worker
        .nullish()
        .describe('Assign the task to this worker, even if it has not joined the pool.'),
      lease_seconds: leaseSeconds,
      wait: s.flag
        .default(false)
        .describe('If no worker is free, whether the task waits until a worker takes it.'),
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
    operationId: 'assignTasks',
    tag: 'Pools',
    summary: 'Assign each of up to 10,000 tasks to a free worker',
    description: 'The call assigns tasks while workers are free, each to a worker of its own.',
    returns: 'The tasks with their workers, in the order of the request.',
    params,
    body: s.options({ tasks, lease_seconds: leaseSeconds }),
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
    operationId: 'addTasksToPool',
    tag: 'Pools',
    summary: 'Add up to 10,000 tasks to a pool',
    description: 'Workers take the tasks in this order. A task that is in the pool stays as it is.',
    returns: 'The number of added tasks.',
    params,
    body: s.options({ tasks }),
    needsBody: true,
    statement: authorized(
      'enqueue',
      '$2',
      'v.added',
      'tock.add_tasks(p_pool => $2, p_tasks => $3) as v (added)',
    ),
    values: ({ params: { pool }, body }) => [pool, body.tasks],
    answer: z.strictObject({ added: s.count.describe('The number of added tasks.') }),
  });

  serve(app, connect, {
    method: 'post',
    path: `${path}/take`,
    operationId: 'takeTask',
    tag: 'Pools',
    summary: 'Take the task that has waited longest, or return the present task of the worker',
    description:
      'The worker need not join the pool. The call is also a heartbeat of a worker that has joined.',
    returns: 'The task of the worker: `state` is `taken`, `held`, `empty` or `busy`.',
    params,
    body: s.options({ worker, lease_seconds: leaseSeconds }),
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
    operationId: 'unassignTask',
    tag: 'Pools',
    summary: 'Remove a task from a pool, or let it wait for another worker',
    description: 'The worker of the task is free again.',
    returns: 'Whether the call ended an assignment. Without a fencing token it is always true.',
    params,
    body: s.options({
      task,
      fencing_token: s.id
        .nullish()
        .describe(
          'The call ends this assignment only. If it has ended already, `unassigned` is false.',
        ),
      again: s.flag
        .default(false)
        .describe('Whether the task waits for another worker instead of leaving the pool.'),
    }),
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
