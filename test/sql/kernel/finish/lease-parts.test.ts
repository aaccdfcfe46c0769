import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  leaseOf,
  numberedTasks,
  reap,
  rows,
} from '../../verbs.ts';
import { begin, invariantsAfterEach, leased } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

const outcomes = (lease: string) =>
  rows(client, 'select distinct outcome from tock.leases where token = $1', [lease]);

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
});

test('workers and the reaper at an expired lease: each task is done or lost, never both', async () => {
  const { ids, lease } = await leased(1000);
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
});

test('two concurrent last completions that do not see each other: the reaper closes the lease, nothing runs again', async () => {
  const { ids, lease } = await leased(2);
  const [holder, waiter] = [await begin(), await begin()];
  expect(await complete(holder, lease, [{ id: ids[0] }])).toMatchObject({ completed: 1 });
  expect(await complete(waiter, lease, [{ id: ids[1] }])).toMatchObject({ completed: 1 });
  await holder.query('commit');
  await waiter.query('commit');
  expect(await outcomes(lease)).toEqual([{ outcome: null }]);
  await expire(client, lease);
  expect(await reap(client)).toBe(0);
  expect(await outcomes(lease)).toEqual([{ outcome: 'done' }]);
  expect(await claim(client, 'q')).toEqual([]);
});
