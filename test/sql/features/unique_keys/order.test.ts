import { describe, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
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
import { claimPayloads, enqueueOne, taskWithKey } from './unique_keys.ts';

databasePerFile();

const payloads = (runs: { payload: unknown }[]) => runs.map((run) => run.payload);
const stateOf = async (id: string) => (await task(client, id))?.state;

test('payloads merged while a task runs are all in its next attempt, and in the one after', async () => {
  const merge = { on_conflict: 'merge', unique_policy: 'unfinished' };
  const id = await enqueueOne('merged', [1], merge);
  for (const attempt of [1, 2]) {
    const runs = await claimPayloads('merged');
    for (const n of [2, 3]) expect(await enqueueOne('merged', [10 * attempt + n], merge)).toBe(id);
    await fail(client, leaseOf(runs), { retry_in_seconds: 0 });
  }
  expect(payloads(await claimPayloads('merged'))).toEqual([[1, 12, 13, 22, 23]]);
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
      const [id] = await enqueue(client, queue, [taskWithKey(1, options, key)]);
      ids.set(key, id as string);
    }
    const idsOf = (...keys: string[]) => keys.map((key) => ids.get(key));
    if (kind[0] === 'amended') await claim(client, queue, { limit: 4 });
    const [holder, changing, keying] = [await db.connect(), await db.connect(), await db.connect()];
    // A third transaction blocks both calls in the middle of their tasks, and then ends.
    await holder.query('begin');
    await holder.query(hold as string, [idsOf('m', 'ab'), ...kind]);
    const pids = [await pidOf(changing), await pidOf(keying)] as [number, number];
    const first = changing.query(statement, [idsOf('a', 'b', 'm')]);
    await waitUntilBlocked(client, pids[0]);
    const tasks = ['a', 'ab', 'b'].map((key) => taskWithKey(2, options, key));
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
  ])('%s', async (name, options, expected) => {
    const queue = name.replaceAll(' ', '-');
    await enqueueOne(queue, 1, { ...throttle, ...options });
    await makeDue(client, queue);
    expect(payloads(await claimPayloads(queue))).toEqual([1]);
    const second = await enqueueOne(queue, 2, throttle);
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
    await enqueueOne(queue, [1], options);
    await promote(client);
    const first = await enqueueOne(queue, [2], options);
    await makeDue(client, queue);
    await promote(client);
    await age(queue, seconds);
    await enqueueOne(queue, [3], options);
    await makeDue(client, queue);
    await promote(client);
    expect(await stateOf(first)).toBe('ready');
    // A key has at most two ready tasks.
    await age(queue, seconds);
    await enqueueOne(queue, [4], options);
    expect(await stateOf(first)).toBe('ready');
    const seen = [];
    for (let round = 0; round < 3; round++) {
      await makeDue(client, queue);
      const runs = await claimPayloads(queue, 1);
      seen.push(...payloads(runs));
      if (runs.length > 0) await client.query('select tock.complete($1)', [leaseOf(runs)]);
    }
    expect(seen.join(' / ')).toBe(on_conflict === 'merge' ? '1,2 / 3,4' : '2 / 4');
    await expectInvariants(client);
  });

  test('replace: once an older ready task has started, another one may stay ready', async () => {
    const options = { on_conflict: 'replace' };
    const add = (payload: number) => enqueueOne('room', payload, options);
    const left = await add(1);
    await age('room', 61);
    const replaced = await add(2);
    await age('room', 61);
    const next = await add(3);
    expect(await Promise.all([left, replaced, next].map(stateOf))).toEqual([
      'ready',
      'cancelled',
      'ready',
    ]);
    expect(payloads(await claimPayloads('room', 1))).toEqual([1]);
    const last = await add(4);
    expect(await Promise.all([next, last].map(stateOf))).toEqual(['ready', 'ready']);
    expect(payloads(await claimPayloads('room', 5))).toEqual([3, 4]);
  });
});

test('a ready task with the policy unfinished moves behind the others when it is changed', async () => {
  const options = { on_conflict: 'replace', unique_policy: 'unfinished' };
  const id = await enqueueOne('behind', 1, options);
  await enqueue(client, 'behind', [{ payload: 'other', timeout_seconds: 60 }]);
  expect(await enqueueOne('behind', 2, options)).toBe(id);
  const seen = [];
  for (
    let runs = await claimPayloads('behind', 1);
    runs.length > 0;
    runs = await claimPayloads('behind', 1)
  ) {
    seen.push(...payloads(runs));
  }
  expect(seen).toEqual(['other', 2]);
});
