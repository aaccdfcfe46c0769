import type pg from 'pg';
import { client } from '../../test_database.ts';
import { claim, enqueue, promote, task } from '../../verbs.ts';

export const taskWithKey = (payload: unknown, options: object = {}, key = 'k') => ({
  payload,
  unique_key: key,
  ...options,
});

export const tasksWithKeys = (count: number, key: (n: number) => string, options: object = {}) =>
  Array.from({ length: count }, (_, n) => taskWithKey(n, options, key(n)));

/** Enqueues one task with a key and returns its id. */
export async function enqueueOne(
  queue: string,
  payload: unknown,
  options: object = {},
  on: pg.Client = client,
) {
  const [id] = await enqueue(on, queue, [taskWithKey(payload, options)]);
  return id as string;
}

export async function claimPayloads(queue: string, limit = 10) {
  await promote(client);
  return claim(client, queue, { limit });
}

export const payloadOf = async (id: string) => (await task(client, id))?.payload;
