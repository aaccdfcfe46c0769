import type pg from 'pg';
import { sleep } from '../sleep.ts';
import { conditionTimeout } from '../timeout.ts';

export type ClaimOptions = {
  worker?: string | null;
  limit?: number;
  lease_seconds?: number | null;
  request_id?: string | null;
};

export type Run = {
  lease: string;
  leased_until: Date;
  id: string;
  run_id: string;
  attempt: number;
  max_attempts: number;
  priority: number;
  tenant: string | null;
  created_at: Date;
  payload: unknown;
};

export type Refusal = { code: string; message: string; detail: string; hint: string };

type Client = Pick<pg.ClientBase, 'query'>;

export async function rows<T extends object = Record<string, unknown>>(
  client: Client,
  sql: string,
  values: unknown[] = [],
): Promise<T[]> {
  return (await client.query(sql, values)).rows as T[];
}

/** The first row of a statement. */
export async function row<T extends object>(client: Client, sql: string, values: unknown[] = []) {
  return (await rows<T>(client, sql, values))[0] as T;
}

/** The first column of a statement's first row. */
export async function value<T = unknown>(client: Client, sql: string, values: unknown[] = []) {
  const [row] = await rows<Record<string, unknown>>(client, sql, values);
  return (row ? Object.values(row)[0] : undefined) as T;
}

/**
 * Makes all maintenance jobs except deactivate_streams due, in one statement for each. One statement for all could
 * deadlock with a tick, which locks them in another order.
 */
export async function makeMaintenanceDue(client: Client): Promise<void> {
  const maintenance_jobs =
    "select name from tock.maintenance_jobs where name <> 'deactivate_streams'";
  for (const { name } of await rows<{ name: string }>(client, maintenance_jobs)) {
    await client.query(
      'update tock.maintenance_jobs set last_started_at = null, last_ok_at = null where name = $1',
      [name],
    );
  }
}

export async function enqueue(
  client: Client,
  queue: string,
  tasks: unknown,
  requestId: string | null = null,
): Promise<string[]> {
  return value(
    client,
    'select tock.enqueue(p_queue => $1, p_tasks => $2, p_request_id => $3) as ids',
    [queue, JSON.stringify(tasks), requestId],
  );
}

export function numberedTasks(count: number, from = 0, options: object = {}) {
  return Array.from({ length: count }, (_, n) => ({ payload: from + n, ...options }));
}

export async function claim(client: Client, queue: string, options: ClaimOptions = {}) {
  return rows<Run>(
    client,
    `select lease, leased_until, id, run_id, attempt, max_attempts, priority, tenant, created_at, payload
     from tock.claim(p_queue => $1, p_worker => $2, p_limit => $3, p_lease_seconds => $4, p_request_id => $5)`,
    [
      queue,
      options.worker ?? null,
      options.limit ?? 1,
      options.lease_seconds ?? null,
      options.request_id ?? null,
    ],
  );
}

/** Claims until no run is ready; one array of runs for each claim. */
export async function drain(client: Client, queue: string, options: ClaimOptions = {}) {
  const claims: Run[][] = [];
  for (;;) {
    const runs = await claim(client, queue, { limit: 100, ...options });
    if (runs.length === 0) return claims;
    claims.push(runs);
  }
}

export function leaseOf(runs: Run[]): string {
  const [first] = runs;
  if (!first) throw new Error('The claim returned no run.');
  return first.lease;
}

const verbs = {
  complete: 'select completed, refused from tock.complete(p_lease => $1, p_results => $2)',
  fail: 'select failed, dead, refused from tock.fail(p_lease => $1, p_failures => $2)',
  release: 'select released, refused from tock.release(p_lease => $1, p_ids => $2)',
  extend: 'select leased_until, runs from tock.extend(p_lease => $1, p_seconds => $2)',
  tell: 'select runs, refused from tock.extend(p_lease => $1, p_progress => $2)',
} as const;

export type Completed = { completed: number; refused: string[] };
export type Failed = { failed: number; dead: number; refused: string[] };
export type Released = { released: number; refused: string[] };
export type Extended = { leased_until: Date; runs: number };

function json(content: unknown): string | null {
  return content === undefined || content === null ? null : JSON.stringify(content);
}

/** undefined if the lease is no longer the caller's. */
export async function complete(client: Client, lease: string, results?: unknown) {
  return (await rows<Completed>(client, verbs.complete, [lease, json(results)]))[0];
}

export async function fail(client: Client, lease: string, failures?: unknown) {
  return (await rows<Failed>(client, verbs.fail, [lease, json(failures)]))[0];
}

