import { beforeEach, expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  extend,
  fail,
  leaseOf,
  numberedTasks,
  reap,
  release,
  task,
  value,
} from '../../verbs.ts';
import { begin, invariantsAfterEach, leased, overlapping, spreadTasks } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

beforeEach(async () => {
  // A reaper must skip a locked lease. If it waits, the test fails here instead of hanging.
  await client.query(`set statement_timeout = ${conditionTimeout}`);
});

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
});

async function expectStale(lease: string, ids: string[]): Promise<void> {
  const named = ids.map((id) => ({ id }));
  for (const part of [undefined, named]) {
    expect(await complete(client, lease, part)).toBeUndefined();
    expect(await fail(client, lease, part)).toBeUndefined();
    expect(await release(client, lease, part && ids)).toBeUndefined();
  }
  expect(await extend(client, lease, 60)).toBeUndefined();
}

test('a stale lease can neither complete, fail, release nor extend', async () => {
  const { ids, lease: stale } = await leased(2);
  await expire(client, stale);
  await reap(client);
  const fresh = leaseOf(await claim(client, 'q', { limit: 2 }));
  await expectStale(stale, ids);
  expect((await task(client, ids[0] as string))?.state).toBe('running');
  expect(await complete(client, fresh)).toMatchObject({ completed: 2 });
});

test('a stale lease of a task with a pending cancel is refused too', async () => {
  const { ids, lease: stale } = await leased(2, 'unwanted');
  await client.query('select tock.cancel(p_ids => $1)', [ids]);
  await expire(client, stale);
  await reap(client);
  expect((await task(client, ids[0] as string))?.state).toBe('cancelled');
  await expectStale(stale, ids);
});

test('a task done before its lease ended stays done, only the others are lost', async () => {
  const { ids, lease } = await leased(4);
  await complete(client, lease, [{ id: ids[1], result: 'kept' }]);
  await fail(client, lease, [{ id: ids[2], fatal: true }]);
  await expire(client, lease);
  expect(await reap(client)).toBe(2);
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual([ids[0], ids[3]]);
  expect(await task(client, ids[1] as string)).toMatchObject({ state: 'done', result: 'kept' });
  expect((await task(client, ids[2] as string))?.state).toBe('dead');
  const repeat = await complete(client, lease, [{ id: ids[1], result: 'kept' }]);
  expect(repeat).toMatchObject({ completed: 1 });
  expect(await complete(client, lease)).toBeUndefined();
});

test.each([
  ['commit', [2]],
  ['rollback', [0, 2]],
])(
  'a part completed in an open transaction is neither reaped nor run twice, and keeps the lease (%s)',
  async (end, left) => {
    const { ids, lease } = await leased(3);
    await expire(client, lease);
    const worker = await begin();
    const part = [{ id: ids[0], result: 1 }];
    expect(await complete(worker, lease, part)).toMatchObject({ completed: 1 });
    expect(await complete(client, lease, [{ id: ids[1] }])).toMatchObject({ completed: 1 });
    expect(await reap(client)).toBe(0);
    await worker.query(end);
    expect(await reap(client)).toBe(left.length);
    const again = await claim(client, 'q', { limit: 9 });
    expect(again.map((run) => run.id)).toEqual(left.map((n) => ids[n]));
  },
);

test('a part completed while the reaper works is refused as too late', async () => {
  const { ids, lease } = await leased(2);
  await expire(client, lease);
  const answers = await overlapping(reap, (on) => complete(on, lease, [{ id: ids[0], result: 1 }]));
  expect(answers).toEqual([2, undefined]);
  expect(await claim(client, 'q', { limit: 9 })).toHaveLength(2);
});

test('a whole lease completed while the reaper works is refused, and a reaper beside an open completion skips the lease', async () => {
  const { lease } = await leased(2);
  await expire(client, lease);
  expect(await overlapping(reap, (on) => complete(on, lease))).toEqual([2, undefined]);
  const second = leaseOf(await claim(client, 'q', { limit: 2 }));
  await expire(client, second);
  const other = await begin();
  expect(await complete(other, second)).toMatchObject({ completed: 2 });
  expect(await reap(client)).toBe(0);
  await other.query('commit');
  expect(await reap(client)).toBe(0);
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
});

test('a claim that commits after its own deadline is reaped too', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(2));
  const worker = await begin();
  await expire(worker, leaseOf(await claim(worker, 'q', { limit: 2 })));
  await enqueue(client, 'other', numberedTasks(1));
  await expire(client, leaseOf(await claim(client, 'other')));
  expect(await reap(client)).toBe(1);
  await worker.query('commit');
  expect(await reap(client)).toBe(2);
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual(ids);
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
  const over = 'update tock.leases set leased_until = clock_timestamp() where token = $1';
  await client.query(over, [later]);
  expect(await call()).toBe(1);
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
  const runs = ['lost', 'lost', 'failed', 'lost'].map((state) => ({ state }));
  expect(await task(client, id as string)).toMatchObject({ state: 'dead', lost: 3, runs });
  expect(await claim(client, 'q')).toEqual([]);
});

test('leases of thousands are reaped in bounded calls, the earliest first', async () => {
  await enqueue(client, 'q', numberedTasks(300));
  for (let n = 0; n < 6; n++) await claim(client, 'q', { limit: 50 });
  await client.query("update tock.leases set leased_until = now() - interval '1 hour'");
  expect(await value(client, 'select tock.reap(p_limit => 120, p_sweep => true)')).toBe(150);
  expect(await value(client, 'select tock.reap(p_limit => 1, p_sweep => true)')).toBe(50);
  expect(await reap(client)).toBe(100);
  expect(await claim(client, 'q', { limit: 1000 })).toHaveLength(300);
});

test('a lease over several streams is reaped whole', async () => {
  await enqueue(client, 'q', spreadTasks(40, 4, 10));
  const lease = leaseOf(await claim(client, 'q', { limit: 40 }));
  await expire(client, lease);
  expect(await reap(client)).toBe(40);
  expect(await complete(client, lease)).toBeUndefined();
  expect(await claim(client, 'q', { limit: 100 })).toHaveLength(40);
});

test('a lease of which one row is locked is reaped later, as a whole', async () => {
  await enqueue(client, 'q', spreadTasks(4, 2));
  const lease = leaseOf(await claim(client, 'q', { limit: 4 }));
  await expire(client, lease);
  // A worker that ends its lease has the first of two rows by now, and is about to lock the second.
  const worker = await begin();
  await worker.query('select from tock.leases where token = $1 limit 1 for update', [lease]);
  expect(await reap(client)).toBe(0);
  await worker.query('commit');
  expect(await complete(client, lease)).toEqual({ completed: 4, refused: [] });
});

test('the maintenance job takes back more lost tasks than one batch holds', async () => {
  await enqueue(client, 'many', numberedTasks(1500));
  while ((await claim(client, 'many', { limit: 1 })).length > 0);
  await client.query("update tock.leases set leased_until = now() - interval '1 s'");
  expect(await value<number>(client, "select tock.run_maintenance('reap', 600)")).toBe(1500);
});
