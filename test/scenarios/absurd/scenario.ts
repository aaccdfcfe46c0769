import pg from 'pg';
import { afterAll, beforeAll, test } from 'vitest';
import type { Handler, SavedStep, Task, WorkCounts } from '../../../client/index.ts';
import { workSql } from '../../../client/sql.ts';
import { there, tock, useClientService } from '../../client/service.ts';
import { inDatabase } from '../../client/stores.ts';
import { promote } from '../../sql/verbs.ts';

let pool: pg.Pool;

/** Prepares Tock over HTTP for the tests of a file, and a pool for workers on its database. */
export function useTock(): void {
  useClientService();
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: there.database.url, max: 2 });
    pool.on('error', () => {});
  });
  afterAll(() => pool.end());
}

type Work = <P>(queue: string, handler: Handler<P>) => Promise<WorkCounts>;

const toTheEnd = { until: 'empty' } as const;

/** The client's workers, over HTTP and on the database. Each works until no task of the queue is ready. */
export const workers: [name: string, work: Work][] = [
  ['createTock', (queue, handler) => tock.work(queue, handler as Handler, toTheEnd)],
  ['workSql', (queue, handler) => workSql(pool, queue, handler as Handler, toTheEnd)],
];

/** Lets time pass in the database. A promotion without a sweep may miss a task that is now due before the last one. */
export async function advance(seconds: number): Promise<void> {
  await inDatabase(there).advance(seconds);
  await promote(there.owner);
}

export async function taskOf(id: string): Promise<Task> {
  const task = await tock.task(id);
  if (!task) throw new Error(`There is no task ${id}.`);
  return task;
}

/** The saved steps of a task, each with its state and its result. */
export const stepsOf = async (id: string): Promise<Record<string, unknown[]>> =>
  resultsOf((await tock.steps(id)) ?? []);

export const resultsOf = (steps: Pick<SavedStep, 'name' | 'state' | 'result'>[]) =>
  Object.fromEntries(steps.map(({ name, state, result }) => [name, [state, result]]));

/** A task, in a lease of its own. */
export async function leased(queue: string, options = {}) {
  const id = await tock.enqueue(queue, null, options);
  return { id, lease: await claimed(queue) };
}

export async function claimed(queue: string, options = {}) {
  const lease = await tock.claim(queue, options);
  if (!lease) throw new Error(`No task of ${queue} is ready.`);
  return lease;
}

/** A test that does in Tock what tests of absurd do. `absurd` has their names: see README.md. */
export const scenario = (sentence: string, absurd: string, run: () => Promise<unknown>) =>
  test(`${sentence} (absurd: ${absurd})`, async () => void (await run()));
