import { z } from '@hono/zod-openapi';
import * as s from '../http/schemas.ts';

export const params = z.strictObject({ pool: s.poolName.describe('The name of the pool.') });
export const worker = s.text(200).describe('The name of the worker.');
export const task = s
  .text(200)
  .describe('The name of the task, such as leader or the id of a task.');
export const workerParams = params.extend({ worker });

export const tasks = s.list(s.text(200), 1).describe('The names of the tasks.');
export const leaseSeconds = s.leaseSeconds
  .nullish()
  .describe('The time to the deadline of the worker. Default: 60.');
const fencing_token = s.id.describe(
  'The number of the assignment. Each new one is higher, in all pools.',
);
const nameOrNull = z.string().nullable();

const deadline = s.moment.nullable().describe('The deadline of the worker.');
export const taskAnswer = z.strictObject({
  state: z
    .enum(['free', 'held', 'lost', 'taken', 'empty', 'busy'])
    .describe(
      '`free`: the worker has no task. `held`: it had the task before, with a later deadline now. `lost`: the assignment of the fencing token has ended. `taken`: this call assigned the task. `empty`: no task waits. `busy`: another call is assigning a task to the worker.',
    ),
  task: nameOrNull.describe('The task of the worker.'),
  fencing_token: fencing_token.nullable(),
  leased_until: deadline,
});
export const assigned = z.strictObject({
  state: z
    .enum(['assigned', 'held', 'waiting', 'none', 'busy'])
    .describe(
      '`assigned`: this call assigned the task. `held`: a worker had the task before. `waiting`: the task waits for a worker. `none`: no worker is free, or the named one has another task. `busy`: another call is assigning the task.',
    ),
  worker: nameOrNull.describe('The worker of the task.'),
  fencing_token: fencing_token.nullable(),
  leased_until: deadline,
});
export const member = z.strictObject({
  worker: nameOrNull,
  task: nameOrNull,
  state: z
    .enum(['free', 'held', 'waiting'])
    .describe('`free`: a worker. `held`: a worker and its task. `waiting`: a task.'),
  fencing_token: fencing_token.nullable(),
  since: s.moment.describe('When this state began.'),
  leased_until: deadline,
});
