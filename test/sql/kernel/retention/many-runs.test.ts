import type pg from 'pg';
import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  rows,
  task,
} from '../../verbs.ts';
import { expectDropped, startNextSegment } from '../segment/segments.ts';
import { begin, blocked } from '../sessions.ts';

// The soak found these: races of a change with a claim, and of both with the end of a segment.
databasePerTest();

test('a retried task is found by its id when the segment of its first run is dropped', async () => {
  const [id = ''] = await enqueue(client, 'q', numberedTasks(1));
  await fail(client, leaseOf(await claim(client, 'q')), { retry_in_seconds: 3600 });
  await startNextSegment(client);
  await makeDue(client, 'q');
  await promote(client);
  await expectDropped(client, 1);
  expect((await task(client, id))?.state).toBe('ready');
  const lease = leaseOf(await claim(client, 'q'));
  expect((await task(client, id))?.state).toBe('running');
  expect(await rows(client, 'select id, state from tock.cancel($1)', [[id]])).toEqual([
    { id, state: 'running' },
  ]);
  expect(await complete(client, lease, [{ id, result: 1 }])).toMatchObject({ completed: 1 });
  await expectInvariants(client);
});

test('a done task is not reported dead when the segment of its last run was dropped first', async () => {
  const [id = ''] = await enqueue(client, 'q', numberedTasks(2));
  const runs = await claim(client, 'q', { limit: 2 });
  // The other run of the lease is still open, and this keeps the first segment.
  await fail(client, leaseOf(runs), [{ id, retry_in_seconds: 3600 }]);
  await startNextSegment(client);
  await makeDue(client, 'q');
  await promote(client);
  await complete(client, leaseOf(await claim(client, 'q')));
  expect((await task(client, id))?.state).toBe('done');
  await startNextSegment(client);
  await expectDropped(client, 2);
  expect(await task(client, id)).toBeUndefined();
});

const named = { unique_key: 'u', unique_policy: 'unfinished' };
const ofIds = (sql: string) => (on: pg.Client, id: string) => rows(on, sql, [[id]]);
const again = (conflict: string) => (on: pg.Client) =>
  enqueue(on, 'q', [{ payload: ['b'], ...named, on_conflict: conflict }]);

const waiting = (on: pg.Client, id: string) => enqueue(on, 'q', [{ depends_on: [id] }]);

test.each([
  ['looked for', {}, ofIds('select n from tock.resolve_tasks($1)'), [['a']]],
  ['cancelled', {}, ofIds('select id from tock.cancel($1)'), []],
  ['given a payload', {}, ofIds(`select id from tock.change($1, '{"payload": ["b"]}')`), [['b']]],
  ['put off', {}, ofIds(`select id from tock.change($1, '{"delay_seconds": 0}')`), [['a']]],
  ['given a priority', {}, ofIds('select id from tock.reprioritize($1, 1)'), [['a']]],
  ['moved', {}, ofIds("select id from tock.move($1, 'to')"), [['a']]],
  ['rerun', {}, ofIds('select id from tock.rerun($1)'), [['a']]],
  ['merged with another', named, again('merge'), [['a', 'b']]],
  ['replaced by another', named, again('replace'), [['b']]],
  ['named again by its key', named, again('keep'), [['a']]],
  ['waited for', {}, waiting, [['a']]],
])('a task that is promoted while it is being %s stays one task', async (_, key, verb, left) => {
  const [id = ''] = await enqueue(client, 'q', [{ payload: ['a'], delay_seconds: 60, ...key }]);
  await makeDue(client, 'q');
  const promoting = await begin();
  // Stops the verb between its reads of the waiting entry and of the promotion.
  await promoting.query('lock table tock.promotions in access exclusive mode');
  await promote(promoting);
  const answer = await blocked<unknown[]>(await db.connect(), (on) => verb(on, id));
  await promoting.query('commit');
  expect(await answer()).toHaveLength(1);
  const claimed = [...(await drain(client, 'q')), ...(await drain(client, 'to'))].flat();
  expect(claimed.map((run) => run.payload)).toEqual(left);
});
