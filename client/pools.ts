import type { Call } from './call.ts';
import { TockError } from './errors.ts';
import { queryString } from './route.ts';
import type { Answer, Query } from './wire.ts';

export type Taken = Answer<'PUT /v1/pools/{pool}/workers/{worker}'>;
export type Assigned = Answer<'POST /v1/pools/{pool}/assign'>;
export type Place = Answer<'GET /v1/pools/{pool}'>['places'][number];
export type Places = Query<'GET /v1/pools/{pool}'>;

/** Workers of which each holds one task at most. */
export type Pools = {
  /** Joins; again: a heartbeat, with `fence` for that holding alone. */
  join(
    pool: string,
    worker: string,
    options?: { lease_seconds?: number; fence?: string },
  ): Promise<Taken>;
  /** False when there was no such worker. */
  leave(pool: string, worker: string): Promise<boolean>;
  /** Gives a task to one free worker, or to the one that is named. */
  assign(
    pool: string,
    task: string,
    options?: { worker?: string; lease_seconds?: number; wait?: boolean },
  ): Promise<Assigned>;
  assignAll(
    pool: string,
    tasks: string[],
    lease_seconds?: number,
  ): Promise<(Assigned & { task: string })[]>;
  /** Puts tasks down, for workers to take in this order; how many are new. */
  offer(pool: string, tasks: string[]): Promise<number>;
  take(pool: string, worker: string, lease_seconds?: number): Promise<Taken>;
  /** False when the task isn't held so. */
  unassign(
    pool: string,
    task: string,
    options?: { fence?: string; again?: boolean },
  ): Promise<boolean>;
  places(pool: string, filter?: Places): Promise<Place[]>;
  all(): Promise<Answer<'GET /v1/pools'>['pools']>;
};

/** Null instead of a refusal with that status. */
export async function unless<T>(status: number, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TockError && error.status === status) return null;
    throw error;
  }
}

export function httpPools(call: Call): Pools {
  const at = (pool: string) => `/v1/pools/${encodeURIComponent(pool)}`;
  const workerAt = (pool: string, worker: string) =>
    `${at(pool)}/workers/${encodeURIComponent(worker)}`;
  const post = <T>(pool: string, verb: string, body: object) =>
    call<T>('POST', `${at(pool)}/${verb}`, body);
  return {
    join: (pool, worker, options = {}) => call('PUT', workerAt(pool, worker), options),
    leave: async (pool, worker) =>
      (await unless(404, call('DELETE', workerAt(pool, worker)))) !== null,
    assign: (pool, task, options = {}) => post(pool, 'assign', { task, ...options }),
    assignAll: async (pool, tasks, lease_seconds) =>
      (await post<{ tasks: never[] }>(pool, 'assign-all', { tasks, lease_seconds })).tasks,
    offer: async (pool, tasks) => (await post<{ added: number }>(pool, 'tasks', { tasks })).added,
    take: (pool, worker, lease_seconds) => post(pool, 'take', { worker, lease_seconds }),
    unassign: async (pool, task, options = {}) =>
      (await unless(409, post(pool, 'unassign', { task, ...options }))) !== null,
    places: async (pool, filter = {}) =>
      (await call<{ places: Place[] }>('GET', `${at(pool)}${queryString(filter)}`)).places,
    all: async () => (await call<{ pools: never[] }>('GET', '/v1/pools')).pools,
  };
}
