import type pg from 'pg';
import { row } from '../verbs.ts';

type Client = Pick<pg.ClientBase, 'query'>;

export type ListedTask = {
  id: string;
  run_id: string;
  queue: string;
  state: string;
  tenant: string | null;
  worker: string | null;
  error: string | null;
  created_at: string;
  waiting_for: string | null;
  concurrency_key: string | null;
  cancel_requested: boolean;
};

/** One page of a search. */
export function searchPart(
  client: Client,
  filter: unknown,
  cursor: string | null = null,
  limit = 100,
) {
  return row<{ tasks: ListedTask[]; cursor: string | null; scanned: number }>(
    client,
    'select * from tock.tasks(p_filter => $1, p_cursor => $2, p_limit => $3)',
    [JSON.stringify(filter), cursor, limit],
  );
}

/** All pages of a search. `between` is called after each page. */
export async function search(
  client: Client,
  filter: object,
  limit = 100,
  between: () => Promise<unknown> = async () => {},
): Promise<ListedTask[]> {
  const all: ListedTask[] = [];
  let cursor: string | null = null;
  for (let calls = 0; calls < 1000; calls++) {
    const part = await searchPart(client, filter, cursor, limit);
    all.push(...part.tasks);
    cursor = part.cursor;
    if (!cursor) return all;
    await between();
  }
  throw new Error('The search had more pages after 1,000 calls.');
}

export const idsOf = (tasks: { id: string }[]) => tasks.map(({ id }) => id);

type Lease = { worker: string | null; late: boolean };

/** One page of running(). */
export function leasesPart(
  client: Client,
  of: { queue?: string; worker?: string; cursor?: string | null; limit?: number } = {},
) {
  return row<{ leases: Lease[]; cursor: string | null; scanned: number }>(
    client,
    'select * from tock.running(p_queue => $1, p_worker => $2, p_cursor => $3, p_limit => $4)',
    [of.queue ?? null, of.worker ?? null, of.cursor ?? null, of.limit ?? 100],
  );
}
