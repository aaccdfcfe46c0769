import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import { pass } from './history.ts';
import {
  claim,
  enqueue,
  expire,
  fail,
  makeDue,
  promote,
  type Run,
  reap,
  refusal,
  release,
  rows,
  type TaskRow,
  task,
  value,
} from './support.ts';

let db: Database;
let client: pg.Client;
let queues = 0;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(async () => {
  await expectWhole(client);
  await db.drop();
});

async function queueOf(policy: object, tasks: unknown): Promise<string> {
  const queue = `q${++queues}`;
  await client.query('select tock.put_queue($1, $2)', [queue, JSON.stringify(policy)]);
  await enqueue(client, queue, tasks);
  return queue;
}

/** The next run of the queue's only task, made due when it waits. */
async function next(queue: string): Promise<Run> {
  await makeDue(client, queue);
  await promote(client);
  const [run] = await claim(client, queue);
  if (!run) throw new Error('The task did not come back.');
  return run;
}

const look = async (id: string) => (await task(client, id)) as TaskRow;

const clock = () => value<Date>(client, 'select clock_timestamp()');

/** The task waits as many seconds from an instant between the two calls of `what`. */
async function expectWait(id: string, seconds: number, what: () => Promise<unknown>) {
  const before = (await clock()).getTime();
  await what();
  const after = (await clock()).getTime();
  const due = (await look(id)).run_at?.getTime();
  // Dates here have milliseconds, the database microseconds.
  expect(due).toBeGreaterThanOrEqual(before + seconds * 1000 - 1);
  expect(due).toBeLessThanOrEqual(after + seconds * 1000 + 1);
}

async function failing(queue: string, seconds: number, failures?: unknown) {
  const run = await next(queue);
  await expectWait(run.id, seconds, () => fail(client, run.lease, failures));
  return run.id;
}

const steady = { backoff_jitter: 0, max_attempts: 100 };
/** A task's own, unlike its queue's: 100 s more after each failure. */
const own = { kind: 'linear', base_seconds: 100, cap_seconds: 100_000, jitter: 0 };

test("5 minutes times the attempt, as in the seed, to the queue's cap", async () => {
  const policy = { ...steady, backoff_kind: 'linear', backoff_base_seconds: 300 };
  const queue = await queueOf({ ...policy, backoff_cap_seconds: 1000 }, [{}]);
  for (const seconds of [300, 600, 900, 1000, 1000]) await failing(queue, seconds);
});

test('a fixed backoff is the same after each failure, and no longer than the cap', async () => {
  const policy = { ...steady, backoff_kind: 'fixed', backoff_base_seconds: 70 };
  const queue = await queueOf({ ...policy, backoff_factor: 10 }, [{}]);
  for (const seconds of [70, 70, 70]) await failing(queue, seconds);
  await client.query(`select tock.put_queue($1, '{"backoff_cap_seconds": 50}')`, [queue]);
  await failing(queue, 50);
});

test('a wait is as the queue says when the run fails, not when the task was enqueued', async () => {
  const queue = await queueOf({ ...steady, backoff_base_seconds: 40 }, [{}]);
  await failing(queue, 40);
  await client.query(`select tock.put_queue($1, '{"backoff_kind": "fixed"}')`, [queue]);
  await failing(queue, 40);
  await client.query(`select tock.put_queue($1, '{"backoff_kind": "exponential"}')`, [queue]);
  await failing(queue, 160);
});

test("a task's own backoff goes before its queue's, part by part", async () => {
  const policy = { ...steady, backoff_base_seconds: 40, backoff_factor: 3 };
  const queue = await queueOf(policy, [{ backoff: own }]);
  for (const seconds of [100, 200, 300]) await failing(queue, seconds);
  const part = await queueOf(policy, [{ backoff: { base_seconds: 10 } }]);
  for (const seconds of [10, 30, 90]) await failing(part, seconds);
  for (const backoff of [null, {}]) {
    const none = await queueOf(policy, [{ backoff }]);
    for (const seconds of [40, 120]) await failing(none, seconds);
  }
});

