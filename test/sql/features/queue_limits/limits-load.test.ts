import pg from 'pg';
import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { expectInvariants } from '../../invariants.ts';
import { seededRandom } from '../../load.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  reap,
  release,
} from '../../verbs.ts';
import { ageLimiter, countRunning, putQueue } from './limits.ts';

databasePerTest();

/** 57P01: the session was killed. 40001: its snapshot was too old. */
const expected = /^(57P01|40001)$|terminated|connection error/;

test('eight workers, some of them killed, never have more than three tasks at once', async () => {
  const random = seededRandom(Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000));
  await putQueue(client, 'q', { max_running: 3, max_lost: 1000, max_attempts: 1000, lanes: 4 });
  await putQueue(client, 'q', { backoff_base_seconds: 0, backoff_jitter: 0 });
  const tasks = numberedTasks(3000).map((task, n) => ({ ...task, tenant: `t${n % 9}` }));
  await enqueue(client, 'q', tasks);
  let claims = 0;
  const pids = new Map<number, number>();
  const refused = new Set<string>();

  async function work(on: pg.Client): Promise<void> {
    const how = random(12);
    const limit = 1 + random(5);
    if (how < 3) await on.query('begin');
    const runs = await claim(on, 'q', { limit });
    if (how === 1) await sleep(random(20));
    if (how < 3) await on.query(how === 2 ? 'rollback' : 'commit');
    if (runs.length === 0 || how === 2) return;
    claims++;
    await sleep(random(8));
    const lease = leaseOf(runs);
    const [first] = runs.map(({ id }) => ({ id }));
    const end = random(5);
    if (end === 0) await fail(on, lease, [first]);
    else if (end === 1) await release(on, lease, [first?.id as string]);
    else if (end === 2) await complete(on, lease, [first]);
    if (end < 4) await complete(on, lease);
  }

  const going = () => claims < 300;

  async function worker(place: number): Promise<void> {
    while (going()) {
      const on = new pg.Client({ connectionString: db.url });
      on.on('error', () => {});
      await on.connect();
      pids.set(place, (on as unknown as { processID: number }).processID);
      try {
        while (going()) await work(on);
      } catch (error) {
        const { code, message } = error as pg.DatabaseError;
        refused.add(code ?? message);
      }
      await on.end().catch(() => {});
    }
  }

  let most = 0;
  async function observe(on: pg.Client): Promise<void> {
    while (going()) most = Math.max(most, await countRunning(on, 'q'));
  }

  async function disturb(on: pg.Client): Promise<void> {
    for (let round = 0; going(); round++) {
      await sleep(random(40));
      if (round % 3 === 0) {
        const pid = pids.get(random(8));
        await on.query('select pg_terminate_backend($1)', [pid ?? 0]);
      }
      await on.query(
        `update tock.leases set leased_until = now() - interval '1 second'
         where (stream, after_position) in (
           select stream, after_position from tock.leases where closed_at is null limit 1 for update skip locked)`,
      );
      await reap(on);
      await on.query('select tock.promote()');
      // Early claims search for open leases. Later ones read the stored count.
      if (claims > 150) await ageLimiter(on, 'q');
    }
  }

  const workers = Array.from({ length: 8 }, (_, place) => worker(place));
  const watcher = await db.connect();
  const disturber = await db.connect(db.superUrl);
  await Promise.all([...workers, observe(watcher), disturb(disturber)]);
  expect(most).toBe(3);
  expect([...refused].filter((code) => !expected.test(code))).toEqual([]);
  await expectInvariants(client);
});

test('no window holds more starts than the burst and the rate allow, however many workers claim', async () => {
  const [rate, burst] = [40, 7];
  await putQueue(client, 'q', { rate_limit: rate, rate_burst: burst });
  await enqueue(client, 'q', numberedTasks(1000));
  const random = seededRandom(20261122);
  const started: { before: number; after: number; runs: number }[] = [];
  const total = () => started.reduce((sum, { runs }) => sum + runs, 0);
  const workers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  await Promise.all(
    workers.map(async (on) => {
      while (total() < 80) {
        await sleep(random(6));
        const before = performance.now();
        const aborts = random(6) === 0;
        if (aborts) await on.query('begin');
        const runs = await claim(on, 'q', { limit: 1 + random(9) });
        if (aborts) await on.query('rollback');
        else if (runs.length > 0) {
          started.push({ before, after: performance.now(), runs: runs.length });
        }
      }
    }),
  );
  // A start lies between its call and the answer, so the real window may be shorter than this.
  for (const from of started) {
    for (const to of started) {
      const holders = started.filter(
        (start) => start.before >= from.before && start.after <= to.after,
      );
      const runs = holders.reduce((sum, start) => sum + start.runs, 0);
      const seconds = (to.after - from.before) / 1000;
      if (seconds > 0) expect(runs).toBeLessThanOrEqual(Math.ceil(burst + rate * seconds));
    }
  }
  expect(total()).toBeGreaterThanOrEqual(80);
});
