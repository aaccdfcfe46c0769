import type pg from 'pg';
import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks, rows } from '../../verbs.ts';
import { ageClosedSegments, createSegments, expectDropped } from '../segment/segments.ts';

databasePerTest();

test('each task ends exactly once while segments are dropped under load', async () => {
  await createSegments(client, 'p_ahead => 20, p_width => 1500');
  await client.query(
    "select setval('tock.positions', (select end_position from tock.segments where number = 3))",
  );
  await createSegments(client);
  const clients = await Promise.all(Array.from({ length: 6 }, () => db.connect()));
  let writing = true;
  const enqueued: string[] = [];
  const done: string[] = [];
  const writers = clients.slice(0, 2).map(async (connection) => {
    for (let call = 0; call < 120; call++)
      enqueued.push(...(await enqueue(connection, 'q', numberedTasks(1 + (call % 30)))));
  });
  const claimers = clients.slice(2, 5).map(async (connection, n) => {
    for (;;) {
      const last = !writing;
      const runs = await claim(connection, 'q', { limit: [1, 8, 60][n] as number });
      if (runs.length === 0 && last) return;
      if (runs.length === 0) continue;
      const again = runs.filter((run) => run.attempt === 1 && Number(run.payload) % 7 === 0);
      if (again.length > 0) {
        const failures = again.map(({ id }) => ({ id, retry_in_seconds: 0 }));
        const failed = await fail(connection, leaseOf(runs), failures);
        expect(failed).toMatchObject({ failed: again.length });
      }
      const rest = runs.filter((run) => !again.includes(run));
      if (rest.length > 0) {
        expect(await complete(connection, leaseOf(runs))).toMatchObject({ completed: rest.length });
      }
      done.push(...rest.map((run) => run.id));
    }
  });
  const maintenance_jobs = (async () => {
    const connection = clients[5] as pg.Client;
    while (writing) {
      await connection.query('select tock.deactivate_streams()');
      await createSegments(connection, 'p_ahead => 12, p_width => 1500');
      await connection.query('select tock.verify_segments()');
      await ageClosedSegments(connection, '1 year');
      await connection.query('select tock.drop_expired_segments()');
    }
  })();
  await Promise.all(writers);
  writing = false;
  await Promise.all([...claimers, maintenance_jobs]);
  await claim(client, 'q');
  expect(done).toHaveLength(enqueued.length);
  expect(new Set(done)).toEqual(new Set(enqueued));
  await expectInvariants(client);
  await expectDropped(client, 4, 5);
  const reports = "select detail from tock.reports where kind = 'verify_segments'";
  expect(await rows(client, reports)).toEqual([]);
});
