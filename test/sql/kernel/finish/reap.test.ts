import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { conditionTimeout } from '../../../timeout.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  extend,
  fail,
  leaseOf,
  numberedTasks,
  pidOf,
  reap,
  release,
  task,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
  // A reaper must skip a locked lease. If it waits, the test fails here instead of hanging.
  await client.query(`set statement_timeout = ${conditionTimeout}`);
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

test('a task is taken back when its lease has ended, and not before', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  const lease = leaseOf(await claim(client, 'q', { limit: 3, worker: 'gone' }));
  expect(await reap(client)).toBe(0);
  await expire(client, lease);
  expect(await reap(client)).toBe(3);
  expect(await reap(client)).toBe(0);
  const again = await claim(client, 'q', { limit: 9 });
  expect(again.map((run) => [run.id, run.attempt])).toEqual(ids.map((id) => [id, 2]));
  expect(await task(client, ids[0] as string)).toMatchObject({
    state: 'running',
    lost: 1,
    runs: [
      { state: 'lost', worker: 'gone', error: { name: 'LeaseExpired' } },
      { state: 'running' },
    ],
  });
  await expectInvariants(client);
});

test('a stale lease can neither complete, fail, release nor extend', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const stale = leaseOf(await claim(client, 'q', { limit: 2 }));
  await expire(client, stale);
  await reap(client);
  const fresh = leaseOf(await claim(client, 'q', { limit: 2 }));
  const named = ids.map((id) => ({ id }));
  expect(await complete(client, stale)).toBeUndefined();
  expect(await complete(client, stale, named)).toBeUndefined();
  expect(await fail(client, stale)).toBeUndefined();
  expect(await fail(client, stale, named)).toBeUndefined();
  expect(await release(client, stale)).toBeUndefined();
  expect(await release(client, stale, ids)).toBeUndefined();
  expect(await extend(client, stale, 60)).toBeUndefined();
  expect((await task(client, ids[0] as string))?.state).toBe('running');
  expect(await complete(client, fresh)).toMatchObject({ completed: 2 });
  await expectInvariants(client);
});

test('a stale lease of a task with a pending cancel is refused too', async () => {
  const ids = await enqueue(client, 'unwanted', numberedTasks(2));
  const stale = leaseOf(await claim(client, 'unwanted', { limit: 2 }));
  await client.query('select tock.cancel(p_ids => $1)', [ids]);
  await expire(client, stale);
  await reap(client);
  expect((await task(client, ids[0] as string))?.state).toBe('cancelled');
  const named = ids.map((id) => ({ id }));
  expect(await complete(client, stale)).toBeUndefined();
  expect(await complete(client, stale, named)).toBeUndefined();
  expect(await fail(client, stale)).toBeUndefined();
  expect(await fail(client, stale, named)).toBeUndefined();
  expect(await release(client, stale)).toBeUndefined();
  expect(await release(client, stale, ids)).toBeUndefined();
  expect(await extend(client, stale, 60)).toBeUndefined();
  await expectInvariants(client);
});

test('a task done before its lease ended stays done, only the others are lost', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(4));
  const lease = leaseOf(await claim(client, 'q', { limit: 4 }));
  await complete(client, lease, [{ id: ids[1], result: 'kept' }]);
  await fail(client, lease, [{ id: ids[2], fatal: true }]);
  await expire(client, lease);
  expect(await reap(client)).toBe(2);
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual([ids[0], ids[3]]);
  expect(await task(client, ids[1] as string)).toMatchObject({ state: 'done', result: 'kept' });
  expect((await task(client, ids[2] as string))?.state).toBe('dead');
  expect(await complete(client, lease, [{ id: ids[1], result: 'kept' }])).toMatchObject({
    completed: 1,
  });
  expect(await complete(client, lease)).toBeUndefined();
  await expectInvariants(client);
});

test('a part completed in an open transaction is neither reaped nor run twice', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(3));
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  await expire(client, lease);
  const worker = await db.connect();
  await worker.query('begin');
  expect(await complete(worker, lease, [{ id: ids[0], result: 1 }])).toMatchObject({
    completed: 1,
  });
  expect(await reap(client)).toBe(0);
  await worker.query('commit');
  expect(await reap(client)).toBe(2);
  const again = await claim(client, 'q', { limit: 9 });
  expect(again.map((run) => run.id)).toEqual(ids.slice(1));
  expect((await task(client, ids[0] as string))?.state).toBe('done');
  await expectInvariants(client);
});

test('a part completed while the reaper works is refused as too late', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q', { limit: 2 }));
  await expire(client, lease);
  const reaper = await db.connect();
  await reaper.query('begin');
  expect(await reap(reaper)).toBe(2);
  const pid = await pidOf(client);
  const late = complete(client, lease, [{ id: ids[0], result: 1 }]);
  await waitUntilBlocked(await db.connect(), pid);
  await reaper.query('commit');
  expect(await late).toBeUndefined();
  expect(await claim(client, 'q', { limit: 9 })).toHaveLength(2);
  await expectInvariants(client);
});

