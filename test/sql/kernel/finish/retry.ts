import { expect } from 'vitest';
import { client } from '../../test_database.ts';
import {
  claim,
  enqueue,
  fail,
  makeDue,
  promote,
  type Run,
  type TaskRow,
  task,
  value,
} from '../../verbs.ts';

let queues = 0;

/** Creates a queue with a policy and tasks. */
export async function queueWithTasks(policy: object, tasks: unknown): Promise<string> {
  const queue = `q${++queues}`;
  await client.query('select tock.put_queue($1, $2)', [queue, JSON.stringify(policy)]);
  await enqueue(client, queue, tasks);
  return queue;
}

/** The next run of the queue's only task, which is promoted first if it waits. */
export async function claimNext(queue: string): Promise<Run> {
  await makeDue(client, queue);
  await promote(client);
  const [run] = await claim(client, queue);
  if (!run) throw new Error('The task was not ready for its next run.');
  return run;
}

export const taskById = async (id: string) => (await task(client, id)) as TaskRow;

export const databaseTime = () => value<Date>(client, 'select clock_timestamp()');

/** Expects the task to be due `seconds` after some instant of the call. */
export async function expectWait(id: string, seconds: number, what: () => Promise<unknown>) {
  const before = (await databaseTime()).getTime();
  await what();
  const after = (await databaseTime()).getTime();
  const due = (await taskById(id)).run_at?.getTime();
  // Dates in JavaScript have milliseconds, instants in the database microseconds.
  expect(due).toBeGreaterThanOrEqual(before + seconds * 1000 - 1);
  expect(due).toBeLessThanOrEqual(after + seconds * 1000 + 1);
}

/** Fails the queue's only task, and expects it to wait `seconds`. */
export async function failing(queue: string, seconds: number, failures?: unknown) {
  const run = await claimNext(queue);
  await expectWait(run.id, seconds, () => fail(client, run.lease, failures));
  return run.id;
}

export const noJitter = { backoff_jitter: 0, max_attempts: 100 };
/** A task's own backoff, different from the queue's: 100 s more after each failure. */
export const taskBackoff = { kind: 'linear', base_seconds: 100, cap_seconds: 100_000, jitter: 0 };
