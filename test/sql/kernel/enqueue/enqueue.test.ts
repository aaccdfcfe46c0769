import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
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
import { begin, spreadTasks } from '../sessions.ts';

databasePerFile();

test('tasks get ids in the order of the call', async () => {
  const tasks = numberedTasks(200);
  const ids = await enqueue(client, 'order', tasks);
  expect(ids).toEqual(ids.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)));
  const runs = await claim(client, 'order', { limit: 200 });
  expect(runs.map((run) => run.id)).toEqual(ids);
  expect(runs.map((run) => run.payload)).toEqual(tasks.map((task) => task.payload));
});

test('a task keeps its payload, priority, tenant and attempts', async () => {
  const payload = { text: 'ß \\ "quoted"', list: [1, null, { deep: true }] };
  const options = { payload, priority: 2, tenant: 'acme', max_attempts: 4 };
  const [id] = await enqueue(client, 'whole', [options]);
  expect(await claim(client, 'whole')).toMatchObject([{ id, ...options, attempt: 1 }]);
});

test('a task may have no payload and options that are null, and a call no task', async () => {
  expect(await enqueue(client, 'bare', [])).toEqual([]);
  await enqueue(client, 'bare', [{}, { payload: null, priority: null, tenant: null }]);
  const bare = { payload: null, priority: 5, tenant: null };
  expect(await claim(client, 'bare', { limit: 10 })).toMatchObject([bare, bare]);
});

test('a task with a delay waits until the delay is over', async () => {
  const [id] = await enqueue(client, 'later', [{ payload: 1, delay_seconds: 3600 }]);
  const { state, run_at, created_at } = (await task(client, id as string)) as TaskRow;
  expect(state).toBe('waiting');
  expect(Math.round((Number(run_at) - Number(created_at)) / 1000)).toBe(3600);
  expect(await claim(client, 'later')).toEqual([]);
});

test('a task with run_at waits until then, and a past run_at or no delay makes it ready at once', async () => {
  const instant = new Date(Date.now() + 9 * 365 * 86_400_000);
  const [later, ...now] = await enqueue(client, 'at', [
    { run_at: instant.toISOString().replace('Z', '+00:00') },
    { run_at: '2001-01-01T00:00:00Z' },
    { delay_seconds: 0 },
  ]);
  expect((await task(client, later as string))?.run_at).toEqual(instant);
  const runs = await claim(client, 'at', { limit: 10 });
  expect(runs.map((run) => run.id)).toEqual(now);
});

test("a tenant's tasks all lie in one bucket, below the queue's number of buckets", async () => {
  await client.query(`select tock.put_queue('lanes', '{"lanes": 4}')`);
  await enqueue(client, 'lanes', spreadTasks(40, 1, 20, 5));
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
  const slots = "select count(distinct slot)::int from tock.streams where queue = 'large'";
  expect(await value(client, slots)).toBe(3);
  const holder = await begin();
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
  const call = (options: string) =>
    value<string>(client, `select tock.enqueue_task(p_queue => 'plain', ${options})`);
  const id = await call(
    `p_payload => '{"a": 1}', p_priority => 1, p_tenant => 'acme', p_max_attempts => 2`,
  );
  const options = { payload: { a: 1 }, priority: 1, tenant: 'acme', max_attempts: 2 };
  expect(await claim(client, 'plain')).toMatchObject([{ id, ...options }]);
  const later = await call(`p_run_at => now() + interval '9 years'`);
  expect(await task(client, later)).toMatchObject({ state: 'waiting', payload: null });
});
