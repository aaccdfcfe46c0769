import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { expectInvariants } from '../../invariants.ts';
import { begin } from '../../kernel/sessions.ts';
import { pages } from '../../plans.ts';
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
import { payloadsOf, promoteAndClaim, putKey, putQueue, tasksWithKey } from './concurrency_keys.ts';

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
  const listed = `select count(*)::int from tock.waiting where queue = 'stale' and ticket is not null`;
  const left = () => value<number>(client, listed);
  expect(await left()).toBeGreaterThan(1900);
  for (let n = 0; n < 3; n++) await sweep(client);
  expect(await left()).toBe(0);
  const seen = [];
  for (let n = 0; n < 40 && seen.length === 0; n++)
    seen.push(...payloadsOf(await promoteAndClaim(client, 'stale')));
  expect(seen).toEqual(['fresh']);
});

test('an admission costs the same with a long wait list, many keys and an open transaction', async () => {
  await enqueue(client, 'long', [
    ...tasksWithKey('long', 0, 20_000),
    ...Array.from({ length: 500 }, (_, n) => ({ concurrency_key: `key ${n}` })),
  ]);
  while ((await sweep(client)) > 0);
  await client.query(
    'vacuum analyze tock.waiting, tock.concurrency_admissions, tock.concurrency_keys',
  );
  /** Removes the holder, and returns the pages that the next admission reads. */
  const turn = async (concurrency_key: string) => {
    await client.query(
      `insert into tock.concurrency_admissions (number, last_ticket, scanned, queue, concurrency_key, holders)
       select number + 1, last_ticket, scanned, queue, concurrency_key, '{}' from tock.concurrency_admissions
       where queue = 'long' and concurrency_key = $1 order by number desc limit 1`,
      [concurrency_key],
    );
    return pages(client, `tock.admit_at_keys(array['long'], array['${concurrency_key}'])`);
  };
  const middle = async (concurrency_key: string) => {
    const counts = [];
    for (let n = 0; n < 9; n++) counts.push(await turn(concurrency_key));
    return counts.sort((a, b) => a - b)[4] as number;
  };
  await enqueue(client, 'long', tasksWithKey('short', 0, 20));
  await sweep(client);
  const few = await middle('short');
  expect(await middle('long')).toBeLessThan(few * 1.5);
  const other = await begin('isolation level repeatable read');
  await other.query('select count(*) from tock.waiting');
  for (let n = 0; n < 300; n++) await turn('long');
  expect(await middle('long')).toBeLessThan(few * 1.5);
});

test('with eight workers no more tasks of a key run than its limit, and all tasks end', async () => {
  const limits: Record<string, number> = { a: 1, b: 1, c: 3, d: 2, e: 1 };
  await putQueue(client, 'hammered', {
    backoff_base_seconds: 0,
    max_attempts: 1000,
    max_lost: 999,
  });
  for (const [key, concurrency_limit] of Object.entries(limits))
    await putKey(client, 'hammered', { concurrency_limit }, key);
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
        const keys = Array.from({ length: count }, () => Object.keys(limits)[random(5)]);
        await enqueue(
          on,
          'hammered',
          keys.map((key) => ({ payload: key, concurrency_key: key })),
        );
      }
      if (random(4) === 0) await sweep(on);
      const runs = await promoteAndClaim(on, 'hammered', 1 + random(6));
      for (const key of payloadsOf(runs) as string[]) {
        running[key] = (running[key] ?? 0) + 1;
        if (running[key] > (limits[key] as number))
          throw new Error(`${key} has more holders than its limit`);
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
