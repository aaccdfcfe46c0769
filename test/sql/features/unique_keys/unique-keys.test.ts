import { describe, expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  complete,
  drain,
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  refusal,
  rows,
  task,
} from '../../verbs.ts';
import { claimPayloads, enqueueOne, payloadOf, tasksWithKeys, taskWithKey } from './unique_keys.ts';

databasePerFile();

test('a key returns its first task until that task ends', async () => {
  const first = await enqueueOne('keep', 1);
  expect(await enqueueOne('keep', 2)).toBe(first);
  const runs = await claimPayloads('keep');
  expect(runs.map((run) => run.payload)).toEqual([1]);
  expect(await enqueueOne('keep', 3)).toBe(first);
  await fail(client, leaseOf(runs), { retry_in_seconds: 0 });
  expect(await enqueueOne('keep', 3)).toBe(first);
  await complete(client, leaseOf(await claimPayloads('keep')));
  const second = await enqueueOne('keep', 4);
  expect(second).not.toBe(first);
  expect(await payloadOf(second)).toBe(4);
});

test('with the policy pending a key returns its task until it starts, with period for a time after it', async () => {
  const pending = { unique_policy: 'pending' };
  const first = await enqueueOne('pending', 1, pending);
  expect(await enqueueOne('pending', 2, pending)).toBe(first);
  await claimPayloads('pending');
  expect(await enqueueOne('pending', 3, pending)).not.toBe(first);

  const period = { unique_policy: 'period', unique_seconds: 3600 };
  const kept = await enqueueOne('period', 1, period);
  await complete(client, leaseOf(await claimPayloads('period')));
  expect(await enqueueOne('period', 2, period)).toBe(kept);
  await client.query(
    "update tock.unique_keys set created_at = created_at - interval '2 hours' where queue = 'period'",
  );
  expect(await enqueueOne('period', 3, period)).not.toBe(kept);
});

describe('a key is free again', () => {
  const ends: [string, (lease: string, id: string) => Promise<unknown>][] = [
    ['after death', (lease) => fail(client, lease, { fatal: true })],
    ['after a cancel', (_, id) => client.query('select tock.cancel(array[$1::bigint])', [id])],
    [
      'after the last loss',
      async (lease) => {
        await expire(client, lease);
        await reap(client);
      },
    ],
  ];
  test.each(ends)('%s', async (name, end) => {
    const queue = name.replaceAll(' ', '-');
    await client.query(`select tock.put_queue($1, '{"max_lost": 1}')`, [queue]);
    const first = await enqueueOne(queue, 1);
    await end(name.includes('cancel') ? '' : leaseOf(await claimPayloads(queue)), first);
    expect(await enqueueOne(queue, 2)).not.toBe(first);
  });

  test('after a rollback, and is not held by an open transaction of another key', async () => {
    const other = await begin();
    const lost = await enqueueOne('rolled', 1, {}, other);
    await enqueue(client, 'rolled', [taskWithKey(1, {}, 'another')]);
    await other.query('rollback');
    expect(await enqueueOne('rolled', 2)).not.toBe(lost);
  });
});

