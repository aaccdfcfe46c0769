import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { watchPlans } from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, numberedTasks, value } from '../../verbs.ts';
import { spreadTasks } from '../sessions.ts';

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

describe('with 2,000 queues of 3 priorities and 8 lanes, 48,000 streams', () => {
  databasePerFile();
  let on: pg.Client;

  // 20 queues with tasks, 10,000 in all, each with its own tenant; all but one queue are completed. The rest
  // have streams only.
  beforeAll(async () => {
    on = await db.connect(db.superUrl);
    for (let queue = 0; queue < 20; queue++) {
      await enqueue(on, `used${queue}`, spreadTasks(500, 3, 500, 4));
      if (queue === 0) continue;
      await complete(on, leaseOf(await claim(on, `used${queue}`, { limit: 1000 })));
    }
    await on.query(
      `insert into tock.streams (number, queue, priority, lane, slot, start_after)
       select nextval('tock.stream_numbers'), 'q' || q, p, l, 0, nextval('tock.positions')
       from generate_series(1, 1980) q, generate_series(4, 6) p, generate_series(0, 7) l`,
    );
  });

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
  databasePerFile();

  test('hold few locks, however many streams, tenants and segments they touch', async () => {
    await client.query(`select tock.put_queue('large', '{"lanes": 64}')`);
    const on = await db.connect();
    const locks = 'select count(*)::integer from pg_locks where pid = pg_backend_pid()';
    const held: Record<string, number> = {};
    const locksOf = async (name: string, work: () => Promise<unknown>) => {
      await on.query('begin');
      await work();
      held[name] = await value<number>(on, locks);
      await on.query('commit');
    };
    // One tenant for each task, ten priorities and 64 lanes: 640 streams for each slot.
    await locksOf('enqueue', () => enqueue(on, 'large', spreadTasks(10_000, 10, 10_000)));
    await enqueue(on, 'large', numberedTasks(2000, 0, { delay_seconds: 3600 }));
    await locksOf('claim', () => claim(on, 'large', { limit: 10_000 }));
    const jobs = ['deactivate_streams()', 'promote(10000, true)', 'create_segments()', 'tick()'];
    for (const call of ['queue_stats()', ...jobs])
      await locksOf(call, () => on.query(`select tock.${call}`));
    // A call locks the tables of its segments with their indexes, and up to 64 streams. A tick locks what its
    // jobs read.
    expect(Object.entries(held).filter(([, count]) => count > 300)).toEqual([]);
    expect(held.enqueue).toBeLessThan(60);
  });
});