test('tasks of one lease wait each for a backoff of its own', async () => {
  const tasks = [1, 2, 3, 4].map((n) => ({ backoff: { ...own, base_seconds: n * 1000 } }));
  const queue = await queueOf({ ...steady, lanes: 1 }, tasks);
  const runs = await claim(client, queue, { limit: 4 });
  expect(new Set(runs.map(({ lease }) => lease)).size).toBe(1);
  const before = (await clock()).getTime();
  await fail(client, runs[0]?.lease as string, { error: 'all' });
  for (const [n, { id }] of runs.entries()) {
    const due = (await look(id)).run_at?.getTime() as number;
    expect(Math.floor((due - before + 1) / 1_000_000)).toBe(n + 1);
  }
});

test('a delay that the worker gives goes before every backoff, once', async () => {
  const queue = await queueOf(steady, [{ backoff: own }]);
  const id = await failing(queue, 7777, { retry_in_seconds: 7777 });
  const run = await next(queue);
  await fail(client, run.lease, [{ id: run.run_id, retry_in_seconds: 0 }]);
  expect(await look(id)).toMatchObject({ state: 'ready', attempt: 3 });
  await failing(queue, 300);
});

test.each([
  ['in the epoch in use', async () => {}],
  ["over epochs' edges", () => pass(client)],
])('a task keeps its backoff through all that happens to it, %s', async (_, pass) => {
  const queue = await queueOf(steady, [{ backoff: own, delay_seconds: 50 }]);
  const [{ id }] = (await rows<{ id: string }>(
    client,
    'select position << 20 as id from tock.waiting where queue = $1',
    [queue],
  )) as [{ id: string }];
  let seconds = 0;
  /** One more failure: the wait says that the backoff is still there, and how often it failed. */
  const check = async (what = '') => {
    const run = await next(queue);
    expect(run.id, what).toBe(id);
    await pass();
    seconds += 100;
    await expectWait(id, seconds, () => fail(client, run.lease, { error: what }));
    await pass();
  };
  await check('promoted');
  const given = await next(queue);
  await pass();
  await release(client, given.lease);
  await pass();
  await check('given back');
  const lost = await next(queue);
  await pass();
  await expire(client, lost.lease);
  expect(await reap(client)).toBe(1);
  await pass();
  await check('lost');
  await makeDue(client, queue);
  await promote(client);
  await pass();
  await client.query('select tock.reprioritize(array[$1::bigint], 2)', [id]);
  await check('changed while it was ready');
  await makeDue(client, queue);
  await promote(client);
  await pass();
  // Sooner than the backoff, as a task doesn't come back before the time that was last wished for.
  await client.query(`select tock.reschedule(array[$1::bigint], now() + interval '9 s')`, [id]);
  await client.query(
    "update tock.waiting set due_at = now() - interval '1 second' where queue = $1",
    [queue],
  );
  await check('rescheduled while it was ready');
  await client.query(`select tock.change(array[$1::bigint], '{"payload": "new"}')`, [id]);
  await check('changed while it waited');
  const found = await look(id);
  expect(found).toMatchObject({ state: 'waiting', payload: 'new', lost: 1, attempt: 8 });
  expect(found.options).toEqual({ backoff: own });
  expect(found.runs.map(({ state }) => state)).toEqual([
    'failed',
    'superseded',
    'failed',
    'lost',
    'failed',
    'superseded',
    'failed',
    'superseded',
    'failed',
    'failed',
  ]);
});

test('a run whose time is up has failed: it counts, and waits for its backoff', async () => {
  const queue = await queueOf(steady, [{ backoff: own, timeout_seconds: 5 }]);
  await failing(queue, 100);
  const run = await next(queue);
  await client.query(
    `update tock.leases set leased_until = now() - interval '1 s', timeout_at = now() - interval '1 s'
     where token = $1`,
    [run.lease],
  );
  await expectWait(run.id, 200, () => reap(client));
  expect(await look(run.id)).toMatchObject({ lost: 0, attempt: 3 });
});

