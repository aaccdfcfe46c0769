import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { claim, complete, enqueue, leaseOf, promote, task } from './support.ts';
import { cancel, change } from './wishes.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const first = { priority: 3 };
const later = { delay_seconds: 1000 };
/** What waits in the place of a run has expired. */
const expire = () =>
  client.query(
    `update tock.waiting set options = options || jsonb_build_object('expires_at', now() - interval '1 s')
     where replaces is not null`,
  );

test.each<[string, (id: string) => Promise<unknown>[]]>([
  ['changed', (id) => [change(client, [id], first)]],
  ['changed and cancelled', (id) => [change(client, [id], first), cancel(client, [id])]],
  ['changed and put off', (id) => [change(client, [id], first), change(client, [id], later)]],
  ['put off and expired', (id) => [change(client, [id], later), expire()]],
  ['put off and cancelled', (id) => [change(client, [id], later), cancel(client, [id])]],
])('a gate lets nobody in beside a claim under way whose task was %s', async (name, wishes) => {
  const queue = name.replaceAll(' ', '-');
  const options = { gate: 'k', expires_in_seconds: 1000 };
  const [id] = (await enqueue(client, queue, [options, options])) as [string];
  await promote(client);
  const [worker, other] = [await db.connect(), await db.connect()];
  await worker.query('begin');
  const claimed = await claim(worker, queue);
  expect(claimed.map((run) => run.id)).toEqual([id]);
  for (const wish of wishes(id)) await wish;
  // what replaces it is passed over, too
  await other.query('select from tock.claim(p_queue => $1, p_alone => true)', [queue]);
  await promote(client);
  await promote(client);
  await worker.query('commit');
  expect(await claim(client, queue, { limit: 5 })).toEqual([]);
  await promote(client);
  expect(await claim(client, queue, { limit: 5 })).toEqual([]);
  expect((await task(client, id))?.state).toBe('running');
  await complete(client, leaseOf(claimed));
  expect(await claim(client, queue, { limit: 5 })).toHaveLength(1);
});
