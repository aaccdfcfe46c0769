import type pg from 'pg';
import { row, rows, value } from '../../verbs.ts';

type Client = Pick<pg.ClientBase, 'query'>;

export type PoolAnswer = {
  state: string;
  worker?: string | null;
  task?: string | null;
  fencing_token: string | null;
  leased_until: Date | null;
};

export const joinPool = (
  client: Client,
  pool: string,
  worker: string,
  { seconds = 60, fencing_token = null }: { seconds?: number; fencing_token?: string | null } = {},
) =>
  row<PoolAnswer>(
    client,
    `select * from tock.join_pool(p_pool => $1, p_worker => $2, p_lease_seconds => $3, p_fencing_token => $4)`,
    [pool, worker, seconds, fencing_token],
  );

export const assignTask = (
  client: Client,
  pool: string,
  task: string,
  {
    worker = null,
    seconds = null,
    wait = false,
  }: { worker?: string | null; seconds?: number | null; wait?: boolean } = {},
) =>
  row<PoolAnswer>(
    client,
    `select * from tock.assign_task(p_pool => $1, p_task => $2, p_worker => $3, p_lease_seconds => $4, p_wait => $5)`,
    [pool, task, worker, seconds, wait],
  );

export const takeTask = (
  client: Client,
  pool: string,
  worker: string,
  seconds: number | null = null,
) =>
  row<PoolAnswer>(
    client,
    'select * from tock.take_task(p_pool => $1, p_worker => $2, p_lease_seconds => $3)',
    [pool, worker, seconds],
  );

export const leavePool = (client: Client, pool: string, worker: string) =>
  value<boolean>(client, 'select tock.leave_pool(p_pool => $1, p_worker => $2)', [pool, worker]);

export const addTasks = (client: Client, pool: string, tasks: unknown) =>
  value<number>(client, 'select tock.add_tasks(p_pool => $1, p_tasks => $2)', [pool, tasks]);

export const unassignTask = (
  client: Client,
  pool: string,
  task: string,
  { fencing_token = null, again = false }: { fencing_token?: string | null; again?: boolean } = {},
) =>
  value<boolean>(
    client,
    'select tock.unassign_task(p_pool => $1, p_task => $2, p_fencing_token => $3, p_again => $4)',
    [pool, task, fencing_token, again],
  );

/** The members of a pool as worker, task and state; workers first. */
export async function poolState(client: Client, pool: string): Promise<(string | null)[][]> {
  const members = await rows<{ worker: string; task: string; state: string }>(
    client,
    `select worker, task, state from tock.pool(p_pool => $1)
     union all select worker, task, state from tock.pool(p_pool => $1, p_waiting => true)`,
    [pool],
  );
  return members.map(({ worker, task, state }) => [worker, task, state]);
}

/** Moves the end of the worker's lease to a second ago. */
export async function expireWorker(client: Client, pool: string, worker: string): Promise<void> {
  await client.query(
    `update tock.pool_members set leased_until = clock_timestamp() - interval '1 second',
       check_at = clock_timestamp() - interval '1 second'
     where pool = $1 and worker = $2`,
    [pool, worker],
  );
}

export const reapPools = (client: Client) =>
  value<number>(client, 'select tock.reap_pools(p_sweep => true)');

/** Assigns many tasks in one call. Returns the answers in the order of the tasks. */
export const assignAll = (client: Client, pool: string, tasks: unknown) =>
  rows<PoolAnswer>(client, 'select * from tock.assign_tasks(p_pool => $1, p_tasks => $2)', [
    pool,
    tasks,
  ]);

/** The names t1, t2, … for a prefix t. */
export const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`);

/** Lets workers w1, w2, … join. */
export const fill = (client: Client, pool: string, count: number) =>
  client.query(
    "select tock.join_pool($1, 'w' || n, 600) from generate_series(1, $2::int) n order by n",
    [pool, count],
  );
