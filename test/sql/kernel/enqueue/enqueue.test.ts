import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import {
  claim,
  drain,
  enqueue,
  numberedTasks,
  rows,
  type TaskRow,
  task,
  value,
} from '../../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

test('tasks get ids in the order of the call', async () => {
  const ids = await enqueue(client, 'order', numberedTasks(200));
  expect(ids).toHaveLength(200);
  expect(ids.map(BigInt)).toEqual(ids.map(BigInt).sort((a, b) => (a < b ? -1 : 1)));
  const runs = await claim(client, 'order', { limit: 200 });
  expect(runs.map((run) => run.id)).toEqual(ids);
  expect(runs.map((run) => run.payload)).toEqual(
    numberedTasks(200).map((numberedTask) => numberedTask.payload),
  );
});

test('a task keeps its payload, priority, tenant and attempts', async () => {
  const payload = { text: 'ß \\ "quoted"', list: [1, null, { deep: true }] };
  const [id] = await enqueue(client, 'whole', [
    { payload, priority: 2, tenant: 'acme', max_attempts: 4 },
  ]);
  const [run] = await claim(client, 'whole');
  expect(run).toMatchObject({ id, payload, priority: 2, tenant: 'acme', attempt: 1 });
  expect(run?.max_attempts).toBe(4);
});

test('a task may have no payload, and no options but a null', async () => {
  await enqueue(client, 'bare', [{}, { payload: null, priority: null, tenant: null }]);
  const runs = await claim(client, 'bare', { limit: 10 });
  expect(runs.map((run) => run.payload)).toEqual([null, null]);
  expect(runs[1]?.priority).toBe(5);
});

test('an empty call creates no task', async () => {
  expect(await enqueue(client, 'order', [])).toEqual([]);
});

test('a task with a delay waits until the delay is over', async () => {
  const [id] = await enqueue(client, 'later', [{ payload: 1, delay_seconds: 3600 }]);
  const before = await value<Date>(client, 'select now()');
  const row = (await task(client, id as string)) as TaskRow;
  expect(row.state).toBe('waiting');
  const seconds = ((row.run_at as Date).getTime() - before.getTime()) / 1000;
  expect(seconds).toBeGreaterThan(3590);
  expect(seconds).toBeLessThanOrEqual(3600);
  expect(await claim(client, 'later')).toEqual([]);
});

test('a task with run_at waits until then, and a past run_at makes it ready at once', async () => {
  const instant = new Date(Date.now() + 9 * 365 * 86_400_000);
  const [later, past] = await enqueue(client, 'at', [
    { run_at: instant.toISOString().replace('Z', '+00:00'), payload: 'later' },
    { run_at: '2001-01-01T00:00:00Z', payload: 'past' },
  ]);
  expect((await task(client, later as string))?.run_at).toEqual(instant);
  const runs = await claim(client, 'at', { limit: 10 });
  expect(runs.map((run) => run.id)).toEqual([past]);
});

test('a delay of zero is no delay', async () => {
  const [id] = await enqueue(client, 'no-delay', [{ delay_seconds: 0 }]);
  expect(
    await value(client, 'select count(*)::int from tock.waiting where queue = $1', ['no-delay']),
  ).toBe(0);
  expect((await claim(client, 'no-delay'))[0]?.id).toBe(id);
});

test("a tenant's tasks all lie in one bucket, below the queue's number of buckets", async () => {
  await client.query(`select tock.put_queue('lanes', '{"lanes": 4}')`);
  const tenants = numberedTasks(40).map((numberedTask) => ({
    tenant: `tenant-${Number(numberedTask.payload) % 20}`,
  }));
  await enqueue(client, 'lanes', tenants);
  const streams = await rows<{ lanes: number; lane: number }>(
    client,
    `select count(distinct s.lane)::int as lanes, max(s.lane) as lane
     from tock.runs r join tock.streams s on s.number = r.stream
     where s.queue = 'lanes' group by r.tenant`,
  );
  expect(streams).toHaveLength(20);
  expect(streams.every((row) => row.lanes === 1 && row.lane < 4)).toBe(true);
  expect(new Set(streams.map((row) => row.lane)).size).toBeGreaterThan(1);
});

test('an unknown queue is created with the default policy', async () => {
  await client.query(`select tock.put_queue('*', '{"lease_seconds": 77, "max_attempts": 3}')`);
  await enqueue(client, 'named', [{}]);
  const [queue] = await rows(client, "select * from tock.queues where name = 'named'");
  expect(queue).toMatchObject({ lease_seconds: 77, max_attempts: 3, lanes: 8, paused: false });
  await client.query(`select tock.put_queue('*', '{"lease_seconds": 60, "max_attempts": 10}')`);
});

test('a large call is spread over slots, and several workers share it at once', async () => {
  const ids = await enqueue(client, 'large', numberedTasks(12_000));
  const slots = await value<number>(
    client,
    `select count(distinct s.slot)::int from tock.streams s where s.queue = 'large'`,
  );
  expect(slots).toBe(3);
  const holder = await db.connect();
  await holder.query('begin');
  const first = await claim(holder, 'large', { limit: 10 });
  const second = await claim(client, 'large', { limit: 10 });
  await holder.query('commit');
  expect([first.length, second.length]).toEqual([10, 10]);
  const others = (await drain(client, 'large', { limit: 5000 })).flat();
  const all = [...first, ...second, ...others];
  expect(all.map((run) => run.id).sort()).toEqual([...ids].sort());
  for (const run of all) expect(run.id).toBe(ids[Number(run.payload)]);
});

test('enqueue_task() enqueues one task with plain arguments', async () => {
  const id = await value<string>(
    client,
    `select tock.enqueue_task(p_queue => 'plain', p_payload => '{"a": 1}', p_priority => 1,
       p_tenant => 'acme', p_max_attempts => 2)`,
  );
  const [run] = await claim(client, 'plain');
  expect(run).toMatchObject({
    id,
    payload: { a: 1 },
    priority: 1,
    tenant: 'acme',
    max_attempts: 2,
  });
  const later = await value<string>(
    client,
    `select tock.enqueue_task(p_queue => 'plain', p_run_at => now() + interval '9 years')`,
  );
  expect(await task(client, later)).toMatchObject({ state: 'waiting', payload: null });
});
