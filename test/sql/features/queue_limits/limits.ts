import type pg from 'pg';
import { row, value } from '../../verbs.ts';

export async function putQueue(client: pg.Client, queue: string, policy: object): Promise<void> {
  await client.query('select tock.put_queue($1, $2)', [queue, JSON.stringify(policy)]);
}

/** Moves the start of the queue's limit back by a minute, so that the next claim trusts the stored count. */
export async function ageLimiter(client: pg.Client, queue: string): Promise<void> {
  await client.query(
    "update tock.queue_limiter_state set seen_at = seen_at - interval '1 minute' where queue = $1",
    [queue],
  );
}

/** Moves the last draw from the rate's bucket back by some seconds. */
export async function advanceLimiter(
  client: pg.Client,
  queue: string,
  seconds: number,
): Promise<void> {
  await client.query(
    "update tock.queue_limiter_state set taken_at = taken_at - $2 * interval '1 second' where queue = $1",
    [queue, seconds],
  );
}

/** Counts the running tasks of a queue from leases and results, in one snapshot. */
export function countRunning(client: pg.Client, queue: string): Promise<number> {
  return value(
    client,
    `select coalesce(sum(l.runs - (
       select count(*) from tock.results e
       where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)), 0)::int
     from tock.leases l join tock.streams s on s.number = l.stream
     where l.closed_at is null and s.queue = $1`,
    [queue],
  );
}

export type Claimed = { got: number; lease: string | null; state: string; after: number };

/** Claims with p_own_transaction, as the HTTP API does, and returns the claim's state too. */
export async function claimAsWorkerDoes(
  client: pg.Client,
  queue: string,
  limit = 1,
): Promise<Claimed> {
  return row<Claimed>(
    client,
    `select cardinality(c.runs) as got, (c.runs[1]).lease, coalesce(s.state, 'found') as state,
       s.retry_after_seconds as after
     from (select array(select r from tock.claim(p_queue => $1, p_limit => $2, p_own_transaction => true) r) as runs offset 0) c
       left join lateral tock.claim_state(array[$1]) s on pg_catalog.cardinality(c.runs) = 0`,
    [queue, limit],
  );
}