test('a whole lease completed while the reaper works is refused, and a reaper beside an open completion skips the lease', async () => {
  await enqueue(client, 'q', numberedTasks(2));
  const lease = leaseOf(await claim(client, 'q', { limit: 2 }));
  await expire(client, lease);
  const other = await db.connect();
  await other.query('begin');
  expect(await reap(other)).toBe(2);
  const pid = await pidOf(client);
  const late = complete(client, lease);
  await waitUntilBlocked(await db.connect(), pid);
  await other.query('commit');
  expect(await late).toBeUndefined();
  const second = leaseOf(await claim(client, 'q', { limit: 2 }));
  await expire(client, second);
  await other.query('begin');
  expect(await complete(other, second)).toMatchObject({ completed: 2 });
  expect(await reap(client)).toBe(0);
  await other.query('commit');
  expect(await reap(client)).toBe(0);
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await expectInvariants(client);
});

test('a claim that commits after its own deadline is reaped too', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const worker = await db.connect();
  await worker.query('begin');
  await expire(worker, leaseOf(await claim(worker, 'q', { limit: 2 })));
  await enqueue(client, 'other', numberedTasks(1));
  await expire(client, leaseOf(await claim(client, 'other')));
  expect(await reap(client)).toBe(1);
  await worker.query('commit');
  expect(await reap(client)).toBe(2);
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual(ids);
  await expectInvariants(client);
});

test('after the clock was set back leases are reaped at their deadlines', async () => {
  await enqueue(client, 'q', numberedTasks(2));
  const [lease, later] = [leaseOf(await claim(client, 'q')), leaseOf(await claim(client, 'q'))];
  // As a job left it whose clock was an hour ahead.
  await client.query(
    `update tock.maintenance_jobs
     set last_started_at = now() + interval '1 hour', reached_at = now() + interval '1 hour',
       swept_at = now() + interval '1 hour' where name = 'reap'`,
  );
  await expire(client, lease);
  const call = () => value(client, 'select tock.reap()');
  expect(await call()).toBe(1);
  await client.query('update tock.leases set leased_until = clock_timestamp() where token = $1', [
    later,
  ]);
  expect(await call()).toBe(1);
  await expectInvariants(client);
});

test('lost runs are counted apart, and a task is dead after max_lost of them', async () => {
  await client.query(`select tock.put_queue('q', '{"max_lost": 3, "max_attempts": 2}')`);
  const [id] = await enqueue(client, 'q', [{}]);
  const lose = async () => {
    await expire(client, leaseOf(await claim(client, 'q')));
    expect(await reap(client)).toBe(1);
  };
  await lose();
  await lose();
  // Lost runs are no failed attempts, so the first failure is not the last attempt.
  const run = await claim(client, 'q');
  expect(run[0]).toMatchObject({ attempt: 3 });
  expect(await fail(client, leaseOf(run), { retry_in_seconds: 0 })).toMatchObject({ dead: 0 });
  await lose();
  expect(await task(client, id as string)).toMatchObject({ state: 'dead', lost: 3 });
  expect((await task(client, id as string))?.runs.map((shownRun) => shownRun.state)).toEqual([
    'lost',
    'lost',
    'failed',
    'lost',
  ]);
  expect(await claim(client, 'q')).toEqual([]);
  await expectInvariants(client);
});

test('leases of thousands are reaped in bounded calls, the earliest first', async () => {
  await enqueue(client, 'q', numberedTasks(300));
  for (let n = 0; n < 6; n++) await claim(client, 'q', { limit: 50 });
  await client.query("update tock.leases set leased_until = now() - interval '1 hour'");
  expect(await value(client, 'select tock.reap(p_limit => 120, p_sweep => true)')).toBe(150);
  expect(await value(client, 'select tock.reap(p_limit => 1, p_sweep => true)')).toBe(50);
  expect(await reap(client)).toBe(100);
  expect(await claim(client, 'q', { limit: 1000 })).toHaveLength(300);
  await expectInvariants(client);
});

test('a lease over several streams is reaped whole', async () => {
  const tasks = numberedTasks(40).map((numberedTask, n) => ({
    ...numberedTask,
    priority: n % 4,
    tenant: `t${n % 10}`,
  }));
  await enqueue(client, 'q', tasks);
  const lease = leaseOf(await claim(client, 'q', { limit: 40 }));
  await expire(client, lease);
  expect(await reap(client)).toBe(40);
  expect(await complete(client, lease)).toBeUndefined();
  expect(await claim(client, 'q', { limit: 100 })).toHaveLength(40);
  await expectInvariants(client);
});

test('a lease of which one row is locked is reaped later, as a whole', async () => {
  const tasks = numberedTasks(4).map((numberedTask, n) => ({ ...numberedTask, priority: n % 2 }));
  await enqueue(client, 'q', tasks);
  const lease = leaseOf(await claim(client, 'q', { limit: 4 }));
  await expire(client, lease);
  // A worker that ends its lease has the first of two rows by now, and is about to lock the second.
  const worker = await db.connect();
  await worker.query('begin');
  await worker.query('select from tock.leases where token = $1 limit 1 for update', [lease]);
  expect(await reap(client)).toBe(0);
  await worker.query('commit');
  expect(await complete(client, lease)).toEqual({ completed: 4, refused: [] });
  await expectInvariants(client);
});

test('the maintenance job takes back more lost tasks than one batch holds', async () => {
  await enqueue(client, 'many', numberedTasks(1500));
  while ((await claim(client, 'many', { limit: 1 })).length > 0);
  await client.query("update tock.leases set leased_until = now() - interval '1 s'");
  expect(await value<number>(client, "select tock.run_maintenance('reap', 600)")).toBe(1500);
});
