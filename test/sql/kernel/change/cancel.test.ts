import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  reap,
  refusal,
  release,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { cancel, cancelRequests, type State, states, taskInState } from './changes.ts';

let db: Database;
let client: pg.Client;
let count = 0;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const queue = () => `c${++count}`;
const first = <T>(list: T[]): T => list[0] as T;

/** For a task in each state: the answer of cancel(), and the state that task() shows afterwards. */
const outcomes: Record<State, [changed: boolean, state: string]> = {
  waiting: [true, 'cancelled'],
  ready: [true, 'cancelled'],
  running: [true, 'running'],
  done: [false, 'done'],
  dead: [false, 'dead'],
  cancelled: [false, 'cancelled'],
};

test.each(states)('a %s task is cancelled once, and the answer is true', async (state) => {
  const [changed, then] = outcomes[state];
  const { id } = await taskInState(client, queue(), state);
  expect((await task(client, id))?.state).toBe(state);
  expect(await cancel(client, [id])).toEqual([{ id, state: then, changed }]);
  const stored = await task(client, id);
  expect(stored).toMatchObject({ id, state: then, payload: 'as sent' });
  expect(await cancel(client, [id])).toEqual([{ id, state: then, changed: false }]);
  expect(await task(client, id)).toEqual(stored);
  await expectInvariants(client);
});

test('a cancelled task is never leased, and the others are', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(20));
  const late = await enqueue(client, q, numberedTasks(4, 20, { delay_seconds: 1000 }));
  const off = [...ids, ...late].filter((_, n) => n % 3 === 0);
  expect(await cancel(client, off)).toHaveLength(off.length);
  await makeDue(client, q);
  await promote(client);
  const got = (await drain(client, q, { limit: 4 })).flat();
  expect(new Set(got.map((run) => run.payload))).toEqual(
    new Set(Array.from({ length: 24 }, (_, n) => n).filter((n) => n % 3 !== 0)),
  );
  for (const id of off) {
    const stored = await task(client, id);
    expect(stored).toMatchObject({ state: 'cancelled', attempt: 1 });
    expect(stored?.ended_at).toBeInstanceOf(Date);
    expect(stored?.runs).toMatchObject([{ state: 'cancelled', worker: null, started_at: null }]);
  }
  await expectInvariants(client);
});

test('the worker of a cancelled task is asked to stop, and may complete it all the same', async () => {
  const q = queue();
  const ids = (await enqueue(client, q, numberedTasks(3))) as [string, string, string];
  const lease = leaseOf(await claim(client, q, { limit: 3 }));
  expect(await cancelRequests(client, lease)).toEqual([]);
  await cancel(client, ids.slice(0, 2));
  expect(await cancelRequests(client, lease)).toEqual(ids.slice(0, 2));
  expect((await task(client, ids[0]))?.runs).toMatchObject([
    { state: 'running', cancel_requested: true },
  ]);
  await complete(client, lease, [{ id: ids[0], result: 'r' }]);
  expect(await cancelRequests(client, lease)).toEqual([ids[1]]);
  await complete(client, lease);
  expect(await cancelRequests(client, lease)).toBeUndefined();
  for (const id of ids) {
    expect(await task(client, id)).toMatchObject({
      state: 'done',
      runs: [{ state: 'done', cancel_requested: false }],
    });
  }
  expect(await cancel(client, ids)).toEqual(
    ids.map((id) => ({ id, state: 'done', changed: false })),
  );
  await expectInvariants(client);
});

test('a worker is not asked to stop runs that its claim skipped', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(3));
  await cancel(client, [ids[1] as string]);
  const got = await claim(client, q, { limit: 3 });
  expect(got.map((run) => run.id)).toEqual([ids[0], ids[2]]);
  expect(await cancelRequests(client, leaseOf(got))).toEqual([]);
});

const ends: Record<string, (lease: string) => Promise<unknown>> = {
  failed: (lease) => fail(client, lease, { error: 'e', retry_in_seconds: 0 }),
  'failed with a delay': (lease) => fail(client, lease, { error: 'e', retry_in_seconds: 60 }),
  released: (lease) => release(client, lease),
  reaped: async (lease) => {
    await expire(client, lease);
    await reap(client);
  },
};