describe('a task of the same key', () => {
  test('replaces payload, time and priority of the one that has not started', async () => {
    const replace = { on_conflict: 'replace' };
    const id = await enqueueOne('replace', 1, { ...replace, delay_seconds: 60 });
    expect(await enqueueOne('replace', 2, { ...replace, delay_seconds: 0, priority: 1 })).toBe(id);
    expect(await task(client, id)).toMatchObject({ payload: 2, priority: 1 });
    expect((await claimPayloads('replace')).map((run) => run.payload)).toEqual([2]);
  });

  test('is merged into it, array with array', async () => {
    const merge = { on_conflict: 'merge' };
    for (const more of [{ unique_policy: 'unfinished' }, { delay_seconds: 60 }]) {
      const queue = `merge-${Object.keys(more)[0]}`;
      const id = await enqueueOne(queue, [1], { ...merge, ...more });
      expect(await enqueueOne(queue, [2, 3], { ...merge, ...more })).toBe(id);
      expect(await payloadOf(id)).toEqual([1, 2, 3]);
      await enqueueOne(queue, 'other', { ...merge, ...more });
      expect(await payloadOf(id)).toBe('other');
    }
    const first = await enqueueOne('merge', [1], { ...merge, priority: 3 });
    const second = await enqueueOne('merge', [2, 3], { ...merge, delay_seconds: 60 });
    expect((await task(client, first))?.state).toBe('cancelled');
    const merged = { state: 'ready', payload: [1, 2, 3], priority: 3 };
    expect(await task(client, second)).toMatchObject(merged);
  });

  test('delays it, up to debounce_max_seconds', async () => {
    const debounce = { on_conflict: 'debounce', delay_seconds: 60, debounce_max_seconds: 90 };
    const id = await enqueueOne('debounce', 1, debounce);
    const due = async () => (await task(client, id))?.run_at?.getTime() ?? 0;
    const first = await due();
    await client.query(
      "update tock.unique_keys set created_at = created_at - interval '40 s' where queue = 'debounce'",
    );
    expect(await enqueueOne('debounce', 2, debounce)).toBe(id);
    const second = await due();
    // The bound of 90 seconds counts from the first task, 40 seconds ago.
    expect(second).toBeLessThan(first);
    expect(Math.abs(second - Date.now() - 45_500)).toBeLessThan(5500);
    expect(await payloadOf(id)).toBe(2);
  });

  test('is throttled: the first runs at once, the newest of the others after the period', async () => {
    const throttle = { on_conflict: 'throttle', unique_seconds: 3600 };
    const first = await enqueueOne('throttle', 1, throttle);
    expect((await claimPayloads('throttle')).map((run) => run.id)).toEqual([first]);
    const second = await enqueueOne('throttle', 2, throttle);
    expect(second).not.toBe(first);
    expect(await enqueueOne('throttle', 3, throttle)).toBe(second);
    const waits = await task(client, second);
    expect(waits).toMatchObject({ state: 'waiting', payload: 3 });
    expect(Math.round(((waits?.run_at?.getTime() ?? 0) - Date.now()) / 60_000)).toBe(60);
  });

  test('is throttled to ten years from now at most', async () => {
    const throttle = { on_conflict: 'throttle', unique_seconds: 31_536_000 };
    const far = new Date(Date.now() + 3650 * 86_400_000).toISOString();
    const first = await enqueueOne('far', 1, { ...throttle, run_at: far });
    await client.query('select tock.cancel(array[$1::bigint])', [first]);
    const second = await enqueueOne('far', 2, throttle);
    expect(await task(client, second)).toMatchObject({ state: 'waiting', payload: 2 });
  });

  test('is handled in the order of the call', async () => {
    const ids = await enqueue(client, 'one-call', [
      taskWithKey(1, { on_conflict: 'replace' }),
      { payload: 'plain' },
      taskWithKey(2, { on_conflict: 'replace' }),
      taskWithKey(3, { on_conflict: 'replace' }, 'b'),
      taskWithKey(4, { on_conflict: 'replace' }),
    ]);
    const states = await Promise.all(ids.map(async (id) => (await task(client, id))?.state));
    expect(states).toEqual(['cancelled', 'ready', 'cancelled', 'ready', 'ready']);
    const runs = (await drain(client, 'one-call')).flat();
    expect(runs.map((run) => run.payload).sort()).toEqual([3, 4, 'plain']);
  });
});

test('unique keys and concurrency keys unused for 8 days are pruned, others are not', async () => {
  const done = await enqueueOne('tidy', 1, { concurrency_key: 'g' });
  await complete(client, leaseOf(await claimPayloads('tidy')));
  await enqueue(client, 'tidy', [taskWithKey(2, { concurrency_key: 'h' }, 'open')]);
  await claimPayloads('tidy');
  await client.query(
    `update tock.unique_keys set written_at = written_at - interval '8 days' where queue = 'tidy';
     update tock.concurrency_keys set created_at = created_at - interval '8 days' where queue = 'tidy';
     update tock.concurrency_admissions set admitted_at = admitted_at - interval '8 days' where queue = 'tidy'`,
  );
  await client.query('select tock.prune()');
  const left = `select unique_key as key from tock.unique_keys where queue = 'tidy'
    union all select concurrency_key from tock.concurrency_keys where queue = 'tidy' order by 1`;
  expect(await rows(client, left)).toEqual([{ key: 'h' }, { key: 'open' }]);
  expect(await enqueueOne('tidy', 3)).not.toBe(done);
});

