import type pg from 'pg';
import { claim, value } from '../../verbs.ts';

/** Tasks of one concurrency key, with payloads from a number on or all the same. */
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

/** As a claim that is alone does: without a sweep. */
export const promoteDue = (on: pg.Client): Promise<number> => value(on, 'select tock.promote()');

/** What a claim that is alone does: promotes what is due, then claims. */
export async function promoteAndClaim(on: pg.Client, queue: string, limit = 10) {
  while ((await promoteDue(on)) > 0);
  return claim(on, queue, { limit });
}

export const payloadsOf = (runs: { payload: unknown }[]) => runs.map((run) => run.payload);

export const putQueue = (on: pg.Client, queue: string, policy: object) =>
  on.query('select tock.put_queue($1, $2)', [queue, policy]);
