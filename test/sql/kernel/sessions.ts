import type pg from 'pg';
import { afterEach } from 'vitest';
import { expectInvariants } from '../invariants.ts';
import { client, db } from '../test_database.ts';
import { claim, enqueue, leaseOf, numberedTasks, pidOf, waitUntilBlocked } from '../verbs.ts';

type Call<T> = (on: pg.Client) => Promise<T>;

export const invariantsAfterEach = () => afterEach(() => expectInvariants(client));

/** Begins a transaction in a session of its own. */
export async function begin(how = ''): Promise<pg.Client> {
  const on = await db.connect();
  await on.query(`begin ${how}`);
  return on;
}

/** Makes a call, waits until it waits for a lock, and returns a function that gives its answer. */
export async function blocked<T>(on: pg.Client, call: Call<T>): Promise<() => Promise<T>> {
  const pid = await pidOf(on);
  const answer = call(on);
  await waitUntilBlocked(await db.connect(), pid);
  return () => answer;
}

/** Makes the second call while the first one's transaction is open, and ends that when the second one waits. */
export async function overlapping<A, B>(
  first: Call<A>,
  second: Call<B>,
  end: 'commit' | 'rollback' = 'commit',
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<[A, B]> {
  const holder = await begin();
  const answer = await first(holder);
  const late = await blocked(await db.connect(), second);
  await meanwhile();
  await holder.query(end);
  return [answer, await late()];
}

/** Numbered tasks over some priorities, from `from` on, and over some tenants, or of none. */
export const spreadTasks = (count: number, priorities: number, tenants = 0, from = 0) =>
  numberedTasks(count).map((task, n) => ({
    ...task,
    priority: from + (n % priorities),
    ...(tenants > 0 && { tenant: `t${n % tenants}` }),
  }));

/** Enqueues tasks and claims them all in one lease. */
export async function leased(count: number, queue = 'q', options: object = {}) {
  const ids = await enqueue(client, queue, numberedTasks(count, 0, options));
  return { ids, lease: leaseOf(await claim(client, queue, { limit: count })) };
}

/** Ends the time limit of a lease. */
export const endTimeLimit = (lease: string) =>
  client.query(
    `update tock.leases set leased_until = now() - interval '1 s', timeout_at = now() - interval '1 s'
     where token = $1`,
    [lease],
  );
