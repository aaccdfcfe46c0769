import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  type Run,
  refusal,
  rows,
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

async function queueOf(policy: object, tasks: unknown): Promise<string> {
  const queue = `q${++queues}`;
  await client.query('select tock.put_queue($1, $2)', [queue, JSON.stringify(policy)]);
  await enqueue(client, queue, tasks);
  return queue;
}

/** The next run of the queue's only task, which is promoted first if it waits. */
async function again(queue: string): Promise<Run> {
  await makeDue(client, queue);
  await promote(client);
  const [run] = await claim(client, queue, { worker: `w${queue}` });
  if (!run) throw new Error('The task was not ready for its next run.');
  return run;
}

test('a failed task waits for its backoff, and then runs again as its next attempt', async () => {
  const queue = await queueOf({ backoff_jitter: 0 }, [
    { payload: 'kept', tenant: 'acme', priority: 3 },
  ]);
  const first = await again(queue);
  expect(await fail(client, first.lease, { error: { name: 'Boom' } })).toEqual({
    failed: 1,
    dead: 0,
    refused: [],
  });
  const waiting = await task(client, first.id);
  expect(waiting).toMatchObject({ state: 'waiting', attempt: 2, queue });
  expect(await claim(client, queue)).toEqual([]);
  const second = await again(queue);
  expect(second).toMatchObject({
    id: first.id,
    attempt: 2,
    payload: 'kept',
    tenant: 'acme',
    priority: 3,
  });
  expect(second.run_id).not.toBe(first.run_id);
  await complete(client, second.lease);
  expect(await task(client, first.id)).toMatchObject({ state: 'done', attempt: 2 });
});

test('backoff grows by its factor to its cap, and jitter only shortens it', async () => {
  const policy = {
    backoff_base_seconds: 10,
    backoff_factor: 3,
    backoff_cap_seconds: 200,
    max_attempts: 1000,
  };
  const seconds = async (jitter: number, failures: number) => {
    const [row] = await rows<{ seconds: number }>(
      client,
      `select tock.backoff_seconds(
         jsonb_populate_record(null::tock.queues, $1), $2) as seconds`,
      [JSON.stringify({ ...policy, backoff_jitter: jitter }), failures],
    );
    return row?.seconds as number;
  };
  const exact = await Promise.all([1, 2, 3, 4, 1000].map((n) => seconds(0, n)));
  expect(exact).toEqual([10, 30, 90, 200, 200]);
  const shaken = await Promise.all(Array.from({ length: 200 }, () => seconds(0.5, 4)));
  expect(Math.min(...shaken)).toBeGreaterThanOrEqual(100);
  expect(Math.max(...shaken)).toBeLessThanOrEqual(200);
  expect(new Set(shaken).size).toBeGreaterThan(100);
});

test("a failed task waits as long as its queue's policy says, each time longer", async () => {
  const policy = {
    backoff_base_seconds: 100,
    backoff_factor: 2,
    backoff_cap_seconds: 300,
    backoff_jitter: 0,
  };
  const queue = await queueOf(policy, [{}]);
  for (const expected of [100, 200, 300, 300]) {
    const run = await again(queue);
    const [before] = await rows<{ now: Date }>(client, 'select clock_timestamp() as now');
    await fail(client, run.lease);
    const [after] = await rows<{ now: Date }>(client, 'select clock_timestamp() as now');
    const due = (await task(client, run.id))?.run_at?.getTime() as number;
    // Dates in JavaScript have milliseconds, instants in the database microseconds.
    expect(due).toBeGreaterThanOrEqual((before?.now.getTime() as number) + expected * 1000 - 1);
    expect(due).toBeLessThanOrEqual((after?.now.getTime() as number) + expected * 1000 + 1);
  }
});

test('a worker may say when to try again, also at once', async () => {
  const queue = await queueOf({}, [{ payload: 1 }, { payload: 2 }]);
  const [first, second] = await claim(client, queue, { limit: 2 });
  await fail(client, first?.lease as string, [
    { id: first?.id, retry_in_seconds: 0 },
    { id: second?.id, retry_in_seconds: 1000 },
  ]);
  expect((await claim(client, queue, { limit: 5 })).map((run) => run.payload)).toEqual([1]);
  expect((await task(client, second?.id as string))?.state).toBe('waiting');
});

test('a fatal failure is the end of a task', async () => {
  const queue = await queueOf({}, [{}]);
  const run = await again(queue);
  const error = { name: 'Bad', message: 'no use' };
  expect(await fail(client, run.lease, [{ id: run.id, fatal: true, error }])).toEqual({
    failed: 1,
    dead: 1,
    refused: [],
  });
  expect(await task(client, run.id)).toMatchObject({ state: 'dead', error, attempt: 1 });
  await makeDue(client, queue);
  await promote(client);
  expect(await claim(client, queue)).toEqual([]);
});

