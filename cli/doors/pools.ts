import type pg from 'pg';
import { Failure } from '../failure.ts';
import { ask } from './ask.ts';

export type Held = {
  state: string;
  task: string | null;
  fence: string | null;
  leased_until: string | null;
};
export type Assigned = Omit<Held, 'task'> & { worker: string | null };
export type AssignedTask = Assigned & { task: string };
export type Place = {
  worker: string | null;
  task: string | null;
  state: string;
  fence: string | null;
  since: string;
  leased_until: string | null;
};
export type Pool = { pool: string; free: number; held: number; waiting: number };

type Look = { waiting?: boolean; after?: string; limit?: number };
type Wish = { worker?: string | undefined; lease_seconds?: number | undefined; wait?: boolean };

/** Pools of workers, each of which holds one task at most. */
export type Pools = {
  pools(): Promise<Pool[]>;
  pool(pool: string, look: Look): Promise<Place[]>;
  joinPool(pool: string, worker: string, seconds?: number, fence?: string): Promise<Held>;
  /** False when it isn't there. */
  leavePool(pool: string, worker: string): Promise<boolean>;
  assign(pool: string, task: string, wish: Wish): Promise<Assigned>;
  /** Each to a free worker of its own, while there are any. */
  assignAll(pool: string, tasks: string[], seconds?: number): Promise<AssignedTask[]>;
  take(pool: string, worker: string, seconds?: number): Promise<Held>;
  offer(pool: string, tasks: string[]): Promise<number>;
  /** False when the fence is no longer held; without one a Failure when there was nothing to end. */
  unassign(pool: string, task: string, fence: string | undefined, again: boolean): Promise<boolean>;
};

type Call = {
  found<T>(route: string, body?: string): Promise<T>;
  foundOrNull<T>(route: string): Promise<T | null>;
};

export function httpPools({ found, foundOrNull }: Call): Pools {
  const at = (pool: string) => `/v1/pools/${encodeURIComponent(pool)}`;
  const one = (pool: string, worker: string) => `${at(pool)}/workers/${encodeURIComponent(worker)}`;
  return {
    pools: async () => (await found<{ pools: Pool[] }>('GET /v1/pools')).pools,
    async pool(pool, look) {
      const given = Object.entries(look).map(([name, value]) => [name, String(value)]);
      const route = `GET ${at(pool)}?${new URLSearchParams(given)}`;
      return (await found<{ places: Place[] }>(route)).places;
    },
    joinPool: (pool, worker, lease_seconds, fence) =>
      found(`PUT ${one(pool, worker)}`, JSON.stringify({ lease_seconds, fence })),
    leavePool: async (pool, worker) => (await foundOrNull(`DELETE ${one(pool, worker)}`)) !== null,
    assign: (pool, task, wish) =>
      found(`POST ${at(pool)}/assign`, JSON.stringify({ task, ...wish })),
    async assignAll(pool, tasks, lease_seconds) {
      const body = JSON.stringify({ tasks, lease_seconds });
      return (await found<{ tasks: AssignedTask[] }>(`POST ${at(pool)}/assign-all`, body)).tasks;
    },
    take: (pool, worker, lease_seconds) =>
      found(`POST ${at(pool)}/take`, JSON.stringify({ worker, lease_seconds })),
    offer: async (pool, tasks) =>
      (await found<{ added: number }>(`POST ${at(pool)}/tasks`, JSON.stringify({ tasks }))).added,
    async unassign(pool, task, fence, again) {
      const body = JSON.stringify({ task, fence, again });
      return (await found<{ unassigned: boolean }>(`POST ${at(pool)}/unassign`, body)).unassigned;
    },
  };
}

export function sqlPools(client: pg.Client): Pools {
  const one = async <T extends object>(sql: string, values: unknown[]) =>
    (await ask<T>(client, sql, values))[0] as T;
  return {
    pools: () =>
      ask<Pool>(
        client,
        'select pool, free::float8, held::float8, waiting::float8 from tock.pools()',
      ),
    pool: (pool, { waiting = false, after, limit = 1000 }) =>
      ask<Place>(
        client,
        `select worker, task, state, fence::text, to_json(since) as since, to_json(leased_until) as leased_until
         from tock.pool(p_pool => $1, p_waiting => $2, p_after => $3, p_limit => $4)`,
        [pool, waiting, after, limit],
      ),
    joinPool: (pool, worker, seconds, fence) =>
      one<Held>(
        `select state, task, fence::text, to_json(leased_until) as leased_until
         from tock.join_pool(p_pool => $1, p_worker => $2, p_lease_seconds => $3, p_fence => $4)`,
        [pool, worker, seconds, fence],
      ),
    async leavePool(pool, worker) {
      const sql = 'select tock.leave_pool(p_pool => $1, p_worker => $2) as left';
      return (await one<{ left: boolean }>(sql, [pool, worker])).left;
    },
    assign: (pool, task, { worker, lease_seconds, wait = false }) =>
      one<Assigned>(
        `select state, worker, fence::text, to_json(leased_until) as leased_until
         from tock.assign(p_pool => $1, p_task => $2, p_worker => $3, p_lease_seconds => $4, p_wait => $5)`,
        [pool, task, worker, lease_seconds, wait],
      ),
    assignAll: (pool, tasks, seconds) =>
      ask<AssignedTask>(
        client,
        `select task, state, worker, fence::text, to_json(leased_until) as leased_until
         from tock.assign_all(p_pool => $1, p_tasks => $2, p_lease_seconds => $3)`,
        [pool, tasks, seconds],
      ),
    take: (pool, worker, seconds) =>
      one<Held>(
        `select state, task, fence::text, to_json(leased_until) as leased_until
         from tock.take(p_pool => $1, p_worker => $2, p_lease_seconds => $3)`,
        [pool, worker, seconds],
      ),
    async offer(pool, tasks) {
      const sql = 'select tock.offer(p_pool => $1, p_tasks => $2) as added';
      return (await one<{ added: number }>(sql, [pool, tasks])).added;
    },
    async unassign(pool, task, fence, again) {
      const sql = `select tock.unassign(p_pool => $1, p_task => $2, p_fence => $3, p_again => $4) as done`;
      const { done } = await one<{ done: boolean }>(sql, [pool, task, fence, again]);
      if (done || fence) return done;
      throw new Failure(
        'This task is in no place of the pool: it is over, or unknown.',
        'tock pool list says who has what.',
      );
    },
  };
}
