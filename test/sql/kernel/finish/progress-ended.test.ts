import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  enqueue,
  extendWithProgress,
  fail,
  leaseOf,
  numberedTasks,
  type TaskRow,
  task,
} from '../../verbs.ts';

let db: Database;
let client: pg.Client;
let queues = 0;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(async () => {
  await expectInvariants(client);
  await db.drop();
});

async function leased(count: number) {
  const queue = `q${++queues}`;
  const ids = await enqueue(client, queue, numberedTasks(count));
  return { lease: leaseOf(await claim(client, queue, { limit: count })), ids };
}

const look = async (id: string | undefined) => (await task(client, id as string)) as TaskRow;
const came = async (id: string | undefined) => {
  const [run] = (await look(id)).runs;
  return [run?.progress, run?.note];
};

test('progress for a whole lease does not count for runs that have ended', async () => {
  const { lease, ids } = await leased(6);
  const [early, own, after] = ids as [string, string, string];
  await complete(client, lease, [{ id: early }]);
  await extendWithProgress(client, lease, { progress: 10, note: 'of five' });
  await extendWithProgress(client, lease, [{ id: own, progress: 20 }]);
  await complete(client, lease, [{ id: own }]);
  await fail(client, lease, [{ id: after, error: 'x', fatal: true }]);
  await extendWithProgress(client, lease, { progress: 90, note: 'of three' });
  await extendWithProgress(client, lease, { progress: 95, note: 'of three still' });
  expect(await came(early)).toEqual([null, null]);
  expect(await came(own)).toEqual([20, null]);
  expect(await came(after)).toEqual([10, 'of five']);
  await complete(client, lease);
  for (const id of ids.slice(3)) expect(await came(id)).toEqual([95, 'of three still']);
});

test('a run keeps the progress reported until its end, also if the ending transaction began before the report', async () => {
  const { lease, ids } = await leased(2);
  const worker = await db.connect();
  await worker.query('begin');
  await worker.query('select now()');
  await extendWithProgress(client, lease, { progress: 80 });
  await complete(worker, lease, [{ id: ids[0] }]);
  await worker.query('commit');
  await extendWithProgress(client, lease, { progress: 90 });
  expect((await look(ids[0])).runs).toMatchObject([{ state: 'done', progress: 80 }]);
  expect(await came(ids[1])).toEqual([90, null]);
});
