import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectInvariants } from './invariants.ts';
import { createSegments } from './kernel/segment/segments.ts';
import {
  type Load,
  retryTransient,
  seededRandom,
  startClaimers,
  startMaintenance,
  startWriters,
} from './load.ts';
import { claim, complete, enqueue, leaseOf, makeDue, promote, reap, rows, value } from './verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

/** Ends all open leases and promotes all waiting tasks, until every task has ended. */
async function finish(load: Load): Promise<void> {
  await client.query(`select tock.put_queue('stress', '{"concurrency_limit": 1000}')`);
  for (let round = 0; round < 200; round++) {
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    while ((await reap(client)) > 0);
    await makeDue(client, load.queue);
    while ((await promote(client)) > 0);
    const runs = await claim(client, load.queue, { limit: 1000 });
    if (runs.length === 0) return;
    await complete(client, leaseOf(runs));
    for (const run of runs) load.complete(run.id);
  }
  throw new Error('Tasks were left after 200 rounds.');
}

test('each task ends exactly once beside concurrent writers, claimers and maintenance jobs', async () => {
  const seed = Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000);
  const completed = new Map<string, number>();
  const load: Load = {
    queue: 'stress',
    random: seededRandom(seed),
    going: true,
    accepted: new Set(),
    refused: new Map(),
    complete: (id) => completed.set(id, (completed.get(id) ?? 0) + 1),
    connect: () => db.connect(),
  };
  await client.query(`select tock.put_queue('stress', '{"max_attempts": 1000, "max_lost": 1000,
    "backoff_base_seconds": 0.05, "backoff_cap_seconds": 0.3, "lanes": 3}')`);
  // Small segments, so that the positions cross into the next one about every second.
  await enqueue(client, 'other', [{}]);
  await client.query(
    "select setval('tock.positions', (select max(end_position) - 2000 from tock.segments))",
  );
  await createSegments(client, 'p_ahead => 3, p_width => 5000');
  const working = [...startWriters(load, 8), ...startClaimers(load, 6), ...startMaintenance(load)];
  const edge = 'select tock.segment_of(last_value) from tock.positions';
  await retryTransient(
    load,
    working,
    async () => load.accepted.size > 2000 && (await value<number>(client, edge)) > 3,
  );
  await expectInvariants(client);
  await finish(load);
  await expectInvariants(client);

  // A claim with an old snapshot may be refused (40001). Two transactions that take unique keys in several
  // calls, in another order, deadlock: PostgreSQL rolls one of them back (40P01).
  const refusals = ['40001', '40P01'];
  expect([...load.refused.keys()].filter((code) => !refusals.includes(code))).toEqual([]);
  const known = await rows<{ task: string }>(
    client,
    `select distinct coalesce(r.task_id, r.position << 20 | r.stream)::text as task
     from tock.runs r join tock.streams s on s.number = r.stream where s.queue = 'stress'`,
  );
  expect(new Set(known.map((row) => row.task))).toEqual(load.accepted);
  expect([...completed].filter(([, times]) => times !== 1)).toEqual([]);
  expect(completed.size).toBe(load.accepted.size);
  const edges = await value<number>(client, edge);
  console.log(`seed ${seed}: ${load.accepted.size} tasks, up to segment ${edges}`);
});