test('a task that fails max_attempts times is dead, and shows all errors in order', async () => {
  const queue = await queueOf({ max_attempts: 3 }, [{}]);
  let id = '';
  for (const n of [1, 2, 3]) {
    const run = await again(queue);
    id = run.id;
    const failures = [{ id: run.run_id, error: { name: `E${n}`, message: 'x'.repeat(n) } }];
    expect(await fail(client, run.lease, failures)).toMatchObject({
      failed: 1,
      dead: n === 3 ? 1 : 0,
    });
  }
  const row = await task(client, id);
  expect(row).toMatchObject({
    state: 'dead',
    attempt: 3,
    max_attempts: 3,
    error: { name: 'E3' },
  });
  expect(row?.runs.map((run) => [run.attempt, run.state, run.error])).toEqual([
    [1, 'failed', { name: 'E1', message: 'x' }],
    [2, 'failed', { name: 'E2', message: 'xx' }],
    [3, 'failed', { name: 'E3', message: 'xxx' }],
  ]);
  await makeDue(client, queue);
  await promote(client);
  expect(await claim(client, queue)).toEqual([]);
});

test("a task's own max_attempts overrides its queue's", async () => {
  const queue = await queueOf({ max_attempts: 5 }, [{ max_attempts: 1 }]);
  const run = await again(queue);
  expect(await fail(client, run.lease)).toMatchObject({ failed: 1, dead: 1 });
});

test('a repeated failure answers the same and starts no second retry', async () => {
  const queue = await queueOf({}, [{}, {}]);
  const runs = await claim(client, queue, { limit: 2 });
  const failures = runs.map((run) => ({ id: run.id, error: 'e', retry_in_seconds: 0 }));
  const lease = leaseOf(runs);
  const answer = { failed: 2, dead: 0, refused: [] };
  expect(await fail(client, lease, failures)).toEqual(answer);
  expect(await fail(client, lease, failures)).toEqual(answer);
  expect(await claim(client, queue, { limit: 9 })).toHaveLength(2);
});

test('a done task cannot fail, a failed task cannot be completed, and tasks of other leases are refused', async () => {
  const queue = await queueOf({}, numberedTasks(3));
  const runs = await claim(client, queue, { limit: 2 });
  const [done, failed] = runs.map((run) => run.id);
  const [foreign] = (await claim(client, queue)).map((run) => run.id);
  const lease = leaseOf(runs);
  await complete(client, lease, [{ id: done }]);
  const failures = [done, failed, foreign].map((id) => ({ id, error: 'e' }));
  expect(await fail(client, lease, failures)).toEqual({
    failed: 1,
    dead: 0,
    refused: [done, foreign],
  });
  expect(await complete(client, lease, [{ id: failed }])).toBeUndefined();
  expect(await fail(client, lease, [{ id: done }])).toBeUndefined();
  expect((await task(client, done as string))?.state).toBe('done');
  expect((await task(client, foreign as string))?.state).toBe('running');
  expect(await complete(client, lease)).toMatchObject({ completed: 1 });
});

describe('a failure is refused with the name of the field for', () => {
  test.each([
    ['a delay below 0', [{ id: '1', retry_in_seconds: -1 }], 'failures[0].retry_in_seconds'],
    ['a delay that is a text', { retry_in_seconds: 'soon' }, 'retry_in_seconds'],
    [
      'fatal with a delay',
      [{ id: '1', fatal: true, retry_in_seconds: 1 }],
      'failures[0].retry_in_seconds',
    ],
    ['fatal that is a text', [{ id: '1' }, { id: '2', fatal: 'yes' }], 'failures[1].fatal'],
    ['a failure without id', [{ error: 1 }], 'failures[0].id'],
    ['an unknown key', [{ id: '1', why: 1 }], 'failures[0]'],
  ])('%s', async (_, failures, field) => {
    const run = await again(await queueOf({}, [{}]));
    const refused = await refusal(fail(client, run.lease, failures));
    expect(refused).toMatchObject({ code: 'TK422', detail: field });
    expect((await task(client, run.id))?.state).toBe('running');
  });
});

test('one error for many runs may be up to 64 MiB in all', async () => {
  await enqueue(client, 'many', numberedTasks(300));
  const lease = leaseOf(await claim(client, 'many', { limit: 300 }));
  const refused = await refusal(fail(client, lease, { error: 'x'.repeat(240_000) }));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'error' });
  expect(refused.message).toContain('64 MiB');
  expect(await fail(client, lease, { error: 'x'.repeat(200_000) })).toMatchObject({ failed: 300 });
});