test.each(Object.keys(ends))('a cancelled task that is %s is not tried again', async (how) => {
  const q = queue();
  const ids = (await enqueue(client, q, numberedTasks(2))) as [string, string];
  const lease = leaseOf(await claim(client, q, { limit: 2, worker: 'w' }));
  await cancel(client, [ids[0]]);
  await ends[how]?.(lease);
  const stored = await task(client, ids[0]);
  expect(stored).toMatchObject({
    state: 'cancelled',
    attempt: 1,
    runs: [{ state: 'cancelled', worker: 'w', cancel_requested: false }],
  });
  expect(stored?.ended_at).toBeInstanceOf(Date);
  if (how.startsWith('failed')) expect(stored?.error).toBe('e');
  expect((await task(client, ids[1]))?.state).toMatch(/ready|waiting/);
  await makeDue(client, q);
  await promote(client);
  expect((await claim(client, q, { limit: 9 })).map((run) => run.id)).toEqual([ids[1]]);
  expect(await cancel(client, [ids[0]])).toEqual([
    { id: ids[0], state: 'cancelled', changed: false },
  ]);
  await expectInvariants(client);
});

test('a cancelled task that fails for good is dead', async () => {
  const { id, lease } = await taskInState(client, queue(), 'running');
  await cancel(client, [id]);
  expect(await fail(client, lease, { fatal: true })).toMatchObject({ failed: 1, dead: 1 });
  expect((await task(client, id))?.state).toBe('dead');
});

test("a task is cancelled by any of its runs' ids, between its attempts and during the next", async () => {
  const q = queue();
  const [id] = (await enqueue(client, q, [{}])) as [string];
  await fail(client, leaseOf(await claim(client, q)), { retry_in_seconds: 0 });
  const second = first(await claim(client, q));
  expect(second.run_id).not.toBe(id);
  expect(await cancel(client, [second.run_id])).toEqual([{ id, state: 'running', changed: true }]);
  expect(await cancel(client, [id, second.run_id, id])).toEqual([
    { id, state: 'running', changed: false },
  ]);
  expect(await cancelRequests(client, second.lease)).toEqual([id]);
  await release(client, second.lease);
  expect(await task(client, second.run_id)).toMatchObject({ id, state: 'cancelled' });

  const [other] = (await enqueue(client, q, [{}])) as [string];
  await fail(client, leaseOf(await claim(client, q)), { retry_in_seconds: 60 });
  expect((await task(client, other))?.state).toBe('waiting');
  expect(await cancel(client, [other])).toEqual([{ id: other, state: 'cancelled', changed: true }]);
  expect(await task(client, other)).toMatchObject({
    state: 'cancelled',
    runs: [{ state: 'failed' }, { state: 'cancelled' }],
  });
  expect(await claim(client, q, { limit: 9 })).toEqual([]);
  await expectInvariants(client);
});

test('unknown ids are left out, and a task named twice is listed once', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(2));
  const odd = ['0', '-5', '5', '9223372036854775807', '-9223372036854775808', '77777777777'];
  expect(await cancel(client, odd)).toEqual([]);
  const answer = await cancel(client, [...ids, ...odd, ...ids]);
  expect(answer.map((row) => row.id).toSorted()).toEqual(ids.toSorted());
});

test.each([
  ['null', null],
  ['none', '{}'],
  ['one that is null', '{1,null}'],
  ['lists within the list', '{{1,2},{3,4}}'],
  ['more than 10,000', `{${Array(10_001).fill(1).join()}}`],
])('ids that are %s are refused, and the field is named', async (_, ids) => {
  const refused = await refusal(
    client.query('select tock.cancel(p_ids => $1::bigint[])', [ids as string]),
  );
  expect(refused).toMatchObject({ code: 'TK422', detail: 'ids' });
});

test('a cancel that is rolled back leaves everything as it was', async () => {
  const q = queue();
  const ids = [
    ...(await enqueue(client, q, numberedTasks(2))),
    ...(await enqueue(client, q, [{ payload: 2, delay_seconds: 1000 }])),
  ];
  const look = async () => {
    const stored: unknown[] = [];
    for (const id of ids) stored.push(await task(client, id));
    return stored;
  };
  const before = await look();
  await client.query('begin; savepoint a');
  expect(await cancel(client, ids)).toHaveLength(3);
  expect(await claim(client, q, { limit: 9 })).toEqual([]);
  await client.query('rollback to a; commit');
  expect(await look()).toEqual(before);
  expect(await claim(client, q, { limit: 9 })).toHaveLength(2);
  await expectInvariants(client);
});

test('queue_stats does not count a cancelled task, whether or not a claim has skipped it', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(5));
  await cancel(client, ids.slice(1, 4));
  const ready = () =>
    value<string>(client, 'select ready from tock.queue_stats(p_queue => $1)', [q]);
  expect(await ready()).toBe('2');
  await claim(client, q, { limit: 1 });
  expect(await ready()).toBe('1');
  const marks = await rows(client, 'select kind from tock.run_overrides where position = $1', [
    Number(BigInt(ids[2] as string) >> 20n),
  ]);
  expect(marks.map((mark) => mark.kind)).toContain('cancelled');
});
