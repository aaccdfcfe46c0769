import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../database.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  enqueueAndComplete,
  segmentNumbers,
  startNextSegment,
} from '../kernel/segment/segments.ts';
import { claim, complete, enqueue, fail, leaseOf, promote, rows, value } from '../verbs.ts';

let db: Database;
let client: pg.Client;
let key: string;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
  key = await value(
    client,
    "select key from tock.create_key('own', '{read}', p_queues => '{own}')",
  );
});
afterAll(() => db.drop());

/** The id that has the position of one task and the stream of another. */
const mixed = (position = '', stream = '') =>
  String(((BigInt(position) >> 20n) << 20n) | (BigInt(stream) & 0xfffffn));

const found = (id: string) => rows(client, 'select id, queue from tock.task($1)', [id]);
const queueOf = (id: string) =>
  value(client, 'select tock.queue_for_authorization($1, $2)', [key, id]);

// The stream in an id says which keys may use it. So the position alone may not lead to a task of another queue.
test('an id with the position of one task and the stream of another leads to no task of a queue that the key is not for', async () => {
  const [own] = await enqueueAndComplete(client, 'own', 1);
  const [waiting] = await enqueue(client, 'other', [{ delay_seconds: 3600 }]);
  const id = mixed(waiting, own);
  expect([await found(id), await queueOf(id)]).toEqual([[], null]);
  await client.query('update tock.waiting set due_at = now()');
  expect(await promote(client)).toBe(1);
  expect([await found(id), await queueOf(id)]).toEqual([[], null]);

  // A task that waited for a parent, became a run of this queue and was moved.
  const [parent] = await enqueue(client, 'own', [{}]);
  const [child] = await enqueue(client, 'own', [{ depends_on: [parent] }]);
  await complete(client, leaseOf(await claim(client, 'own')));
  await promote(client);
  await client.query("select * from tock.move(array[$1::bigint], 'other')", [child]);
  expect(await found(child as string)).toMatchObject([{ queue: 'other' }]);
  const moved = mixed(child, own);
  expect([await found(moved), await queueOf(moved)]).toEqual([[], null]);

  // The task goes on in another segment. The first one is dropped, and only the positions of its runs are known then.
  // the two are in different lanes, and a claim begins with either
  const runs = [...(await claim(client, 'other')), ...(await claim(client, 'other'))];
  const run = runs.filter(({ id }) => id === waiting);
  await fail(client, leaseOf(run), [{ id: waiting, retry_in_seconds: 3600 }]);
  for (const { lease, id } of runs) if (id !== waiting) await complete(client, lease, [{ id }]);
  expect(await claim(client, 'own')).toEqual([]);
  await startNextSegment(client);
  await closeSegments(client);
  await ageClosedSegments(client, '11 years');
  await dropExpiredSegments(client);
  expect(await segmentNumbers(client)).not.toContain(1);
  expect(await found(run[0]?.run_id as string)).toMatchObject([{ queue: 'other' }]);
  expect(await queueOf(mixed(run[0]?.run_id, own))).toBe('other');
});
