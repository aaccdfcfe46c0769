import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  leaseOf,
  numberedTasks,
  pidOf,
  reap,
  rows,
  value,
  waitUntil,
  waitUntilBlocked,
} from '../../verbs.ts';
import { createSegments } from '../segment/segments.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

const outcomes = (lease: string) =>
  rows<{ outcome: string | null }>(
    client,
    'select distinct outcome from tock.leases where token = $1',
    [lease],
  );

test('a lease of 1,000 that eight connections complete one by one is done, each run once, and closed', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(1000));
  const runs = await claim(client, 'q', { limit: 1000, lease_seconds: 86_400 });
  const lease = leaseOf(runs);
  expect(runs).toHaveLength(1000);
  let going = true;
  const reaper = db.connect().then(async (on) => {
    while (going) expect(await reap(on)).toBe(0);
  });
  const workers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  let next = 0;
  await Promise.all(
    workers.map(async (on) => {
      for (let at = next++; at < 1000; at = next++) {
        const answer = await complete(on, lease, [{ id: ids[at], result: at }]);
        expect(answer).toEqual({ completed: 1, refused: [] });
      }
    }),
  );
  going = false;
  await reaper;
  // The last two completions may not have seen each other. Then the lease is still open, and the reaper closes it.
  await expire(client, lease);
  expect(await reap(client)).toBe(0);
  expect(await outcomes(lease)).toEqual([{ outcome: 'done' }]);
  const [counted] = await rows(
    client,
    `select count(*)::integer as results, count(distinct result)::integer as different,
       bool_and(state = 'done') as done from tock.results`,
  );
  expect(counted).toEqual({ results: 1000, different: 1000, done: true });
  expect(await claim(client, 'q')).toEqual([]);
  await expectInvariants(client);
});

test('workers and the reaper at an expired lease: each task is done or lost, never both', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(1000));
  const lease = leaseOf(await claim(client, 'q', { limit: 1000 }));
  const workers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  const done = new Set<string>();
  let next = 0;
  const working = (upTo: number) =>
    workers.map(async (on) => {
      while (next < upTo) {
        const id = ids[next++] as string;
        const answer = await complete(on, lease, [{ id, result: 1 }]);
        if (answer && !answer.refused.includes(id)) done.add(id);
      }
    });
  await Promise.all(working(300));
  await expire(client, lease);
  const reaper = await db.connect();
  let reaped = 0;
  const reaping = (async () => {
    do reaped += await reap(reaper);
    while (next < 1000);
  })();
  await Promise.all([...working(1000), reaping]);
  reaped += await reap(reaper);
  expect(reaped).toBe(1000 - done.size);
  const again = (await claim(client, 'q', { limit: 1000 })).map((run) => run.id);
  expect(again).toHaveLength(1000 - done.size);
  expect(again.filter((id) => done.has(id))).toEqual([]);
  expect(await outcomes(lease)).toEqual([{ outcome: done.size === 1000 ? 'done' : 'lost' }]);
  await expectInvariants(client);
});

test('two concurrent last completions that do not see each other: the reaper closes the lease, nothing runs again', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q', { limit: 2 }));
  const [holder, waiter] = [await db.connect(), await db.connect()];
  await holder.query('begin');
  await waiter.query('begin');
  expect(await complete(holder, lease, [{ id: ids[0] }])).toMatchObject({ completed: 1 });
  expect(await complete(waiter, lease, [{ id: ids[1] }])).toMatchObject({ completed: 1 });
  await holder.query('commit');
  await waiter.query('commit');
  expect(await outcomes(lease)).toEqual([{ outcome: null }]);
  await expire(client, lease);
  expect(await reap(client)).toBe(0);
  expect(await outcomes(lease)).toEqual([{ outcome: 'done' }]);
  expect(await claim(client, 'q')).toEqual([]);
  await expectInvariants(client);
});

test('a part in an open transaction keeps the whole lease from the reaper, and the other parts can be done', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(4));
  const lease = leaseOf(await claim(client, 'q', { limit: 4, lease_seconds: 1 }));
  const open = await db.connect();
  await open.query('begin');
  await complete(open, lease, [{ id: ids[0] }]);
  expect(await complete(client, lease, [{ id: ids[1] }])).toMatchObject({ completed: 1 });
  await waitUntil('the lease is over', () =>
    value<boolean>(client, 'select bool_and(leased_until < clock_timestamp()) from tock.leases'),
  );
  expect(await reap(client)).toBe(0);
  await open.query('rollback');
  expect(await reap(client)).toBe(3);
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual([
    ids[0],
    ids[2],
    ids[3],
  ]);
  await expectInvariants(client);
});

test('the same part completed twice concurrently is done once, and both calls succeed', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q', { limit: 2 }));
  const other = await db.connect();
  await other.query('begin');
  const part = [{ id: ids[0], result: 'same' }];
  expect(await complete(other, lease, part)).toMatchObject({ completed: 1 });
  const pid = await pidOf(client);
  const repeated = complete(client, lease, part);
  await waitUntilBlocked(await db.connect(), pid);
  await other.query('commit');
  expect(await repeated).toEqual({ completed: 1, refused: [] });
  expect(await value(client, 'select count(*)::integer from tock.results')).toBe(1);
});

test('a claim at the boundary of a segment gives one lease in one segment, and the next claim the rest', async () => {
  const old = await enqueue(client, 'q', numberedTasks(3, 0, { priority: 1 }));
  await client.query(
    `select setval('tock.positions', (select end_position from tock.segments where number = 1))`,
  );
  await createSegments(client);
  const fresh = await enqueue(client, 'q', numberedTasks(3, 0, { priority: 5 }));
  const first = await claim(client, 'q', { limit: 100 });
  const second = await claim(client, 'q', { limit: 100 });
  expect([first, second].map((runs) => runs.map((run) => run.id))).toEqual([old, fresh]);
  for (const runs of [first, second]) {
    expect(new Set(runs.map((run) => run.lease)).size).toBe(1);
    expect(await complete(client, leaseOf(runs))).toEqual({ completed: 3, refused: [] });
  }
  await expectInvariants(client);
});
