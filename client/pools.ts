import type { Call } from './call.ts';
import { TockError } from './errors.ts';
import { queryString } from './route.ts';
import type { Answer, Query } from './wire.ts';

export type TakenTask = Answer<'PUT /v1/pools/{pool}/workers/{worker}'>;
export type Assignment = Answer<'POST /v1/pools/{pool}/assign'>;
type Members = Answer<'GET /v1/pools/{pool}'>;
type Unassigned = Answer<'POST /v1/pools/{pool}/unassign'>;
export type PoolMember = Members['members'][number];
export type PoolMemberFilter = Query<'GET /v1/pools/{pool}'>;

/** A pool's workers hold at most one task each. */
export type Pools = {
  /** Joins a pool; a repeat is a heartbeat. With `fencing_token` it extends only the assignment with this token. */
  join(
    pool: string,
    worker: string,
    options?: { lease_seconds?: number; fencing_token?: string },
  ): Promise<TakenTask>;
  /** Returns false if the worker is not in the pool. */
  leave(pool: string, worker: string): Promise<boolean>;
  /** Assigns a task to a free worker, or to the named one. */
  assignTask(
    pool: string,
    task: string,
    options?: { worker?: string; lease_seconds?: number; wait?: boolean },
  ): Promise<Assignment>;
  assignTasks(
    pool: string,
    tasks: string[],
    lease_seconds?: number,
  ): Promise<(Assignment & { task: string })[]>;
  /** Adds waiting tasks, which workers take in this order; returns the number of new ones. */
  addTasks(pool: string, tasks: string[]): Promise<number>;
  takeTask(pool: string, worker: string, lease_seconds?: number): Promise<TakenTask>;
  /** Returns false if no worker holds the task under this fencing token. */
  unassignTask(
    pool: string,
    task: string,
    options?: { fencing_token?: string; again?: boolean },
  ): Promise<boolean>;
  listMembers(pool: string, filter?: PoolMemberFilter): Promise<PoolMember[]>;
  listPools(): Promise<Answer<'GET /v1/pools'>['pools']>;
};

/** Returns null for a call that is refused with this status. */
export async function nullOnStatus<T>(status: number, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TockError && error.status === status) return null;
    throw error;
  }
}

export function httpPools(call: Call): Pools {
  const pathOf = (pool: string) => `/v1/pools/${encodeURIComponent(pool)}`;
  const workerPath = (pool: string, worker: string) =>
    `${pathOf(pool)}/workers/${encodeURIComponent(worker)}`;
  const post = <T>(pool: string, verb: string, body: object) =>
    call<T>('POST', `${pathOf(pool)}/${verb}`, body);
  return {
    join: (pool, worker, options = {}) => call('PUT', workerPath(pool, worker), options),
    leave: async (pool, worker) =>
      (await nullOnStatus(404, call('DELETE', workerPath(pool, worker)))) !== null,
    assignTask: (pool, task, options = {}) => post(pool, 'assign', { task, ...options }),
    assignTasks: async (pool, tasks, lease_seconds) =>
      (
        await post<Answer<'POST /v1/pools/{pool}/assign-all'>>(pool, 'assign-all', {
          tasks,
          lease_seconds,
        })
      ).tasks,
    addTasks: async (pool, tasks) =>
      (await post<Answer<'POST /v1/pools/{pool}/tasks'>>(pool, 'tasks', { tasks })).added,
    takeTask: (pool, worker, lease_seconds) => post(pool, 'take', { worker, lease_seconds }),
    unassignTask: async (pool, task, options = {}) => {
      const answer = post<Unassigned>(pool, 'unassign', { task, ...options });
      return (await nullOnStatus(409, answer))?.unassigned ?? false;
    },
    listMembers: async (pool, filter = {}) =>
      (await call<Members>('GET', `${pathOf(pool)}${queryString(filter)}`)).members,
    listPools: async () => (await call<Answer<'GET /v1/pools'>>('GET', '/v1/pools')).pools,
  };
}
