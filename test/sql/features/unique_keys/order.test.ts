import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  pidOf,
  promote,
  task,
  waitUntilBlocked,
} from '../../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const keyed = (payload: unknown, options: object, key = 'k') => ({
  payload,
  unique_key: key,
  ...options,
});

async function enqueueKeyed(queue: string, payload: unknown, options: object) {
  const [id] = await enqueue(client, queue, [keyed(payload, options)]);
  return id as string;
}

const take = async (queue: string, limit = 10) => {
  await promote(client);
  return claim(client, queue, { limit });
};
const payloads = (runs: { payload: unknown }[]) => runs.map((run) => run.payload);
const stateOf = async (id: string) => (await task(client, id))?.state;

async function statesOf(...ids: string[]) {
  const states = [];
  for (const id of ids) states.push(await stateOf(id));
  return states;
}

test('payloads merged while a task runs are all in its next attempt, and in the one after', async () => {
  const merge = { on_conflict: 'merge', unique_policy: 'unfinished' };
  const id = await enqueueKeyed('merged', [1], merge);
  for (const attempt of [1, 2]) {
    const runs = await take('merged');
    for (const n of [2, 3])
      expect(await enqueueKeyed('merged', [10 * attempt + n], merge)).toBe(id);
    await fail(client, leaseOf(runs), { retry_in_seconds: 0 });
  }
  expect(payloads(await take('merged'))).toEqual([[1, 12, 13, 22, 23]]);
});

describe('a call with keys does not deadlock with another that', () => {
  const later = { on_conflict: 'replace', delay_seconds: 3600 };
  const unfinished = { on_conflict: 'replace', unique_policy: 'unfinished' };
  const move = `select from tock.change($1::bigint[], '{"priority": 3}')`;
  const put = `insert into tock.run_overrides (stream, position, kind, other_id, changes)
    select i & 1048575, i >> 20, $2, case $2 when 'superseded' then 0 end, '{}' from unnest($1::bigint[]) i`;
  const rowsOf =
    'select from tock.waiting w where w.position = any (select i >> 20 from unnest($1::bigint[]) i) for update';
  test.each<[string, object, string, string[]]>([
    ['cancels what waits', later, 'select from tock.cancel($1::bigint[])', [rowsOf]],
    ['changes what waits', later, move, [rowsOf]],
    ['changes what is ready', unfinished, move, [put, 'superseded']],
    ['changes what runs', unfinished, move, [put, 'amended']],
  ])('%s', async (name, options, statement, [hold, ...kind]) => {
    const queue = name.replaceAll(' ', '-');
    const ids = new Map<string, string>();
    for (const key of ['b', 'm', 'a', 'ab']) {
      const [id] = await enqueue(client, queue, [keyed(1, options, key)]);
      ids.set(key, id as string);
    }
    const idsOf = (...keys: string[]) => keys.map((key) => ids.get(key));
    if (kind[0] === 'amended') await claim(client, queue, { limit: 4 });
    const [holder, changing, keying] = [
      await db.connect(),
      await db.connect(),
      await db.connect(),
    ] as [pg.Client, pg.Client, pg.Client];
    // A third transaction blocks both calls in the middle of their tasks, and then ends.
    await holder.query('begin');
    await holder.query(hold as string, [idsOf('m', 'ab'), ...kind]);
    const pids = [await pidOf(changing), await pidOf(keying)] as [number, number];
    const first = changing.query(statement, [idsOf('a', 'b', 'm')]);
    await waitUntilBlocked(client, pids[0]);
    const tasks = ['a', 'ab', 'b'].map((key) => keyed(2, options, key));
    const second = enqueue(keying, queue, tasks);
    await waitUntilBlocked(client, pids[1]);
    await holder.query('rollback');
    expect(await Promise.all([first, second])).toHaveLength(2);
  });
});