test('keys that must be kept do not keep a bounded prune from the others', async () => {
  const keysOf = (queue: string, count: number, options = {}) =>
    enqueue(
      client,
      queue,
      tasksWithKeys(count, (n) => `k${n}`, options),
    );
  await client.query(`select tock.put_queue('age-long', '{"retention_seconds": 315360000}')`);
  await keysOf('age-long', 8);
  await keysOf('age-open', 8, { delay_seconds: 3600 });
  await keysOf('age-until', 8, { on_conflict: 'throttle', unique_seconds: 31536000 });
  await keysOf('age-used', 8);
  await keysOf('age-written', 4);
  for (const queue of ['age-long', 'age-until', 'age-used', 'age-written']) {
    for (const runs of await drain(client, queue)) await complete(client, leaseOf(runs));
  }
  await client.query(
    `update tock.unique_keys set created_at = created_at - interval '8 days',
       written_at = written_at - interval '8 days' where queue like 'age-%'`,
  );
  // The time for which a key remembers changed_at counts from the key's last write.
  const at = (day: number) => ({ changed_at: `2026-01-0${day}T00:00:00Z` });
  await keysOf('age-written', 4, { ...at(1), unique_policy: 'period', unique_seconds: 31536000 });
  for (let n = 0; n < 7; n++) await client.query('select tock.prune(p_limit => 4)');
  const counts = `select queue || ' ' || count(*) as kept from tock.unique_keys
    where queue like 'age-%' group by queue order by queue`;
  const kept = ['age-long 8', 'age-open 8', 'age-until 8', 'age-written 4'].map((kept) => ({
    kept,
  }));
  expect(await rows(client, counts)).toEqual(kept);
});

test.each(['repeatable read', 'serializable'])('a key is refused in %s', async (level) => {
  const on = await db.connect();
  await on.query(`begin isolation level ${level}`);
  const refused = await refusal(enqueue(on, 'isolated', [{}, taskWithKey(1)]));
  expect(refused).toMatchObject({ code: 'TK409', detail: 'unique_key' });
  expect(refused.hint).toContain('read committed');
  await on.query('rollback');
  await on.query(`begin isolation level ${level}`);
  expect(await enqueue(on, 'isolated', [{ payload: 1, unique_key: null }])).toHaveLength(1);
  await on.query('commit');
});

describe('a call with many keys', () => {
  test('takes 10,000 new keys, and then 10,000 existing ones', async () => {
    const tasks = tasksWithKeys(10_000, (n) => `k${n}`);
    const ids = await enqueue(client, 'many', tasks);
    expect(new Set(ids).size).toBe(10_000);
    expect(await payloadOf(ids[4321] as string)).toBe(4321);
    expect(await enqueue(client, 'many', tasks.reverse())).toEqual(ids.reverse());
  });

  test('takes at most 10,000 keys, and at most 100 tasks of one key', async () => {
    const more = [{}, ...tasksWithKeys(10_001, (n) => `k${n}`)];
    const refused = (at: number) => ({ code: 'TK422', detail: `tasks[${at}].unique_key` });
    expect(await refusal(enqueue(client, 'too-many', more))).toMatchObject(refused(10_001));
    const same = tasksWithKeys(201, (n) => `k${n % 2}`);
    expect(new Set(await enqueue(client, 'too-many', same.slice(1))).size).toBe(2);
    expect(await refusal(enqueue(client, 'too-many', same))).toMatchObject(refused(200));
  });
});

test.each([
  [{ unique_key: '' }, 'unique_key'],
  [{ concurrency_key: 'key:k' }, 'concurrency_key'],
  [{ unique_key: 'k', on_conflict: 'rerun', concurrency_key: 'g' }, 'concurrency_key'],
  [{ unique_policy: 'pending' }, 'unique_policy'],
  [{ unique_key: 'k', unique_policy: 'period' }, 'unique_policy'],
  [{ unique_key: 'k', unique_seconds: 5 }, 'unique_seconds'],
  [{ unique_key: 'k', on_conflict: 'throttle' }, 'on_conflict'],
  [
    { ...taskWithKey(1), on_conflict: 'rerun', unique_policy: 'period', unique_seconds: 1 },
    'on_conflict',
  ],
  [{ unique_key: 'k', debounce_max_seconds: 5 }, 'debounce_max_seconds'],
  [{ unique_key: 'k', on_conflict: 'ignore' }, 'on_conflict'],
  [{ changed_at: '2026-01-01T00:00:00Z' }, 'changed_at'],
])('%j is refused', async (options, field) => {
  const refused = await refusal(enqueue(client, 'refused', [{}, options]));
  expect(refused).toMatchObject({ code: 'TK422', detail: `tasks[1].${field}` });
  expect(await rows(client, "select from tock.streams where queue = 'refused'")).toEqual([]);
});