export async function release(client: Client, lease: string, ids: string[] | null = null) {
  return (await rows<Released>(client, verbs.release, [lease, ids]))[0];
}

export async function extend(client: Client, lease: string, seconds: number | null = null) {
  return (await rows<Extended>(client, verbs.extend, [lease, seconds]))[0];
}

/** Extends a lease and reports the progress of its runs. */
export async function extendWithProgress(client: Client, lease: string, progress: unknown) {
  const parameters = [lease, json(progress)];
  return (await rows<{ runs: number; refused: string[] }>(client, verbs.tell, parameters))[0];
}

export type TaskRow = {
  id: string;
  queue: string;
  state: string;
  priority: number;
  tenant: string | null;
  attempt: number;
  max_attempts: number;
  lost: number;
  created_at: Date;
  run_at: Date | null;
  ended_at: Date | null;
  payload: unknown;
  result: unknown;
  error: unknown;
  options: Record<string, unknown> | null;
  progress: number | null;
  note: string | null;
  runs: {
    id: string;
    queue: string;
    attempt: number;
    state: string;
    worker: string | null;
    started_at: string | null;
    leased_until: string | null;
    cancel_requested_at: string | null;
    ended_at: string | null;
    progress: number | null;
    note: string | null;
    result: unknown;
    error: unknown;
  }[];
};

export async function task(client: Client, id: string): Promise<TaskRow | undefined> {
  return (await rows<TaskRow>(client, 'select * from tock.task(p_id => $1)', [id]))[0];
}

/** Moves the lease's deadline to a minute ago. */
export async function expire(client: Client, lease: string): Promise<void> {
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where token = $1",
    [lease],
  );
}

/** Moves the time before which a task had to start, if it has one, to a minute ago. */
export async function expireTask(client: Client, id: string): Promise<void> {
  for (const table of ['runs', 'waiting'])
    await client.query(
      `update tock.${table} set options = jsonb_set(options, '{expires_at}', to_jsonb(now() - interval '1 minute'))
       where (task_id = $1::bigint or position = $1::bigint >> 20) and options ? 'expires_at'`,
      [id],
    );
}

/** Makes all waiting tasks of a queue due a second ago. */
export async function makeDue(client: Client, queue: string): Promise<void> {
  await client.query(
    `update tock.waiting set due_at = now() - interval '1 second'
     where queue = $1 and due_at > now() - interval '1 second'`,
    [queue],
  );
}

export async function reap(client: Client): Promise<number> {
  return value(client, 'select tock.reap(p_sweep => true)');
}

/** Promotes with a sweep, as the maintenance job does. */
export async function promote(client: Client): Promise<number> {
  return value(client, 'select tock.promote(p_limit => 10000, p_sweep => true)');
}

/** The error with which a statement was refused; throws if it succeeded. */
export async function refusal(promise: Promise<unknown>): Promise<Refusal> {
  try {
    await promise;
  } catch (error) {
    const { code, message, detail = '', hint = '' } = error as Refusal;
    return { code, message, detail, hint };
  }
  throw new Error('The call should have been refused, but succeeded.');
}

type Found<T> = Exclude<T, false | null | undefined>;

/** Waits until the condition returns a true value. */
export async function waitUntil<T>(what: string, condition: () => Promise<T>) {
  const end = Date.now() + conditionTimeout;
  for (;;) {
    const result = await condition();
    if (result) return result as Found<T>;
    if (Date.now() > end)
      throw new Error(`Waited ${conditionTimeout / 1000} s in vain until ${what}.`);
    await sleep(20);
  }
}

/**
 * Promotes until a task is in a state. Without `sweep`, promotion does not look for late commits, as a claim's
 * does not.
 */
export async function waitForState(client: Client, id: string, state: string, sweep = true) {
  await waitUntil(`task ${id} is ${state}`, async () => {
    await client.query('select tock.promote(p_limit => 10000, p_sweep => $1)', [sweep]);
    return (await task(client, id))?.state === state;
  });
}

/** Waits until a backend waits for a lock, or until its statement ends if that is given. */
export async function waitUntilBlocked(watcher: Client, pid: number, statement?: Promise<unknown>) {
  let through = false;
  const end = () => {
    through = true;
  };
  statement?.then(end, end);
  const waits = 'select cardinality(pg_blocking_pids($1)) > 0';
  await waitUntil(
    `backend ${pid} waits for a lock`,
    async () => through || value<boolean>(watcher, waits, [pid]),
  );
}

export async function pidOf(client: Client): Promise<number> {
  return value(client, 'select pg_backend_pid()');
}