describe('throttle delays the next task by its period after a first task', () => {
  const throttle = { on_conflict: 'throttle', unique_seconds: 3600 };
  const minutes = async (id: string) =>
    Math.round((((await task(client, id))?.run_at?.getTime() ?? 0) - Date.now()) / 60_000);

  test.each([
    ['whose time is past', { run_at: '2020-01-01T00:00:00Z' }, 60],
    ['that was due at once', {}, 60],
    ['that is delayed', { delay_seconds: 3600 }, 120],
    ['that is for later', { run_at: 'in an hour' }, 120],
  ])('%s', async (name, options, expected) => {
    const queue = name.replaceAll(' ', '-');
    const run_at = new Date(Date.now() + 3_600_000).toISOString();
    const later = 'run_at' in options && options.run_at === 'in an hour' && { run_at };
    await enqueueKeyed(queue, 1, { ...throttle, ...options, ...later });
    await makeDue(client, queue);
    expect(payloads(await take(queue))).toEqual([1]);
    const second = await enqueueKeyed(queue, 2, throttle);
    expect(await stateOf(second)).toBe('waiting');
    expect(await minutes(second)).toBe(expected);
  });
});

describe('a key that is enqueued again and again still runs, with', () => {
  /** Moves the creation of the key's task back by some seconds. */
  const age = (queue: string, seconds: number) =>
    client.query(
      `update tock.unique_keys set created_at = created_at - $2 * interval '1 s' where queue = $1`,
      [queue, seconds],
    );

  test.each<[string, object, number]>([
    ['replace', {}, 61],
    ['merge', {}, 61],
    ['rerun', {}, 61],
    ['throttle', { unique_seconds: 600 }, 601],
    ['debounce', { debounce_max_seconds: 600 }, 601],
  ])('%s', async (on_conflict, more, seconds) => {
    const queue = `again-${on_conflict}`;
    const options = { on_conflict, ...more };
    await enqueueKeyed(queue, [1], options);
    await promote(client);
    const first = await enqueueKeyed(queue, [2], options);
    await makeDue(client, queue);
    await promote(client);
    await age(queue, seconds);
    await enqueueKeyed(queue, [3], options);
    await makeDue(client, queue);
    await promote(client);
    expect(await stateOf(first)).toBe('ready');
    // A key has at most two ready tasks.
    await age(queue, seconds);
    await enqueueKeyed(queue, [4], options);
    expect(await stateOf(first)).toBe('ready');
    const seen = [];
    for (let round = 0; round < 3; round++) {
      await makeDue(client, queue);
      const runs = await take(queue, 1);
      seen.push(...payloads(runs));
      if (runs.length > 0) await client.query('select tock.complete($1)', [leaseOf(runs)]);
    }
    expect(seen).toEqual(
      on_conflict === 'merge'
        ? [
            [1, 2],
            [3, 4],
          ]
        : [[2], [4]],
    );
    await expectInvariants(client);
  });

  test('replace: once an older ready task has started, another one may stay ready', async () => {
    const options = { on_conflict: 'replace' };
    const add = (payload: number) => enqueueKeyed('room', payload, options);
    const left = await add(1);
    await age('room', 61);
    const replaced = await add(2);
    await age('room', 61);
    const next = await add(3);
    expect(await statesOf(left, replaced, next)).toEqual(['ready', 'cancelled', 'ready']);
    expect(payloads(await take('room', 1))).toEqual([1]);
    const last = await add(4);
    expect(await statesOf(next, last)).toEqual(['ready', 'ready']);
    expect(payloads(await take('room', 5))).toEqual([3, 4]);
  });
});

test('a ready task with the policy unfinished moves behind the others when it is changed', async () => {
  const options = { on_conflict: 'replace', unique_policy: 'unfinished' };
  const id = await enqueueKeyed('behind', 1, options);
  await enqueue(client, 'behind', [{ payload: 'other', timeout_seconds: 60 }]);
  expect(await enqueueKeyed('behind', 2, options)).toBe(id);
  const seen = [];
  for (let runs = await take('behind', 1); runs.length > 0; runs = await take('behind', 1)) {
    seen.push(...payloads(runs));
  }
  expect(seen).toEqual(['other', 2]);
});
