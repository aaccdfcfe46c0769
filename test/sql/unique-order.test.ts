import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import {
  blocked,
  claim,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  pidOf,
  promote,
  task,
} from './support.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const keyed = (payload: unknown, options: object, key = 'k') => ({
  payload,
  unique_key: key,
  ...options,
});

async function one(queue: string, payload: unknown, options: object) {
  const [id] = await enqueue(client, queue, [keyed(payload, options)]);
  return id as string;
}

const take = async (queue: string, limit = 10) => {
  await promote(client);
  return claim(client, queue, { limit });
};
const payloads = (runs: { payload: unknown }[]) => runs.map((run) => run.payload);
const stateOf = async (id: string) => (await task(client, id))?.state;

async function statesOf(...ids: string[]) {
  const states = [];
  for (const id of ids) states.push(await stateOf(id));
  return states;
}

test('what is merged while a task runs is all there in its next attempt, and in the one after', async () => {
  const merge = { on_conflict: 'merge', unique_policy: 'unfinished' };
  const id = await one('merged', [1], merge);
  for (const attempt of [1, 2]) {
    const runs = await take('merged');
    for (const n of [2, 3]) expect(await one('merged', [10 * attempt + n], merge)).toBe(id);
    await fail(client, leaseOf(runs), { retry_in_seconds: 0 });
  }
  expect(payloads(await take('merged'))).toEqual([[1, 12, 13, 22, 23]]);
});

