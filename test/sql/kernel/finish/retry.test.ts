import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
import { claim, enqueue, fail, refusal, value } from '../../verbs.ts';
import {
  claimNext,
  databaseTime,
  failing,
  noJitter,
  queueWithTasks,
  taskBackoff,
  taskById,
} from './retry.ts';

databasePerFile();
afterAll(() => expectInvariants(client));

test("a linear backoff grows by 5 minutes with each attempt, up to the queue's cap", async () => {
  const policy = { ...noJitter, backoff_kind: 'linear', backoff_base_seconds: 300 };
  const queue = await queueWithTasks({ ...policy, backoff_cap_seconds: 1000 }, [{}]);
  for (const seconds of [300, 600, 900, 1000, 1000]) await failing(queue, seconds);
});

test('a fixed backoff is the same after each failure, and no longer than the cap', async () => {
  const policy = { ...noJitter, backoff_kind: 'fixed', backoff_base_seconds: 70 };
  const queue = await queueWithTasks({ ...policy, backoff_factor: 10 }, [{}]);
  for (const seconds of [70, 70, 70]) await failing(queue, seconds);
  await client.query(`select tock.put_queue($1, '{"backoff_cap_seconds": 50}')`, [queue]);
  await failing(queue, 50);
});

test("the queue's backoff at the time of the failure counts, not that at the enqueue", async () => {
  const queue = await queueWithTasks({ ...noJitter, backoff_base_seconds: 40 }, [{}]);
  await failing(queue, 40);
  await client.query(`select tock.put_queue($1, '{"backoff_kind": "fixed"}')`, [queue]);
  await failing(queue, 40);
  await client.query(`select tock.put_queue($1, '{"backoff_kind": "exponential"}')`, [queue]);
  await failing(queue, 160);
});

test("each field of a task's own backoff overrides its queue's", async () => {
  const policy = { ...noJitter, backoff_base_seconds: 40, backoff_factor: 3 };
  const queue = await queueWithTasks(policy, [{ backoff: taskBackoff }]);
  for (const seconds of [100, 200, 300]) await failing(queue, seconds);
  const part = await queueWithTasks(policy, [{ backoff: { base_seconds: 10 } }]);
  for (const seconds of [10, 30, 90]) await failing(part, seconds);
  for (const backoff of [null, {}]) {
    const none = await queueWithTasks(policy, [{ backoff }]);
    for (const seconds of [40, 120]) await failing(none, seconds);
  }
});

test('tasks of one lease wait each for a backoff of its own', async () => {
  const tasks = [1, 2, 3, 4].map((n) => ({ backoff: { ...taskBackoff, base_seconds: n * 1000 } }));
  const queue = await queueWithTasks({ ...noJitter, lanes: 1 }, tasks);
  const runs = await claim(client, queue, { limit: 4 });
  expect(new Set(runs.map(({ lease }) => lease)).size).toBe(1);
  const before = (await databaseTime()).getTime();
  await fail(client, runs[0]?.lease as string, { error: 'all' });
  for (const [n, { id }] of runs.entries()) {
    const due = (await taskById(id)).run_at?.getTime() as number;
    expect(Math.floor((due - before + 1) / 1_000_000)).toBe(n + 1);
  }
});

test('a delay that the worker gives overrides every backoff, for one retry', async () => {
  const queue = await queueWithTasks(noJitter, [{ backoff: taskBackoff }]);
  const id = await failing(queue, 7777, { retry_in_seconds: 7777 });
  const run = await claimNext(queue);
  await fail(client, run.lease, [{ id: run.run_id, retry_in_seconds: 0 }]);
  expect(await taskById(id)).toMatchObject({ state: 'ready', attempt: 3 });
  await failing(queue, 300);
});

test('jitter shortens a wait by at most its share, and never lengthens one', async () => {
  const waits = (policy: object) =>
    value<number[]>(
      client,
      `select array_agg(tock.backoff_seconds(jsonb_populate_record(q, $1), n))
       from tock.queues q, generate_series(1, 500) n where q.name = '*'`,
      [JSON.stringify({ backoff_kind: 'fixed', backoff_base_seconds: 100, ...policy })],
    );
  for (const jitter of [0, 0.25, 1]) {
    const seconds = await waits({ backoff_jitter: jitter });
    expect(Math.max(...seconds)).toBeLessThanOrEqual(100);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(100 - 100 * jitter);
    expect(new Set(seconds).size).toBeGreaterThan(jitter === 0 ? 0 : 250);
  }
  // Jitter shortens capped waits too. Otherwise tasks that fail for long would all be retried at once.
  const policy = { backoff_kind: 'linear', backoff_cap_seconds: 100, backoff_jitter: 0.5 };
  const capped = await waits(policy);
  expect(Math.max(...capped)).toBeLessThanOrEqual(100);
  expect(new Set(capped).size).toBeGreaterThan(250);
});

test('the greatest values of every backoff option give a finite wait', async () => {
  const longest = { base_seconds: 86_400, factor: 10, cap_seconds: 2_678_400, jitter: 0 };
  for (const kind of ['fixed', 'linear', 'exponential']) {
    const seconds = await value<number>(
      client,
      `select tock.backoff_seconds(tock.own_policy(q, $1), 1000) from tock.queues q where q.name = '*'`,
      [JSON.stringify({ backoff: { kind, ...longest } })],
    );
    expect(seconds).toBe(kind === 'fixed' ? 86_400 : 2_678_400);
  }
});

test.each([
  ['a number', 5, 'backoff'],
  ['an unknown kind', { kind: 'random' }, 'backoff.kind'],
  ['an unknown part', { seconds: 1 }, 'backoff.seconds'],
  ['a base below 0', { base_seconds: -1 }, 'backoff.base_seconds'],
  ['a base that is a text', { base_seconds: '5' }, 'backoff.base_seconds'],
  ['a factor below 1', { factor: 0.5 }, 'backoff.factor'],
  ['a cap over a month', { cap_seconds: 2_678_401 }, 'backoff.cap_seconds'],
  ['a jitter above 1', { jitter: 1.1 }, 'backoff.jitter'],
])('a backoff is refused with the name of the field for %s', async (_, backoff, field) => {
  const refused = await refusal(enqueue(client, 'refused', [{}, { backoff }]));
  expect(refused).toMatchObject({ code: 'TK422', detail: `tasks[1].${field}` });
});
