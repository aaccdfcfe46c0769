import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { cancel, change } from '../../kernel/change/changes.ts';
import { claim, complete, enqueue, leaseOf, makeDue, promote, task } from '../../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

/** Two tasks of one concurrency key; the first is its holder. */
async function pair(queue: string): Promise<[string, string]> {
  const options = { concurrency_key: 'k' };
  const ids = (await enqueue(client, queue, [options, options])) as [string, string];
  await promote(client);
  return ids;
}

test('a concurrency key admits no task beside a claim in progress whose task was cancelled', async () => {
  const [id] = await pair('cancelled');
  const [worker, other] = [await db.connect(), await db.connect()];
  await worker.query('begin');
  const claimed = await claim(worker, 'cancelled');
  expect(claimed.map((run) => run.id)).toEqual([id]);
  await cancel(client, [id]);
  await other.query('select from tock.claim(p_queue => $1, p_own_transaction => true)', [
    'cancelled',
  ]);
  await promote(client);
  await worker.query('commit');
  await promote(client);
  expect(await claim(client, 'cancelled', { limit: 5 })).toEqual([]);
  expect((await task(client, id))?.state).toBe('running');
  await complete(client, leaseOf(claimed));
  expect(await claim(client, 'cancelled', { limit: 5 })).toHaveLength(1);
});

test('a holder that is changed stays a holder, and runs as changed', async () => {
  const [id] = await pair('changed');
  await change(client, [id], { payload: 'new' });
  await promote(client);
  const claimed = await claim(client, 'changed', { limit: 5 });
  expect(claimed).toMatchObject([{ id, payload: 'new' }]);
});

test('a holder that is delayed admits the next, and returns behind it', async () => {
  const [id, next] = await pair('put-off');
  await change(client, [id], { delay_seconds: 1000 });
  const claimed = await claim(client, 'put-off', { limit: 5 });
  expect(claimed.map((run) => run.id)).toEqual([next]);
  await makeDue(client, 'put-off');
  await promote(client);
  expect(await claim(client, 'put-off', { limit: 5 })).toEqual([]);
  await complete(client, leaseOf(claimed));
  expect(await claim(client, 'put-off', { limit: 5 })).toMatchObject([{ id, attempt: 1 }]);
});
