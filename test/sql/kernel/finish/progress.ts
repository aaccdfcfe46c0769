import { expect } from 'vitest';
import { client } from '../../test_database.ts';
import { claim, enqueue, leaseOf, numberedTasks, type TaskRow, task, value } from '../../verbs.ts';

let queues = 0;
export const newQueue = () => `q${++queues}`;

/** Running tasks in one lease. */
export async function enqueueAndClaim(count: number, options: object = {}) {
  const queue = newQueue();
  const ids = await enqueue(client, queue, numberedTasks(count, 0, options));
  const runs = await claim(client, queue, { limit: count, worker: 'w' });
  expect(runs).toHaveLength(count);
  return { queue, lease: leaseOf(runs), ids, id: ids[0] as string };
}

/** A task as it stands. */
export const taskById = async (id: string | undefined) =>
  (await task(client, id as string)) as TaskRow;
/** What a task shows: how far it is, and its note. */
export const shownProgress = async (id: string | undefined) => {
  const { progress, note } = await taskById(id);
  return [progress, note];
};
/** How many rows are kept. */
export const storedProgressRows = () =>
  value<number>(client, 'select count(*)::int from tock.progress');