describe.each([
  ['that has a backoff of its own', { backoff: own }],
  ['that has none', {}],
])('a task %s', (_, options) => {
  test('is not worn out by workers that die: lost runs are counted apart', async () => {
    const policy = { max_attempts: 2, max_lost: 9, backoff_jitter: 0, backoff_base_seconds: 100 };
    const queue = await queueOf(policy, [options]);
    for (let n = 0; n < 4; n++) {
      await expire(client, (await next(queue)).lease);
      expect(await reap(client)).toBe(1);
    }
    const id = await failing(queue, 100);
    expect(await look(id)).toMatchObject({ state: 'waiting', attempt: 6, lost: 4 });
    const last = await next(queue);
    expect(await fail(client, last.lease, { error: 'last' })).toMatchObject({ dead: 1 });
    expect(await look(id)).toMatchObject({ state: 'dead', error: 'last', attempt: 6, lost: 4 });
  });

  test('that kills its workers is dead after max_lost, and says so', async () => {
    const queue = await queueOf({ max_lost: 3, max_attempts: 1 }, [options]);
    let id = '';
    for (const n of [1, 2, 3]) {
      const run = await next(queue);
      id = run.id;
      expect(run.attempt).toBe(n);
      await expire(client, run.lease);
      expect(await reap(client)).toBe(1);
      expect((await look(id)).state).toBe(n === 3 ? 'dead' : 'ready');
    }
    const dead = await look(id);
    expect(dead).toMatchObject({ lost: 3, attempt: 3, error: { name: 'LeaseExpired' } });
    expect((dead.error as { message: string }).message).toMatch(
      /^the lease ran out at \S+Z; lost 3 times, and max_lost is 3$/,
    );
    expect(dead.runs.map(({ state }) => state)).toEqual(['lost', 'lost', 'lost']);
    await makeDue(client, queue);
    await promote(client);
    expect(await claim(client, queue)).toEqual([]);
    await client.query('select tock.erase($1)', [id]);
    expect(await look(id)).toMatchObject({ state: 'dead', lost: 3, error: null });
  });
});

test('jitter takes off a share of up to itself, never more, and adds nothing', async () => {
  const waits = (policy: object) =>
    value<number[]>(
      client,
      `select array_agg(tock.backoff_seconds(jsonb_populate_record(q, $1), n))
       from tock.queues q, generate_series(1, 500) n where q.name = '*'`,
      [JSON.stringify({ backoff_kind: 'fixed', backoff_base_seconds: 100, ...policy })],
    );
  for (const jitter of [0, 0.25, 1]) {
    const found = await waits({ backoff_jitter: jitter });
    expect(Math.max(...found)).toBeLessThanOrEqual(100);
    expect(Math.min(...found)).toBeGreaterThanOrEqual(100 - 100 * jitter);
    expect(new Set(found).size).toBeGreaterThan(jitter === 0 ? 0 : 250);
  }
  // What is capped is shaken too, or all that fail for long would come back at once.
  const capped = await waits({
    backoff_kind: 'linear',
    backoff_cap_seconds: 100,
    backoff_jitter: 0.5,
  });
  expect(Math.max(...capped)).toBeLessThanOrEqual(100);
  expect(new Set(capped).size).toBeGreaterThan(250);
});

test('the longest of everything is still a number', async () => {
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

describe('a backoff is refused with the name of the field for', () => {
  test.each([
    ['a number', 5, 'backoff'],
    ['a list', [], 'backoff'],
    ['an unknown kind', { kind: 'random' }, 'backoff.kind'],
    ['no kind', { kind: null }, 'backoff.kind'],
    ['an unknown part', { seconds: 1 }, 'backoff.seconds'],
    ['a base below 0', { base_seconds: -1 }, 'backoff.base_seconds'],
    ['a base that is a text', { base_seconds: '5' }, 'backoff.base_seconds'],
    ['a factor below 1', { factor: 0.5 }, 'backoff.factor'],
    ['a cap over a month', { cap_seconds: 2_678_401 }, 'backoff.cap_seconds'],
    ['a jitter above 1', { jitter: 1.1 }, 'backoff.jitter'],
  ])('%s', async (_, backoff, field) => {
    const refused = await refusal(enqueue(client, 'refused', [{}, { backoff }]));
    expect(refused).toMatchObject({ code: 'TK422', detail: `tasks[1].${field}` });
  });
});
