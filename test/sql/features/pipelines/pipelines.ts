import type pg from 'pg';
import { expect } from 'vitest';
import { cancel, change } from '../../kernel/change/changes.ts';
import { client } from '../../test_database.ts';
import { claim, complete, enqueue, fail, type Run, type TaskRow, task } from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';

export const stages = ['fetch', 'parse', 'index'];

/** Retries failed runs after a minute. */
export const slowRetries = () =>
  putQueue(client, '*', { backoff_jitter: 0, backoff_base_seconds: 60 });

export const enqueueThroughStages = async (options: object = {}, queue = 'fetch') =>
  (await enqueue(client, queue, [{ payload: 'begun', pipeline: stages, ...options }]))[0] as string;

export const taskById = async (id: string) => (await task(client, id)) as TaskRow;

export async function claimNext(queue: string): Promise<Run> {
  const [run] = await claim(client, queue, { worker: `w of ${queue}` });
  expect(run, `something in ${queue}`).toBeDefined();
  return run as Run;
}

/** Completes one run. `outcome` may have a result and a stage. */
export const completeRun = (run: Run, outcome: object = {}, on: pg.Client = client) =>
  complete(on, run.lease, [{ id: run.id, ...outcome }]);

export const cancelTask = (id: string) => cancel(client, [id]);
export const changeTask = (id: string, changes: object) => change(client, [id], changes);
/** Fails a run whose next attempt is at once. */
export const retryRun = (run: Run) => fail(client, run.lease, { retry_in_seconds: 0 });
