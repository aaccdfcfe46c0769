import { beforeAll, expect, test } from 'vitest';
import { brokenSentences } from './invariants.ts';
import { client, databasePerFile } from './test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks } from './verbs.ts';

databasePerFile();
beforeAll(async () => {
  await enqueue(client, 'q', numberedTasks(10));
  await complete(client, leaseOf(await claim(client, 'q', { limit: 3 })));
  await fail(client, leaseOf(await claim(client, 'q', { limit: 2 })), { retry_in_seconds: 0 });
  await fail(client, leaseOf(await claim(client, 'q', { limit: 1 })), { error: 'later' });
  await claim(client, 'q', { limit: 2 });
  const [waits] = await claim(client, 'q');
  await client.query('select tock.save_steps($1, $2)', [
    waits?.lease,
    JSON.stringify([
      { id: waits?.id, name: 'a', result: 1 },
      { id: waits?.id, name: 'w', event: 'e' },
    ]),
  ]);
});

test('an intact database breaks no invariant', async () => {
  expect(await brokenSentences(client)).toEqual({});
});

const first = 'after_position = (select min(after_position) from tock.leases)';
const lease = (change: string) => `update tock.leases set ${change} where ${first}`;

test.each([
  ['a run below its cursor lies in no lease', `delete from tock.leases where ${first}`],
  [
    'a run below its cursor lies in no lease',
    'update tock.streams set start_after = (select last_value from tock.positions)',
  ],
  ['a run lies in two leases', lease('last_position = last_position + 1')],
  ['a lease holds another number of runs than its range', lease('runs = runs - 1')],
  ['a run in a lost lease has no result', lease("outcome = 'lost'")],
  ['a stream sleeps with runs above its cursor', 'update tock.streams set awake = false'],
  ['a next run is missing', 'delete from tock.waiting'],
  [
    'a task ended twice, or goes on after its end',
    "update tock.results set state = 'done', next_id = null where state = 'failed'",
  ],
  [
    'a settled segment holds something unread or running',
    "update tock.segments set closed_at = now(), writers_at_end = '{}' where number = 1",
  ],
  [
    'a step has two outcomes',
    `insert into tock.steps (position, task_id, kind, state, name)
     select position + 1, task_id, kind, state, name from tock.steps where name = 'a'`,
  ],
  ['a wait for an event is not registered', 'delete from tock.event_waits'],
])('the invariants name it: %s', async (sentence, harm) => {
  await client.query('begin');
  await client.query(harm);
  const broken = await brokenSentences(client);
  await client.query('rollback');
  expect(Object.keys(broken)).toContain(sentence);
});
