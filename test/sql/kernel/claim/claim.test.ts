import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import {
  claim,
  drain,
  enqueue,
  numberedTasks,
  type Run,
  refusal,
  rows,
  value,
} from '../../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

test('an empty queue and an unknown queue give nothing', async () => {
  expect(await claim(client, 'nobody')).toEqual([]);
  expect(await value(client, "select count(*)::int from tock.queues where name = 'nobody'")).toBe(
    0,
  );
});

test('tasks are claimed by priority, and within one priority in order of enqueueing', async () => {
  for (const priority of [5, 0, 9, 3]) {
    await enqueue(client, 'priorities', numberedTasks(3, priority * 10, { priority }));
  }
  const runs = (await drain(client, 'priorities', { limit: 5 })).flat();
  expect(runs.map((run) => run.payload)).toEqual([0, 1, 2, 30, 31, 32, 50, 51, 52, 90, 91, 92]);
});

test('one claim leases from the buckets of all tenants, and no tenant blocks another', async () => {
  const tenants = Array.from({ length: 16 }, (_, n) => `tenant-${n}`);
  await enqueue(client, 'fair', numberedTasks(400, 0, { tenant: 'greedy' }));
  await enqueue(
    client,
    'fair',
    tenants.map((tenant) => ({ tenant, payload: tenant })),
  );
  const lanes = await value<number>(
    client,
    "select count(distinct lane)::int from tock.streams where queue = 'fair'",
  );
  const seen = new Set<string>();
  let claims = 0;
  while (seen.size < lanes && claims < 200) {
    claims += 1;
    const [run] = await claim(client, 'fair');
    const [place] = await rows<{ lane: number }>(
      client,
      'select lane from tock.streams where number = ($1::bigint & 1048575)::int',
      [run?.run_id],
    );
    seen.add(String(place?.lane));
  }
  // Without turns, the 400 runs of the greedy tenant would come before all other lanes.
  expect(seen.size).toBe(lanes);
  const all = (await drain(client, 'fair')).flat();
  expect(all.length + claims).toBe(416);
});

test('a claim gives no more than its limit, and less when less is ready', async () => {
  await enqueue(client, 'limit', numberedTasks(12));
  expect(await claim(client, 'limit')).toHaveLength(1);
  expect(await claim(client, 'limit', { limit: 4 })).toHaveLength(4);
  expect(await claim(client, 'limit', { limit: 10_000 })).toHaveLength(7);
});

test("a lease lasts as long as requested, by default as long as its queue's policy", async () => {
  await client.query(`select tock.put_queue('leases', '{"lease_seconds": 300}')`);
  await enqueue(client, 'leases', numberedTasks(2));
  const seconds = async (options: { lease_seconds?: number }) => {
    const before = await value<Date>(client, 'select clock_timestamp()');
    const [run] = (await claim(client, 'leases', options)) as [Run];
    return (run.leased_until.getTime() - before.getTime()) / 1000;
  };
  const duration = await seconds({ lease_seconds: 40 });
  const policy = await seconds({});
  expect(Math.floor(duration / 10) * 10).toBe(40);
  expect(Math.floor(policy / 10) * 10).toBe(300);
});

test('a paused queue accepts tasks and gives none until it is resumed', async () => {
  await client.query(`select tock.put_queue('paused', '{"paused": true}')`);
  await enqueue(client, 'paused', numberedTasks(2));
  expect(await claim(client, 'paused')).toEqual([]);
  await client.query(`select tock.put_queue('paused', '{"paused": false}')`);
  expect(await claim(client, 'paused', { limit: 5 })).toHaveLength(2);
});

test('a claim that is rolled back leaves its runs ready', async () => {
  const ids = await enqueue(client, 'undone', numberedTasks(3));
  await client.query('begin');
  const first = await claim(client, 'undone', { limit: 3 });
  await client.query('rollback');
  const second = await claim(client, 'undone', { limit: 3 });
  expect(second.map((run) => run.id)).toEqual(ids);
  expect(second[0]?.lease).not.toBe(first[0]?.lease);
});

test('a claim leases exactly the runs that it returns', async () => {
  const tasks = numberedTasks(60).map((task, n) => ({
    ...task,
    tenant: `t${n % 9}`,
    priority: n % 4,
  }));
  await enqueue(client, 'exact', tasks);
  const runs = await claim(client, 'exact', { limit: 45 });
  const leased = await rows<{ id: string }>(
    client,
    `select (r.position << 20 | r.stream)::text as id from tock.leases l
     join tock.runs r
       on r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
     where l.token = $1`,
    [runs[0]?.lease],
  );
  expect(runs).toHaveLength(45);
  expect(leased.map((row) => row.id).sort()).toEqual(runs.map((run) => run.run_id).sort());
});

test('tasks with large payloads are claimed in answers of bounded size', async () => {
  await client.query(`select tock.put_queue('big', '{"max_payload_bytes": 4194304}')`);
  const payload = 'x'.repeat(250_000);
  await enqueue(
    client,
    'big',
    Array.from({ length: 80 }, () => ({ payload })),
  );
  const claims = await drain(client, 'big', { limit: 1000 });
  const sizes = claims.map((runs) =>
    runs.reduce((sum, run) => sum + String(run.payload).length, 0),
  );
  expect(claims.flat()).toHaveLength(80);
  expect(Math.max(...sizes)).toBeLessThan(9_000_000);
  await enqueue(client, 'big', [
    { payload: 'y'.repeat(4_194_000) },
    { payload: 'z'.repeat(4_194_000) },
  ]);
  expect((await drain(client, 'big', { limit: 10 })).map((runs) => runs.length)).toEqual([1, 1]);
});

test('an answer over many tenant buckets and slots with large payloads is bounded too', async () => {
  const payload = 'x'.repeat(120_000);
  const tasks = Array.from({ length: 120 }, (_, n) => ({
    payload,
    tenant: `t${n}`,
    priority: n % 10,
  }));
  await enqueue(client, 'wide', tasks);
  const claims = await drain(client, 'wide', { limit: 1000 });
  const sizes = claims.map((runs) =>
    runs.reduce((sum, run) => sum + String(run.payload).length, 0),
  );
  expect(claims.flat()).toHaveLength(120);
  expect(Math.max(...sizes)).toBeLessThan(9_000_000);
});

describe('a claim is refused with the name of the field for', () => {
  test.each([
    ['limit 0', { limit: 0 }, 'limit'],
    ['a limit above 10,000', { limit: 10_001 }, 'limit'],
    ['a lease of nothing', { lease_seconds: 0 }, 'lease_seconds'],
    ['a lease of more than a day', { lease_seconds: 86_401 }, 'lease_seconds'],
    ['a long name of a worker', { worker: 'w'.repeat(201) }, 'worker'],
  ])('%s', async (_, options, field) => {
    const refused = await refusal(claim(client, 'bad', options));
    expect(refused).toMatchObject({ code: 'TK422', detail: field });
  });

  test('an invalid name', async () => {
    expect(await refusal(claim(client, 'a b'))).toMatchObject({ code: 'TK422', detail: 'queue' });
  });
});
