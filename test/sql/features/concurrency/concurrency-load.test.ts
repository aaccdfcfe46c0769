import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  release,
  promote as sweep,
  value,
} from '../../verbs.ts';
import { payloadsOf, promoteAndClaim, putQueue, tasksWithKey } from './concurrency_keys.ts';

databasePerFile();

test('a long expired wait list is processed in parts', async () => {
  await enqueue(client, 'stale', tasksWithKey('k', 0));
  const first = await promoteAndClaim(client, 'stale');
  await enqueue(client, 'stale', [
    ...tasksWithKey('k', 1, 3000, { expires_in_seconds: 3600 }),
    ...tasksWithKey('k', 'fresh'),
  ]);
  while ((await sweep(client)) > 0);
  await client.query(`update tock.waiting set options = options
    || jsonb_build_object('expires_at', now() - interval '1 s') where queue = 'stale' and options ? 'expires_at'`);
  await complete(client, leaseOf(first));
  const left = () =>
    value<number>(
      client,
      `select count(*)::int from tock.waiting where queue = 'stale' and ticket is not null`,
    );
  expect(await left()).toBeGreaterThan(1900);
  for (let n = 0; n < 3; n++) await sweep(client);
  expect(await left()).toBe(0);
  const seen = [];
  for (let n = 0; n < 40 && seen.length === 0; n++)
    seen.push(...payloadsOf(await promoteAndClaim(client, 'stale')));
  expect(seen).toEqual(['fresh']);
});

test('an admission costs the same with a long wait list, many keys and an open transaction', async () => {
  const other = await db.connect();
  await enqueue(client, 'long', [
    ...tasksWithKey('long', 0, 20_000),
    ...Array.from({ length: 500 }, (_, n) => ({ concurrency_key: `key ${n}` })),
  ]);
  while ((await sweep(client)) > 0);
  await client.query(
    'vacuum analyze tock.waiting, tock.concurrency_admissions, tock.concurrency_keys',
  );
  const turn = async (concurrency_key: string) => {
    const explain = `explain (analyze, buffers, format json) select tock.admit_at_keys(array['long'], array[$1])`;
    const plan = await value<{ Plan: Record<string, number> }[]>(client, explain, [
      concurrency_key,
    ]);
    return (plan[0]?.Plan['Shared Hit Blocks'] ?? 0) + (plan[0]?.Plan['Shared Read Blocks'] ?? 0);
  };
  /** Removes the holder, and returns the pages that the next admission reads. */
  const pages = async (concurrency_key: string) => {
    await client.query(
      `insert into tock.concurrency_admissions (number, last_ticket, scanned, queue, concurrency_key, holders)
       select number + 1, last_ticket, scanned, queue, concurrency_key, '{}' from tock.concurrency_admissions
       where queue = 'long' and concurrency_key = $1 order by number desc limit 1`,
      [concurrency_key],
    );
    return turn(concurrency_key);
  };
  const middle = async (concurrency_key: string) => {
    const counts = [];
    for (let n = 0; n < 9; n++) counts.push(await pages(concurrency_key));
    return counts.sort((a, b) => a - b)[4] as number;
  };
  await enqueue(client, 'long', tasksWithKey('short', 0, 20));
  await sweep(client);
  const few = await middle('short');
  expect(await middle('long')).toBeLessThan(few * 1.5);
  await other.query('begin isolation level repeatable read');
  await other.query('select count(*) from tock.waiting');
  for (let n = 0; n < 300; n++) await pages('long');
  expect(await middle('long')).toBeLessThan(few * 1.5);
});

test('with eight workers no more tasks of a key run than its limit, and all tasks end', async () => {
  const limits: Record<string, number> = { a: 1, b: 1, c: 3, d: 2, e: 1 };
  await putQueue(client, 'hammered', {
    backoff_base_seconds: 0,
    max_attempts: 1000,
    max_lost: 1000,
  });
  for (const [concurrency_key, limit] of Object.entries(limits)) {
    await client.query('select tock.put_concurrency_key($1, $2, $3)', [
      'hammered',
      concurrency_key,
      { concurrency_limit: limit },
    ]);
  }
  const running: Record<string, number> = {};
  const done = new Set<string>();
  const total = 200;
  let accepted = 0;
  const worker = async (n: number) => {
    const on = await db.connect();
    const random = (below: number) => Math.floor(Math.random() * below);
    while (done.size < total) {
      if (n < 4 && accepted < total) {
        const count = Math.min(1 + random(5), total - accepted);
        accepted += count;
        const concurrency_keys = Object.keys(limits);
        const tasks = Array.from({ length: count }, () => ({
          concurrency_key: concurrency_keys[random(5)] as string,
        }));
        await enqueue(
          on,
          'hammered',
          tasks.map((task) => ({ ...task, payload: task.concurrency_key })),
        );
      }
      if (random(4) === 0) await sweep(on);
      const runs = await promoteAndClaim(on, 'hammered', 1 + random(6));
      for (const { payload } of runs) {
        const concurrency_key = payload as string;
        running[concurrency_key] = (running[concurrency_key] ?? 0) + 1;
        if (running[concurrency_key] > (limits[concurrency_key] as number))
          throw new Error(`${concurrency_key} has more holders than its limit`);
      }
      if (runs.length === 0) continue;
      const lease = leaseOf(runs);
      if (random(3) === 0) await sleep(random(20));
      for (const { payload } of runs) (running[payload as string] as number)--;
      const choice = random(5);
      if (choice === 0) await fail(on, lease);
      else if (choice === 1) await release(on, lease);
      else if (choice === 2) {
        await expire(on, lease);
        await reap(on);
      } else {
        await complete(on, lease);
        for (const { id } of runs) done.add(id);
      }
    }
    await on.end();
  };
  await Promise.all(Array.from({ length: 8 }, (_, n) => worker(n)));
  expect(done.size).toBe(total);
  await expectInvariants(client);
});
