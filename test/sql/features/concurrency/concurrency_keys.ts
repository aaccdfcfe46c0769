import type pg from 'pg';
import { claim, promote, value } from '../../verbs.ts';

/** Tasks of one concurrency key. Their payloads count up from a number, or are all the same text. */
export const tasksWithKey = (
  concurrency_key: string,
  from: number | string = 0,
  count = 1,
  options = {},
) =>
  Array.from({ length: count }, (_, n) => ({
    payload: typeof from === 'number' ? from + n : from,
    concurrency_key,
    ...options,
  }));

/** Promotes without a sweep, as a claim in its own transaction does. */
export const promoteDue = (on: pg.Client): Promise<number> => value(on, 'select tock.promote()');

/** Promotes due tasks and then claims, as a claim in its own transaction does. */
export async function promoteAndClaim(on: pg.Client, queue: string, limit = 10) {
  while ((await promoteDue(on)) > 0);
  return claim(on, queue, { limit });
}

export const payloadsOf = (runs: { payload: unknown }[]) => runs.map((run) => run.payload);

export const putQueue = (on: pg.Client, queue: string, policy: object) =>
  on.query('select tock.put_queue($1, $2)', [queue, policy]);

export const putKey = (on: pg.Client, queue: string, settings: object, key = 'k') =>
  on.query('select tock.put_concurrency_key($1, $2, $3)', [queue, key, settings]);

/** Makes the waiting tasks of a queue due, except those in a wait list, and promotes with a sweep. */
export async function due(on: pg.Client, queue: string): Promise<void> {
  await on.query(
    `update tock.waiting set due_at = now() - interval '1 second' where queue = $1 and due_at < 'infinity'`,
    [queue],
  );
  await promote(on);
}
