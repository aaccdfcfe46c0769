import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  rows,
  task,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';
import { createSegments } from '../segment/segments.ts';

// The soak found these: races of a change with a claim, and of both with the end of a segment.
let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

const reprioritize = (on: pg.Client, id: string, priority: number) =>
  rows(on, 'select id, state, changed from tock.reprioritize($1, $2)', [[id], priority]);

test('a task that was changed three hundred times is claimed', async () => {
  const [id = ''] = await enqueue(client, 'q', numberedTasks(1));
  for (let times = 0; times < 300; times++) await reprioritize(client, id, times % 10);
  const runs = (await drain(client, 'q')).flat();
  expect(runs.map((run) => run.id)).toEqual([id]);
  expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 1 });
  expect((await task(client, id))?.state).toBe('done');
  await expectInvariants(client);
});

async function pass(): Promise<void> {
  await client.query(
    `select setval('tock.positions', (select e.end_position from tock.segments e
       where e.end_position > s.last_value order by e.number limit 1))
     from tock.positions s`,
  );
  await createSegments(client);
}

/** Ends the current segment, verifies it and drops it as if its retention had passed. */
async function dropSegments(): Promise<number> {
  await client.query('select tock.deactivate_streams()');
  await createSegments(client);
  while ((await value<number>(client, 'select tock.verify_segments()')) > 0);
  await client.query("update tock.segments set closed_at = closed_at - interval '1 month'");
  const segments = () => value<number>(client, 'select count(*)::integer from tock.segments');
  const before = await segments();
  while ((await value<number>(client, 'select tock.drop_expired_segments()')) > 0);
  return before - (await segments());
}

test('a retried task is found by its id when the segment of its first run is dropped', async () => {
  const [id = ''] = await enqueue(client, 'q', numberedTasks(1));
  await fail(client, leaseOf(await claim(client, 'q')), { retry_in_seconds: 3600 });
  await pass();
  await makeDue(client, 'q');
  await promote(client);
  expect(await dropSegments()).toBe(1);
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
  await pass();
  await makeDue(client, 'q');
  await promote(client);
  await complete(client, leaseOf(await claim(client, 'q')));
  expect((await task(client, id))?.state).toBe('done');
  await pass();
  expect(await dropSegments()).toBe(1);
  expect(await task(client, id)).toBeUndefined();
});

const named = { unique_key: 'u', unique_policy: 'unfinished' };
const ofIds = (sql: string) => (on: pg.Client, id: string) => rows(on, sql, [[id]]);
const again = (conflict: string) => (on: pg.Client) =>
  enqueue(on, 'q', [{ payload: ['b'], ...named, on_conflict: conflict }]);

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
  [
    'waited for',
    {},
    (on: pg.Client, id: string) => enqueue(on, 'q', [{ depends_on: [id] }]),
    [['a']],
  ],
])('a task that is promoted while it is being %s stays one task', async (_, key, verb, left) => {
  const [id = ''] = await enqueue(client, 'q', [{ payload: ['a'], delay_seconds: 60, ...key }]);
  await makeDue(client, 'q');
  const promoting = await db.connect();
  await promoting.query('begin');
  // Stops the verb between its reads of the waiting entry and of the promotion.
  await promoting.query('lock table tock.promotions in access exclusive mode');
  await promote(promoting);
  const other = await db.connect();
  const pid = await pidOf(other);
  const answer = verb(other, id);
  await waitUntilBlocked(client, pid);
  await promoting.query('commit');
  expect(await answer).toHaveLength(1);
  const claimed = [...(await drain(client, 'q')), ...(await drain(client, 'to'))].flat();
  expect(claimed.map((run) => run.payload)).toEqual(left);
});
