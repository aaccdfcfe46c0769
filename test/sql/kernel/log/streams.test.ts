import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { watchPlans } from '../../plans.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  numberedTasks,
  pidOf,
  rows,
  value,
} from '../../verbs.ts';

const hot =
  /^(runs|leases|run_overrides|results)_\d+$|^(streams|waiting|promotions|queues|segments)$/;

/** The number of rows that the statements of some work read. */
async function read(on: pg.Client, work: () => Promise<unknown>): Promise<number> {
  const plans = await watchPlans(on);
  await work();
  const scans = plans.scans().filter(({ table }) => hot.test(table));
  await plans.stop();
  return scans.reduce((sum, scan) => sum + scan.rows, 0);
}

const spread = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    payload: n,
    priority: 4 + (n % 3),
    tenant: `tenant-${n}`,
  }));

describe('with 2,000 queues of 3 priorities and 8 lanes, 48,000 streams', () => {
  let db: Database;
  let on: pg.Client;

  // 20 queues with tasks, 10,000 in all, each with its own tenant; all but one queue are completed. The rest
  // have streams only.
  beforeAll(async () => {
    db = await freshDatabase();
    on = await db.connect(db.superUrl);
    for (let queue = 0; queue < 20; queue++) {
      await enqueue(on, `used${queue}`, spread(500));
      if (queue === 0) continue;
      await complete(on, leaseOf(await claim(on, `used${queue}`, { limit: 1000 })));
    }
    await on.query(
      `insert into tock.streams (number, queue, priority, lane, slot, start_after)
       select nextval('tock.stream_numbers'), 'q' || q, p, l, 0, nextval('tock.positions')
       from generate_series(1, 1980) q, generate_series(4, 6) p, generate_series(0, 7) l`,
    );
  });

  afterAll(() => db.drop());

  test('an empty claim and a claim of one read only the streams of their own queue, awake or at rest', async () => {
    const empty = () => read(on, () => claim(on, 'used1'));
    const claimOne = () => read(on, async () => expect(await claim(on, 'used0')).toHaveLength(1));
    await empty();
    // 24 streams, with a read of the newest lease and of the first run for each.
    expect(await empty()).toBeLessThan(80);
    expect(await claimOne()).toBeLessThan(80);

    const slept: number[] = [];
    for (let done = -1; done !== 0; slept.push(done)) {
      const reads = await read(on, async () => {
        done = await value<number>(on, 'select tock.deactivate_streams()');
      });
      // A few reads for each stream.
      expect(reads).toBeLessThan(48_000 * 6);
    }
    expect(slept.reduce((sum, count) => sum + count, 0)).toBe(1980 * 24 + 19 * 24);
    expect(Math.max(...slept)).toBe(20_000);

    expect(await empty()).toBeLessThan(10);
    expect(await claimOne()).toBeLessThan(80);
    await on.query('analyze tock.streams');
    expect(await read(on, () => on.query('select tock.deactivate_streams()'))).toBeLessThan(300);
    expect(await read(on, () => on.query('select tock.isolate_tenants()'))).toBeLessThan(3000);
  });
});

describe('the largest calls', () => {
  let db: Database;
  let watcher: pg.Client;

  beforeAll(async () => {
    db = await freshDatabase();
    watcher = await db.connect();
    await watcher.query(`select tock.put_queue('large', '{"lanes": 64}')`);
  });

  afterAll(() => db.drop());

  // One tenant for each task, ten priorities and 64 lanes: 640 streams for each slot.
  const tasks = numberedTasks(10_000).map((task, n) => ({
    ...task,
    tenant: `tenant-${n}`,
    priority: n % 10,
  }));

  async function locksOf(client: pg.Client, work: () => Promise<unknown>): Promise<number> {
    await client.query('begin');
    await work();
    const held = await value<number>(
      watcher,
      'select count(*)::integer from pg_locks where pid = $1',
      [await pidOf(client)],
    );
    await client.query('commit');
    return held;
  }

  test('hold few locks, however many streams, tenants and segments they touch', async () => {
    const on = await db.connect();
    const held: Record<string, number> = {};
    held.enqueue = await locksOf(on, () => enqueue(on, 'large', tasks));
    await enqueue(on, 'large', numberedTasks(2000, 0, { delay_seconds: 3600 }));
    held.claim = await locksOf(on, () => claim(on, 'large', { limit: 10_000 }));
    for (const call of [
      'deactivate_streams()',
      'queue_stats()',
      'promote(10000, true)',
      'create_segments()',
      'tick()',
    ]) {
      held[call] = await locksOf(on, () => on.query(`select tock.${call}`));
    }
    // A call locks the tables of its segments with their indexes, and up to 64 streams. A tick locks what its
    // jobs read.
    expect(Object.entries(held).filter(([, count]) => count > 300)).toEqual([]);
    expect(held.enqueue).toBeLessThan(60);
  });

  test('of twenty connections at once find room in the shared lock table', async () => {
    const room = await value<number>(
      watcher,
      `select current_setting('max_locks_per_transaction')::integer
         * (current_setting('max_connections')::integer + current_setting('max_prepared_transactions')::integer)`,
    );
    const all = await Promise.all(Array.from({ length: 20 }, () => db.connect()));
    await Promise.all(
      all.map(async (on, n) => {
        await on.query('begin');
        if (n % 2) await enqueue(on, 'large', tasks.slice(0, 6000));
        else await claim(on, 'large', { limit: 10_000 });
      }),
    );
    const [held] = await rows<{ all: number; most: number }>(
      watcher,
      `select sum(n)::integer as all, max(n)::integer as most
       from (select count(*) as n from pg_locks where pid = any ($1) group by pid) by_session`,
      [await Promise.all(all.map(pidOf))],
    );
    expect(held?.most).toBeLessThan(250);
    expect(held?.all).toBeLessThan(room / 4);
    await Promise.all(all.map((on) => on.query('commit')));
  });
});
