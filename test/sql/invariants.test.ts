import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { brokenSentences } from './invariants.ts';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks } from './verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
  await enqueue(client, 'q', numberedTasks(10));
  await complete(client, leaseOf(await claim(client, 'q', { limit: 3 })));
  await fail(client, leaseOf(await claim(client, 'q', { limit: 2 })), { retry_in_seconds: 0 });
  await fail(client, leaseOf(await claim(client, 'q', { limit: 1 })), { error: 'later' });
  await claim(client, 'q', { limit: 2 });
});

afterAll(() => db.drop());

test('an intact database breaks no invariant', async () => {
  expect(await brokenSentences(client)).toEqual({});
});

const first = '(select min(after_position) from tock.leases)';

test.each([
  [
    'a deleted lease',
    `delete from tock.leases where after_position = ${first}`,
    'a run below its cursor lies in no lease',
  ],
  [
    'two leases of one run',
    `update tock.leases set last_position = last_position + 1 where after_position = ${first}`,
    'a run lies in two leases',
  ],
  [
    'a lease with more runs than delivered',
    `update tock.leases set runs = runs - 1 where after_position = ${first}`,
    'a lease holds another number of runs than its range',
  ],
  [
    'a lease closed as lost without results',
    `update tock.leases set outcome = 'lost' where after_position = ${first}`,
    'a run in a lost lease has no result',
  ],
  [
    'a stream at rest with a backlog',
    'update tock.streams set awake = false',
    'a stream sleeps with runs above its cursor',
  ],
  [
    'a cursor moved past runs',
    'update tock.streams set start_after = (select last_value from tock.positions)',
    'a run below its cursor lies in no lease',
  ],
  ['a deleted retry', 'delete from tock.waiting', 'a next run is missing'],
  [
    'a done task with a further run',
    "update tock.results set state = 'done', next_id = null where state = 'failed'",
    'a task ended twice, or goes on after its end',
  ],
  [
    'a segment closed too early',
    "update tock.segments set closed_at = now(), writers_at_end = '{}' where number = 1",
    'a settled segment holds something unread or running',
  ],
])('the invariants name %s', async (_, harm, sentence) => {
  await client.query('begin');
  await client.query(harm);
  const broken = await brokenSentences(client);
  await client.query('rollback');
  expect(Object.keys(broken)).toContain(sentence);
});
