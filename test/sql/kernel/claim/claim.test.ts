import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  type ClaimOptions,
  claim,
  drain,
  enqueue,
  numberedTasks,
  type Run,
  refusal,
  value,
} from '../../verbs.ts';
import { spreadTasks } from '../sessions.ts';

databasePerFile();

test('an empty queue and an unknown queue give nothing, and a claim makes no queue', async () => {
  expect(await claim(client, 'nobody')).toEqual([]);
  const made = "select count(*)::int from tock.queues where name = 'nobody'";
  expect(await value(client, made)).toBe(0);
});

test('tasks are claimed by priority, and within one priority in order of enqueueing', async () => {
  for (const priority of [5, 0, 9, 3])
    await enqueue(client, 'priorities', numberedTasks(3, priority * 10, { priority }));
  const runs = (await drain(client, 'priorities', { limit: 5 })).flat();
  expect(runs.map((run) => run.payload)).toEqual([0, 1, 2, 30, 31, 32, 50, 51, 52, 90, 91, 92]);
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
  for (const lease_seconds of [40, undefined]) {
    const before = await value<Date>(client, 'select clock_timestamp()');
    const [run] = (await claim(client, 'leases', { lease_seconds })) as [Run];
    const seconds = (run.leased_until.getTime() - before.getTime()) / 1000;
    expect(Math.floor(seconds / 10) * 10).toBe(lease_seconds ?? 300);
  }
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

const largest = (claims: Run[][]) =>
  Math.max(...claims.map((runs) => JSON.stringify(runs.map((run) => run.payload)).length));

test('tasks with large payloads are claimed in answers of bounded size', async () => {
  await client.query(`select tock.put_queue('big', '{"max_payload_bytes": 4194304}')`);
  await enqueue(client, 'big', Array(80).fill({ payload: 'x'.repeat(250_000) }));
  const claims = await drain(client, 'big', { limit: 1000 });
  expect(claims.flat()).toHaveLength(80);
  expect(largest(claims)).toBeLessThan(9_000_000);
  await enqueue(client, 'big', Array(2).fill({ payload: 'y'.repeat(4_194_000) }));
  expect((await drain(client, 'big', { limit: 10 })).map((runs) => runs.length)).toEqual([1, 1]);
});

test('an answer over many tenant buckets and slots with large payloads is bounded too', async () => {
  const payload = 'x'.repeat(120_000);
  const tasks = spreadTasks(120, 10, 120).map((task) => ({ ...task, payload }));
  await enqueue(client, 'wide', tasks);
  const claims = await drain(client, 'wide', { limit: 1000 });
  expect(claims.flat()).toHaveLength(120);
  expect(largest(claims)).toBeLessThan(9_000_000);
});

test.each<[string, ClaimOptions & { queue?: string }, string]>([
  ['limit 0', { limit: 0 }, 'limit'],
  ['a limit above 10,000', { limit: 10_001 }, 'limit'],
  ['a lease of nothing', { lease_seconds: 0 }, 'lease_seconds'],
  ['a lease of more than a day', { lease_seconds: 86_401 }, 'lease_seconds'],
  ['a long name of a worker', { worker: 'w'.repeat(201) }, 'worker'],
  ['an invalid name', { queue: 'a b' }, 'queue'],
])(
  'a claim is refused with the name of the field for %s',
  async (_, { queue, ...options }, field) => {
    const refused = await refusal(claim(client, queue ?? 'bad', options));
    expect(refused).toMatchObject({ code: 'TK422', detail: field });
  },
);
