import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnCluster, ownCluster } from '../database.ts';
import { expectInvariants } from '../sql/invariants.ts';
import { closeSegments } from '../sql/kernel/segment/segments.ts';
import { complete, drain, enqueue, leaseOf, numberedTasks, value } from '../sql/verbs.ts';

let db: OwnCluster;

beforeAll(async () => {
  db = await ownCluster();
});

afterAll(() => db.drop());

// Until a restart PostgreSQL lists a prepared transaction under its old virtual transaction id, afterwards not.
test('a segment that ended before a crash waits for the task prepared in it', async () => {
  const writer = await db.connect();
  await writer.query('begin');
  const ids = await enqueue(writer, 'held', numberedTasks(2));
  const before = await db.connect();
  await before.query(
    "select setval('tock.positions', (select end_position from tock.segments where number = 1))",
  );
  await closeSegments(before);
  await writer.query("prepare transaction 'held'");
  await db.kill9();
  await db.start();

  const client = await db.connect();
  for (let round = 0; round < 3; round++) {
    await enqueue(client, 'flow', numberedTasks(2));
    for (const runs of await drain(client, 'flow')) await complete(client, leaseOf(runs));
    await closeSegments(client);
  }
  const settled = 'select count(*)::int from tock.segments where closed_at is not null';
  expect(await value(client, settled)).toBe(0);
  await client.query("commit prepared 'held'");
  expect((await drain(client, 'held')).flat().map((run) => run.id)).toEqual(ids);
  await expectInvariants(client);
});
