import type pg from 'pg';
import { expect } from 'vitest';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  promote,
  reap,
  release,
  rows,
  value,
} from '../../verbs.ts';

type Client = Pick<pg.ClientBase, 'query'>;

export type ChangeOutcome = { id: string; state: string; changed: boolean };
export type Changes = {
  priority?: number;
  run_at?: string;
  delay_seconds?: number;
  payload?: unknown;
};

export function cancel(client: Client, ids: string[]): Promise<ChangeOutcome[]> {
  return rows(client, 'select id, state, changed from tock.cancel(p_ids => $1)', [ids]);
}

export function change(client: Client, ids: string[], changes: unknown): Promise<ChangeOutcome[]> {
  return rows(client, 'select id, state, changed from tock.change(p_ids => $1, p_changes => $2)', [
    ids,
    JSON.stringify(changes),
  ]);
}

export function erase(client: Client, id: string): Promise<number | null> {
  return value(client, 'select tock.erase(p_id => $1)', [id]);
}

/** Ways in which a run ends so that its task is tried again, without a cancel. */
export const ends: Record<string, (client: Client, lease: string) => Promise<unknown>> = {
  failed: (client, lease) => fail(client, lease, { error: 'e', retry_in_seconds: 0 }),
  'failed with a delay': (client, lease) =>
    fail(client, lease, { error: 'e', retry_in_seconds: 60 }),
  released: (client, lease) => release(client, lease),
  reaped: async (client, lease) => {
    await expire(client, lease);
    await reap(client);
  },
};

/** Claims, and returns the number of runs and the claim's state in the same transaction. */
export async function claimWithState(client: Client, queue: string, limit = 1) {
  const [row] = await rows<{ runs: number; answer: string }>(
    client,
    `with claimed as materialized (select count(*)::int as runs from tock.claim(p_queue => $1, p_limit => $2))
     select c.runs, coalesce(s.state, 'found') as answer
     from claimed c left join lateral tock.claim_state(array[$1]) s on c.runs = 0`,
    [queue, limit],
  );
  return row;
}

/** The tasks whose worker must stop, as extend() returns them; undefined without a lease. */
export async function cancelRequests(client: Client, lease: string): Promise<string[] | undefined> {
  const [row] = await rows<{ cancel: string[] }>(
    client,
    'select cancel from tock.extend(p_lease => $1)',
    [lease],
  );
  return row?.cancel;
}

export const states = ['waiting', 'ready', 'running', 'done', 'dead', 'cancelled'] as const;
export type State = (typeof states)[number];

export type TaskInState = { id: string; state: State; lease: string };

/** A task in the given state, in its own queue. */
export async function taskInState(
  client: Client,
  queue: string,
  state: State,
): Promise<TaskInState> {
  const delay = state === 'waiting' ? { delay_seconds: 1000 } : {};
  const [id] = (await enqueue(client, queue, [{ payload: 'as sent', ...delay }])) as [string];
  let lease = '';
  if (['running', 'done', 'dead'].includes(state)) {
    lease = leaseOf(await claim(client, queue, { worker: 'w' }));
    if (state === 'done') await complete(client, lease, [{ id, result: 'r' }]);
    if (state === 'dead') await fail(client, lease, { fatal: true, error: 'e' });
  }
  if (state === 'cancelled') await cancel(client, [id]);
  return { id, state, lease };
}

/** Expects queue q to have no run left, also after its waiting tasks are due and promoted. */
export async function expectNothingLeft(client: pg.Client): Promise<void> {
  for (let round = 0; round < 3; round++) {
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
    await makeDue(client, 'q');
    await promote(client);
  }
}
