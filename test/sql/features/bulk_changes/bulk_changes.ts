import type pg from 'pg';
import { claim, enqueue, fail, leaseOf, numberedTasks, row, rows } from '../../verbs.ts';

type Client = Pick<pg.ClientBase, 'query'>;

export type Rerun = { id: string; state: string; rerun_id: string | null; refused: string | null };

export function rerun(
  client: Client,
  ids: string[],
  requestId: string | null = null,
  reason: string | null = null,
): Promise<Rerun[]> {
  return rows(
    client,
    `select id, state, rerun_id, refused
     from tock.rerun(p_ids => $1, p_request_id => $2, p_reason => $3) order by id`,
    [ids, requestId, reason],
  );
}

export type Redriven = { redriven: number; ids: string[]; cursor: string | null; scanned: number };

type Redrive = {
  error?: string;
  tenant?: string;
  limit?: number;
  cursor?: string | null;
  request_id?: string;
  to_queue?: string;
  again?: boolean;
  reason?: string;
};

export async function redrive(client: Client, queue: string, options: Redrive = {}) {
  const { error, tenant } = options;
  return row<Redriven>(
    client,
    `select redriven, ids, cursor, scanned
     from tock.redrive(p_queue => $1, p_filter => $2, p_limit => $3, p_cursor => $4, p_request_id => $5,
       p_to_queue => $6, p_again => $7, p_reason => $8)`,
    [
      queue,
      JSON.stringify({ ...(error && { error }), ...(tenant && { tenant }) }),
      options.limit ?? 1000,
      options.cursor ?? null,
      options.request_id ?? null,
      options.to_queue ?? null,
      options.again ?? false,
      options.reason ?? null,
    ],
  );
}

export type Listed = {
  id: string;
  run_id: string;
  queue: string;
  state: string;
  priority: number;
  tenant: string | null;
  attempt: number;
  created_at: string;
  run_at: string | null;
  ended_at: string | null;
  worker: string | null;
  error: string | null;
  rerun: boolean;
};

export type Page = { tasks: Listed[]; cursor: string | null; scanned: number };

export async function list(
  client: Client,
  filter: object,
  cursor: string | null = null,
  limit = 100,
) {
  const sql = `select tasks, cursor, scanned
    from tock.tasks(p_filter => $1, p_cursor => $2, p_limit => $3)`;
  return row<Page>(client, sql, [JSON.stringify(filter), cursor, limit]);
}

/** Lists all tasks, page by page. */
export async function listAll(client: Client, filter: object, limit = 100): Promise<Listed[]> {
  const all: Listed[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await list(client, filter, cursor, limit);
    all.push(...page.tasks);
    cursor = page.cursor;
  } while (cursor !== null);
  return all;
}

export type Group = {
  error: string | null;
  tasks: number;
  newest_at: Date;
  newest_id: string;
  counted_all: boolean;
};

export function deadGroups(client: Client, queue: string, limit = 100, look = 100_000) {
  return rows<Group>(
    client,
    `select error, tasks, newest_at, newest_id, counted_all
     from tock.dead_groups(p_queue => $1, p_limit => $2, p_scan_limit => $3)`,
    [queue, limit, look],
  );
}

export type Purged = { ready: string; waiting: number; busy: number; more: boolean };

export async function purge(
  client: Client,
  queue: string,
  state: string | null = null,
  limit = 1_000_000,
): Promise<Purged> {
  const sql = `select ready, waiting, busy, more
    from tock.purge_queue(p_queue => $1, p_state => $2, p_limit => $3)`;
  return row<Purged>(client, sql, [queue, state, limit]);
}

export function move(client: Client, ids: string[], queue: string) {
  return rows<{ id: string; state: string; changed: boolean }>(
    client,
    'select id, state, changed from tock.move(p_ids => $1, p_queue => $2) order by id',
    [ids, queue],
  );
}

/** Creates one dead task for each error, with numbers as payloads. Returns the ids. */
export async function die(
  client: Client,
  queue: string,
  errors: unknown[],
  options: object = {},
): Promise<string[]> {
  const ids = await enqueue(client, queue, numberedTasks(errors.length, 0, options));
  const errorOf = new Map(ids.map((id, n) => [id, errors[n]]));
  for (let left = ids.length; left > 0; ) {
    const runs = await claim(client, queue, { limit: 1000, worker: 'w' });
    const failures = runs.map(({ id }) => ({ id, fatal: true, error: errorOf.get(id) }));
    await fail(client, leaseOf(runs), failures);
    left -= runs.length;
  }
  return ids;
}
