import type pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { watchPlans } from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  extend,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  rows,
  value,
} from '../../verbs.ts';
import { closeSegments, createSegments } from './segments.ts';

databasePerFile();

beforeAll(async () => {
  // Some segments keep tasks of a paused queue, so they are never dropped.
  await client.query(`select tock.put_queue('paused', '{"paused": true}')`);
  // A lease that ended meanwhile, on a slow machine, would give a task of an earlier segment to a call.
  await client.query(`select tock.put_queue('q', '{"lease_seconds": 86400}')`);
});

/**
 * Creates segments up to this count. Every third has a task of the paused queue; the last but two is the current
 * one.
 */
async function grow(count: number): Promise<void> {
  const all = 'select count(*)::int from tock.segments';
  for (let have = 0; have < count; have = await value<number>(client, all)) {
    const ahead = Math.min(20, count - have);
    const last = '(select max(number) from tock.segments)';
    await createSegments(
      client,
      `p_ahead => ${last} - tock.newest_segment() + ${ahead}, p_width => 1000`,
    );
  }
  // Every third segment gets a task of the paused queue.
  for (;;) {
    const ahead = 'select max(number) - tock.newest_segment() from tock.segments';
    const left = await value<number>(client, ahead);
    if (left <= 2) break;
    await enqueue(client, 'paused', numberedTasks(1));
    await client.query(
      `select setval('tock.positions', (select end_position from tock.segments
         where number = tock.newest_segment() + $1))`,
      [Math.min(2, left - 3)],
    );
  }
  // A task of an earlier segment that came back to a call would have its id looked up there.
  await makeDue(client, 'q');
  while ((await value<number>(client, 'select tock.promote()')) > 0);
  for (const runs of await drain(client, 'q')) await complete(client, leaseOf(runs));
  await value(client, "select nextval('tock.positions')");
  await closeSegments(client);
  await client.query('select tock.tick()');
}

const calls: Record<string, (on: pg.Client) => Promise<unknown>> = {
  enqueue: (on) => enqueue(on, 'q', numberedTasks(3)),
  'a delayed enqueue': (on) => enqueue(on, 'q', numberedTasks(1, 0, { delay_seconds: 1000 })),
  claim: (on) => claim(on, 'q', { limit: 2 }),
  'claim that finds nothing': (on) => claim(on, 'nothing', { limit: 2 }),
  complete: async (on) => complete(on, await leased(on)),
  'complete a part': async (on) => {
    const runs = await claimed(on);
    return complete(on, leaseOf(runs), [{ id: runs[0]?.id, result: 1 }]);
  },
  extend: async (on) => extend(on, await leased(on), 86400),
  fail: async (on) => fail(on, await leased(on), { error: 'no' }),
  'fail for now': async (on) => fail(on, await leased(on), { retry_in_seconds: 0 }),
  promote: (on) => on.query('select tock.promote(p_limit => 5)'),
};

const claimed = async (on: pg.Client) => {
  await enqueue(client, 'q', numberedTasks(2));
  return claim(on, 'q', { limit: 2 });
};
/** The token of a lease that another transaction took. */
const leased = async (_: pg.Client) => leaseOf(await claimed(client));

/** The partitions that a call locks: the table's name, and how many segments before the current one. */
async function locked(call: (on: pg.Client) => Promise<unknown>) {
  const on = await db.connect();
  for (let round = 0; round < 8; round++) {
    await on.query('begin');
    await call(on);
    await on.query(round < 7 ? 'commit' : 'select 1');
  }
  const leaves = await rows<{ leaf: string; back: number }>(
    on,
    `select c.relname as leaf,
       tock.newest_segment() - substring(c.relname from '_([0-9]+)$')::int as back
     from pg_locks l join pg_class c on c.oid = l.relation
     where l.pid = pg_backend_pid() and c.relnamespace = 'tock'::regnamespace
       and c.relkind = 'r' and c.relname ~ '^(runs|leases|results|run_overrides)_[0-9]+$' order by 1`,
  );
  await on.query('commit');
  await on.end();
  return leaves.map((row) => `${row.leaf.replace(/_\d+$/, '')} ${row.back}`).sort();
}

test('a call locks the partitions of the current segment and no others, whether there are 4, 24 or 300', async () => {
  const seen: Record<string, string[]>[] = [];
  for (const count of [4, 24, 300]) {
    await grow(count);
    const now: Record<string, string[]> = {};
    for (const [name, call] of Object.entries(calls)) {
      await makeDue(client, 'q');
      now[name] = await locked(call);
      expect([name, now[name].filter((leaf) => !leaf.endsWith(' 0'))]).toEqual([name, []]);
    }
    seen.push(now);
  }
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[2]).toEqual(seen[0]);
});

test('no plan reads another partition, with old tasks in a hundred segments', async () => {
  const on = await db.connect(db.superUrl);
  const plans = await watchPlans(on);
  for (const call of Object.values(calls)) await call(on);
  await on.query("select id from tock.claim(p_queue => 'q', p_own_transaction => true)");
  const tables = new Set(plans.scans().map((scan) => scan.table));
  await plans.stop();
  const hot = await value<number>(client, 'select tock.newest_segment()');
  const leaves = [...tables].filter((name) => /^(runs|leases|results|run_overrides)/.test(name));
  expect(leaves.length).toBeGreaterThan(3);
  expect(leaves.filter((name) => !name.endsWith(`_${hot}`))).toEqual([]);
});
