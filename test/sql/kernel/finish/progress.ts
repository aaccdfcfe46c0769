import { expect } from 'vitest';
import { client } from '../../test_database.ts';
import { claim, enqueue, leaseOf, numberedTasks, type TaskRow, task, value } from '../../verbs.ts';

let queues = 0;
export const newQueue = () => `q${++queues}`;

export async function enqueueAndClaim(count: number, options: object = {}) {
  const queue = newQueue();
  const ids = await enqueue(client, queue, numberedTasks(count, 0, options));
  const runs = await claim(client, queue, { limit: count, worker: 'w' });
  expect(runs).toHaveLength(count);
  return { queue, lease: leaseOf(runs), ids, id: ids[0] as string };
}

export const taskById = async (id: string | undefined) =>
  (await task(client, id as string)) as TaskRow;
/** The progress and the note that task() shows. */
export const shownProgress = async (id: string | undefined) => {
  const { progress, note } = await taskById(id);
  return [progress, note];
};
export const storedProgressRows = () =>
  value<number>(client, 'select count(*)::int from tock.progress');
