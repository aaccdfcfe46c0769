import { expect, test } from 'vitest';
import { expectInvariants } from './invariants.ts';
import {
  finishLoad,
  newLoad,
  retryTransient,
  startClaimers,
  startMaintenance,
  startWriters,
} from './load.ts';
import { client, databasePerFile, db } from './test_database.ts';
import { rows, value } from './verbs.ts';

databasePerFile();

test('each task ends exactly once beside concurrent writers, claimers and maintenance jobs', async () => {
  const completed = new Map<string, number>();
  const load = await newLoad(client, db, 'stress', 1000, (id) =>
    completed.set(id, (completed.get(id) ?? 0) + 1),
  );
  const working = [...startWriters(load, 8), ...startClaimers(load, 6), ...startMaintenance(load)];
  const edge = 'select tock.segment_of(last_value) from tock.positions';
  await retryTransient(
    load,
    working,
    async () => load.accepted.size > 2000 && (await value<number>(client, edge)) > 3,
  );
  await expectInvariants(client);
  await finishLoad(client, load);
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
  console.log(`seed ${load.seed}: ${load.accepted.size} tasks, up to segment ${edges}`);
});
