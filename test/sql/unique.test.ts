import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import { dice } from './load.ts';
import {
  blocked,
  claim,
  complete,
  drain,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  pidOf,
  promote,
  reap,
  refusal,
  rows,
  task,
  value,
} from './support.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const keyed = (payload: unknown, options: object = {}, key = 'k') => ({
  payload,
  unique_key: key,
  ...options,
});

/** Enqueues one and says its id. */
async function one(queue: string, payload: unknown, options: object = {}, on = client) {
  const [id] = await enqueue(on, queue, [keyed(payload, options)]);
  return id as string;
}

const take = async (queue: string, limit = 10) => {
  await promote(client);
  return claim(client, queue, { limit });
};
const payloadOf = async (id: string) => (await task(client, id))?.payload;

test('the first task of a key stands for those that come until it ends', async () => {
  const first = await one('keep', 1);
  expect(await one('keep', 2)).toBe(first);
  const runs = await take('keep');
  expect(runs.map((run) => run.payload)).toEqual([1]);
  expect(await one('keep', 3)).toBe(first);
  await complete(client, leaseOf(runs));
  const second = await one('keep', 4);
  expect(second).not.toBe(first);
  expect(await payloadOf(second)).toBe(4);
});

test('with the policy pending only until it starts, with period for so long after', async () => {
  const pending = { unique_policy: 'pending' };
  const first = await one('pending', 1, pending);
  expect(await one('pending', 2, pending)).toBe(first);
  await take('pending');
  expect(await one('pending', 3, pending)).not.toBe(first);

  const period = { unique_policy: 'period', unique_seconds: 3600 };
  const kept = await one('period', 1, period);
  await complete(client, leaseOf(await take('period')));
  expect(await one('period', 2, period)).toBe(kept);
  await client.query(
    "update tock.unique_keys set created_at = created_at - interval '2 hours' where queue = 'period'",
  );
  expect(await one('period', 3, period)).not.toBe(kept);
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
    const first = await one(queue, 1);
    if (name.includes('cancel')) await end('', first);
    else await end(leaseOf(await take(queue)), first);
    expect(await one(queue, 2)).not.toBe(first);
  });

  test('after a rollback, and is not held by an open transaction of another key', async () => {
    const other = await db.connect();
    await other.query('begin');
    const lost = await one('rolled', 1, {}, other);
    await enqueue(client, 'rolled', [keyed(1, {}, 'another')]);
    await other.query('rollback');
    expect(await one('rolled', 2)).not.toBe(lost);
  });

  test('after a failure only when the last attempt is over', async () => {
    const first = await one('retried', 1);
    await fail(client, leaseOf(await take('retried')), { retry_in_seconds: 0 });
    expect(await one('retried', 2)).toBe(first);
    await complete(client, leaseOf(await take('retried')));
    expect(await one('retried', 3)).not.toBe(first);
  });
});

test('who comes while a key is being taken waits, and gets the same task', async () => {
  const [holder, other] = [await db.connect(), await db.connect()];
  await holder.query('begin');
  const first = await one('open', 1, {}, holder);
  const pid = await pidOf(other);
  const second = one('open', 2, {}, other);
  await blocked(client, pid);
  await holder.query('commit');
  expect(await second).toBe(first);
});

test('of eight callers with one key one adds a task, whatever they ask for', async () => {
  const options = [
    {},
    { on_conflict: 'replace', unique_policy: 'unfinished' },
    { on_conflict: 'debounce', delay_seconds: 60, debounce_max_seconds: 90 },
    { on_conflict: 'merge', delay_seconds: 60 },
    { unique_policy: 'pending' },
  ];
  const callers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  for (const [n, option] of options.entries()) {
    const queue = `hammer-${n}`;
    const ids = await Promise.all(
      callers.flatMap((on) =>
        Array.from({ length: 10 }, (_, call) => one(queue, [call], option, on)),
      ),
    );
    expect(new Set(ids).size, JSON.stringify(option)).toBe(1);
    expect(
      await value(client, 'select count(*)::int from tock.unique_keys where queue = $1', [queue]),
    ).toBe(1);
  }
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  const [merged] = await take('hammer-3');
  expect(merged?.payload).toHaveLength(80);
  for (const on of callers) await on.end();
});

test('of eight callers who replace a ready task the last one leaves one', async () => {
  const callers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  for (const on_conflict of ['replace', 'merge', 'debounce', 'rerun', 'throttle']) {
    const queue = `newest-${on_conflict}`;
    const option = { on_conflict, ...(on_conflict === 'throttle' && { unique_seconds: 60 }) };
    const ids = await Promise.all(
      callers.flatMap((on) =>
        Array.from({ length: 10 }, (_, call) => one(queue, [call], option, on)),
      ),
    );
    const states = await Promise.all([...new Set(ids)].map((id) => task(client, id)));
    const open = states.filter((one) => one?.state !== 'cancelled');
    expect(open, on_conflict).toHaveLength(1);
    const runs = await take(queue);
    expect(runs.map((run) => run.id)).toEqual([open[0]?.id]);
    if (on_conflict === 'merge') expect(runs[0]?.payload).toHaveLength(80);
  }
  for (const on of callers) await on.end();
});

test('callers with many keys each, in any order, wait for each other in one direction', async () => {
  const keys = Array.from({ length: 16 }, (_, n) => `k${n}`);
  const callers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  const random = dice(7);
  const call = (on: pg.Client) => {
    const half = keys.filter(() => random(2) === 0);
    // some twice in a call, of which the first may take nothing
    const tasks = [...half, ...half.slice(0, 4)]
      .map((key) => ({ key, at: random(1000) }))
      .sort((one, other) => one.at - other.at)
      .map(({ key, at }) =>
        keyed(at, { on_conflict: ['keep', 'replace', 'rerun'][random(3)] }, key),
      );
    return enqueue(on, 'crossed', tasks);
  };
  await Promise.all(
    callers.map(async (on) => {
      for (let n = 0; n < 25; n++) await call(on);
    }),
  );
  await promote(client);
  expect((await drain(client, 'crossed')).flat()).toHaveLength(16);
  for (const on of callers) await on.end();
});

test('beside workers a key never has two unfinished tasks, and no task is lost', async () => {
  const ids = new Set<string>();
  const done = new Map<string, number>();
  const open = new Set<string>();
  let going = true;
  const worker = async () => {
    const on = await db.connect();
    while (
      going ||
      (await value<boolean>(
        on,
        `select exists (select from tock.queue_stats('race') where ready + waiting > 0)`,
      ))
    ) {
      await promote(on);
      const runs = await claim(on, 'race', { limit: 3 });
      for (const run of runs) {
        const key = `${run.payload}`;
        if (open.has(key)) throw new Error(`two tasks of ${key} run at once`);
        open.add(key);
      }
      for (const run of runs) open.delete(`${run.payload}`);
      if (runs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      else await complete(on, leaseOf(runs));
      for (const { id } of runs) done.set(id, (done.get(id) ?? 0) + 1);
    }
    await on.end();
  };
  const caller = async () => {
    const on = await db.connect();
    for (let n = 0; n < 60; n++) {
      const tasks = ['a', 'b', 'c'].map((key) => keyed(key, {}, key));
      for (const id of await enqueue(on, 'race', tasks)) ids.add(id);
    }
    await on.end();
  };
  const workers = [worker(), worker(), worker()];
  await Promise.all(Array.from({ length: 5 }, caller));
  going = false;
  await Promise.all(workers);
  expect([...done.keys()].sort()).toEqual([...ids].sort());
  expect(Math.max(...done.values())).toBe(1);
  await expectWhole(client);
});

describe('a task of the same key', () => {
  test('replaces payload, time and priority of the one that has not started', async () => {
    const replace = { on_conflict: 'replace' };
    const id = await one('replace', 1, { ...replace, delay_seconds: 60 });
    expect(await one('replace', 2, { ...replace, delay_seconds: 0, priority: 1 })).toBe(id);
    expect(await task(client, id)).toMatchObject({ payload: 2, priority: 1 });
    expect((await take('replace')).map((run) => run.payload)).toEqual([2]);
  });

  test('is put together with it, array with array', async () => {
    const merge = { on_conflict: 'merge' };
    for (const more of [{ unique_policy: 'unfinished' }, { delay_seconds: 60 }]) {
      const queue = `merge-${Object.keys(more)[0]}`;
      const id = await one(queue, [1], { ...merge, ...more });
      expect(await one(queue, [2, 3], { ...merge, ...more })).toBe(id);
      expect(await payloadOf(id)).toEqual([1, 2, 3]);
      await one(queue, 'other', { ...merge, ...more });
      expect(await payloadOf(id)).toBe('other');
    }
    const first = await one('merge', [1], { ...merge, priority: 3 });
    const second = await one('merge', [2, 3], { ...merge, delay_seconds: 60 });
    expect((await task(client, first))?.state).toBe('cancelled');
    expect(await task(client, second)).toMatchObject({
      state: 'ready',
      payload: [1, 2, 3],
      priority: 3,
    });
  });

  test('puts it off, for so long at most', async () => {
    const debounce = { on_conflict: 'debounce', delay_seconds: 60, debounce_max_seconds: 90 };
    const id = await one('debounce', 1, debounce);
    const due = async () => (await task(client, id))?.run_at?.getTime() ?? 0;
    const first = await due();
    await client.query(
      "update tock.unique_keys set created_at = created_at - interval '40 s' where queue = 'debounce'",
    );
    expect(await one('debounce', 2, debounce)).toBe(id);
    const second = await due();
    // 90 seconds from the first, which was 40 seconds ago
    expect(second - first).toBeLessThan(0);
    expect(second - Date.now()).toBeGreaterThan(40_000);
    expect(second - Date.now()).toBeLessThan(51_000);
    expect(await payloadOf(id)).toBe(2);
  });

  test('is throttled: the first at once, the newest of the others when the time is up', async () => {
    const throttle = { on_conflict: 'throttle', unique_seconds: 3600 };
    const first = await one('throttle', 1, throttle);
    expect((await take('throttle')).map((run) => run.id)).toEqual([first]);
    const second = await one('throttle', 2, throttle);
    expect(second).not.toBe(first);
    expect(await one('throttle', 3, throttle)).toBe(second);
    const waits = await task(client, second);
    expect(waits).toMatchObject({ state: 'waiting', payload: 3 });
    expect(Math.round(((waits?.run_at?.getTime() ?? 0) - Date.now()) / 60_000)).toBe(60);
  });

  test('is throttled to ten years from now at most', async () => {
    const throttle = { on_conflict: 'throttle', unique_seconds: 31_536_000 };
    const far = new Date(Date.now() + 3650 * 86_400_000).toISOString();
    const first = await one('far', 1, { ...throttle, run_at: far });
    await client.query('select tock.cancel(array[$1::bigint])', [first]);
    const second = await one('far', 2, throttle);
    expect(await task(client, second)).toMatchObject({ state: 'waiting', payload: 2 });
  });

  test('in one call counts as one after the other', async () => {
    const ids = await enqueue(client, 'one-call', [
      keyed(1, { on_conflict: 'replace' }),
      { payload: 'plain' },
      keyed(2, { on_conflict: 'replace' }),
      keyed(3, { on_conflict: 'replace' }, 'b'),
      keyed(4, { on_conflict: 'replace' }),
    ]);
    const states = await Promise.all(ids.map(async (id) => (await task(client, id))?.state));
    expect(states).toEqual(['cancelled', 'ready', 'cancelled', 'ready', 'ready']);
    expect(
      (await drain(client, 'one-call'))
        .flat()
        .map((run) => run.payload)
        .sort(),
    ).toEqual([3, 4, 'plain']);
  });
});

describe('what is committed after its task has started comes to run', () => {
  const ways: [string, object][] = [
    ['what is to rerun', { on_conflict: 'rerun' }],
    ['what replaces a pending one', { on_conflict: 'replace', unique_policy: 'pending' }],
    ['what replaces, with no policy said', { on_conflict: 'replace' }],
    ['what is merged', { on_conflict: 'merge' }],
    ['what is put off', { on_conflict: 'debounce' }],
    ['what is throttled', { on_conflict: 'throttle', unique_seconds: 60 }],
  ];
  test.each(ways)('%s', async (name, options) => {
    const queue = name.replaceAll(/[ ,]+/g, '-');
    await one(queue, 1, options);
    await promote(client);
    const changing = await db.connect();
    await changing.query('begin');
    const newest = await one(queue, 2, options, changing);
    const first = await take(queue);
    expect(first.map((run) => run.payload)).toEqual([1]);
    await changing.query('commit');
    await complete(client, leaseOf(first));
    await makeDue(client, queue);
    const second = await take(queue);
    expect(second).toMatchObject([{ payload: 2, id: newest }]);
    await complete(client, leaseOf(second));
    expect(await take(queue)).toEqual([]);
    await expectWhole(client);
  });

  test('what was changed beside a claim that was not committed when the change was', async () => {
    const rerun = { on_conflict: 'rerun' };
    await one('claimed', 1, rerun);
    await promote(client);
    const worker = await db.connect();
    await worker.query('begin');
    const first = await claim(worker, 'claimed');
    expect(first.map((run) => run.payload)).toEqual([1]);
    await one('claimed', 2, rerun);
    await worker.query('commit');
    await complete(client, leaseOf(first));
    expect((await take('claimed')).map((run) => run.payload)).toEqual([2]);
  });

  test('what replaces a task put off in the place of a run that had started', async () => {
    const id = await one('put-off', 1, { on_conflict: 'replace' });
    const worker = await db.connect();
    await worker.query('begin');
    await claim(worker, 'put-off');
    await client.query(`select tock.change(array[$1::bigint], '{"delay_seconds": 60}')`, [id]);
    const newest = await one('put-off', 2, { on_conflict: 'replace' });
    await worker.query('commit');
    await makeDue(client, 'put-off');
    expect(await task(client, newest)).toMatchObject({ payload: 2 });
    const runs = await take('put-off');
    expect(runs).toMatchObject([{ payload: 2, id: newest }]);
  });

  test('all that was written beside workers: their last run of a key has its newest payload', async () => {
    const keys = Array.from({ length: 6 }, (_, n) => `doc ${n}`);
    const newest = new Map<string, number>();
    const ran = new Map<string, number>();
    let going = true;
    const writer = async (own: string[], on_conflict: string) => {
      const on = await db.connect();
      for (let n = 1; n <= 40; n++) {
        for (const key of own) {
          await on.query('begin');
          await enqueue(on, 'outbox', [keyed({ key, n }, { on_conflict }, key)]);
          await new Promise((resolve) => setTimeout(resolve, n % 4));
          await on.query('commit');
          newest.set(key, n);
        }
      }
      await on.end();
    };
    const worker = async () => {
      const on = await db.connect();
      for (;;) {
        const last = !going;
        await promote(on);
        const runs = await claim(on, 'outbox', { limit: 2 });
        if (runs.length === 0 && last) break;
        for (const run of runs) {
          const { key, n } = run.payload as { key: string; n: number };
          ran.set(key, Math.max(n, ran.get(key) ?? 0));
        }
        if (runs.length > 0) await complete(on, leaseOf(runs));
      }
      await on.end();
    };
    const workers = [worker(), worker(), worker()];
    await Promise.all([
      writer(keys.slice(0, 2), 'rerun'),
      writer(keys.slice(2, 4), 'replace'),
      writer(keys.slice(4), 'debounce'),
    ]);
    going = false;
    await Promise.all(workers);
    await promote(client);
    for (const run of (await drain(client, 'outbox')).flat()) {
      const { key, n } = run.payload as { key: string; n: number };
      ran.set(key, Math.max(n, ran.get(key) ?? 0));
    }
    expect(ran).toEqual(newest);
    await expectWhole(client);
  });
});

describe('what changed while it ran', () => {
  const rerun = (at?: string) => ({ on_conflict: 'rerun', ...(at && { changed_at: at }) });
  const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;

  test('is done once more when it ends, once, with the newest payload', async () => {
    await one('rerun', 1, rerun(at(1)));
    const first = await take('rerun');
    const again = await one('rerun', 2, rerun(at(2)));
    expect(await one('rerun', 4, rerun(at(4)))).toBe(again);
    expect(await one('rerun', 3, rerun(at(3)))).toBe(again);
    expect(await take('rerun')).toEqual([]);
    await complete(client, leaseOf(first));
    const second = await take('rerun');
    expect(second.map((run) => run.payload)).toEqual([4]);
    await complete(client, leaseOf(second));
    expect(await take('rerun')).toEqual([]);
  });

  test('runs beside the tasks of a gate of that name', async () => {
    await enqueue(client, 'named', [{ payload: 'g', gate: 'k' }, keyed('k', rerun())]);
    const runs = await take('named');
    expect(runs.map((run) => run.payload).sort()).toEqual(['g', 'k']);
    const [gate] = await rows(
      client,
      "select gate from tock.gates where gate like 'key:%' and queue = 'named'",
    );
    expect(gate).toEqual({ gate: 'key:k' });
  });

  test("waits for the one that runs, whatever its queue's gates let in", async () => {
    await client.query(
      `select tock.put_queue('own-gate', '{"gate_limit": 3, "gate_retry": "yield", "gate_rate_limit": 1, "gate_rate_seconds": 3600}')`,
    );
    await one('own-gate', 1, rerun());
    const first = await take('own-gate');
    await one('own-gate', 2, rerun());
    await fail(client, leaseOf(first), { retry_in_seconds: 0 });
    const again = await take('own-gate');
    expect(again.map((run) => run.payload)).toEqual([1]);
    await complete(client, leaseOf(again));
    expect((await take('own-gate')).map((run) => run.payload)).toEqual([2]);
  });

  test('is ignored when it is older than what was done', async () => {
    const id = await one('older', 1, rerun(at(5)));
    await complete(client, leaseOf(await take('older')));
    expect(await one('older', 0, rerun(at(5)))).toBe(id);
    expect(await one('older', 0, rerun(at(4)))).toBe(id);
    expect(await take('older')).toEqual([]);
    expect(await one('older', 2, rerun(at(6)))).not.toBe(id);
  });

  test('is done once more after a failure and a loss, too', async () => {
    await one('after-failure', 1, rerun());
    const first = await take('after-failure');
    await one('after-failure', 2, rerun());
    await fail(client, leaseOf(first), { retry_in_seconds: 0 });
    const second = await take('after-failure');
    expect(second.map((run) => run.payload)).toEqual([1]);
    await expire(client, leaseOf(second));
    await reap(client);
    const third = await take('after-failure');
    expect(third.map((run) => run.payload)).toEqual([1]);
    await complete(client, leaseOf(third));
    expect((await take('after-failure')).map((run) => run.payload)).toEqual([2]);
  });
});

test('keys and gates that nobody has used for long are forgotten, others are not', async () => {
  const done = await one('tidy', 1, { gate: 'g' });
  await complete(client, leaseOf(await take('tidy')));
  await enqueue(client, 'tidy', [keyed(2, { gate: 'h' }, 'open')]);
  await take('tidy');
  await client.query(
    "update tock.unique_keys set written_at = written_at - interval '8 days' where queue = 'tidy'",
  );
  await client.query(
    "update tock.gates set created_at = created_at - interval '8 days' where queue = 'tidy'",
  );
  await client.query(
    "update tock.turns set turned_at = turned_at - interval '8 days' where queue = 'tidy'",
  );
  await client.query('select tock.tidy()');
  const left = `select unique_key as key from tock.unique_keys where queue = 'tidy'
    union all select gate from tock.gates where queue = 'tidy' order by 1`;
  expect(await rows(client, left)).toEqual([{ key: 'h' }, { key: 'open' }]);
  expect(await one('tidy', 3)).not.toBe(done);
});

test('keys that are still to be kept do not stand before others', async () => {
  const keysOf = (queue: string, count: number, options: object = {}) =>
    enqueue(
      client,
      queue,
      Array.from({ length: count }, (_, n) => keyed(n, options, `k${n}`)),
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
  // the memory of what a key has seen counts from when it was last told
  const at = (day: number) => ({ changed_at: `2026-01-0${day}T00:00:00Z` });
  await keysOf('age-written', 4, { ...at(1), unique_policy: 'period', unique_seconds: 31536000 });
  const counts = async () =>
    (
      await rows<{ queue: string; keys: number }>(
        client,
        `select queue, count(*)::int as keys from tock.unique_keys where queue like 'age-%' group by 1 order by 1`,
      )
    ).map(({ queue, keys }) => `${queue} ${keys}`);
  for (let n = 0; n < 7; n++) await client.query('select tock.tidy(p_limit => 4)');
  expect(await counts()).toEqual(['age-long 8', 'age-open 8', 'age-until 8', 'age-written 4']);
});

test.each(['repeatable read', 'serializable'])('a key is refused in %s', async (level) => {
  const on = await db.connect();
  await on.query(`begin isolation level ${level}`);
  const refused = await refusal(enqueue(on, 'isolated', [{}, keyed(1)]));
  expect(refused).toMatchObject({ code: 'TK409', detail: 'unique_key' });
  expect(refused.hint).toContain('read committed');
  await on.query('rollback');
  await on.query(`begin isolation level ${level}`);
  expect(await enqueue(on, 'isolated', [{ payload: 1, unique_key: null }])).toHaveLength(1);
  await on.query('commit');
});

describe('a call with many keys', () => {
  const many = (count: number, key: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => keyed(n, {}, key(n)));

  test('takes 10,000 of them, and as many again that are taken', async () => {
    const tasks = many(10_000, (n) => `k${n}`);
    const ids = await enqueue(client, 'many', tasks);
    expect(new Set(ids).size).toBe(10_000);
    expect(await payloadOf(ids[4321] as string)).toBe(4321);
    expect(await enqueue(client, 'many', tasks.reverse())).toEqual(ids.reverse());
  });

  test('takes no more, and no more than 100 of one', async () => {
    const more = [{}, ...many(10_001, (n) => `k${n}`)];
    expect(await refusal(enqueue(client, 'too-many', more))).toMatchObject({
      code: 'TK422',
      detail: 'tasks[10001].unique_key',
    });
    const ids = await enqueue(
      client,
      'too-many',
      many(200, (n) => `k${n % 2}`),
    );
    expect(new Set(ids).size).toBe(2);
    const same = many(201, (n) => `k${n % 2}`);
    expect(await refusal(enqueue(client, 'too-many', same))).toMatchObject({
      code: 'TK422',
      detail: 'tasks[200].unique_key',
    });
  });
});

test.each([
  [{ unique_key: '' }, 'unique_key'],
  [{ gate: 'key:k' }, 'gate'],
  [{ unique_key: 'k', on_conflict: 'rerun', gate: 'g' }, 'gate'],
  [{ unique_policy: 'pending' }, 'unique_policy'],
  [{ unique_key: 'k', unique_policy: 'period' }, 'unique_policy'],
  [{ unique_key: 'k', unique_seconds: 5 }, 'unique_seconds'],
  [{ unique_key: 'k', on_conflict: 'throttle' }, 'on_conflict'],
  [
    { unique_key: 'k', on_conflict: 'rerun', unique_policy: 'period', unique_seconds: 1 },
    'on_conflict',
  ],
  [{ unique_key: 'k', debounce_max_seconds: 5 }, 'debounce_max_seconds'],
  [{ unique_key: 'k', on_conflict: 'ignore' }, 'on_conflict'],
  [{ changed_at: '2026-01-01T00:00:00Z' }, 'changed_at'],
])('%j is refused', async (options, field) => {
  const refused = await refusal(enqueue(client, 'refused', [{}, options]));
  expect(refused).toMatchObject({ code: 'TK422', detail: `tasks[1].${field}` });
  expect(
    await value(client, "select count(*)::int from tock.streams where queue = 'refused'"),
  ).toBe(0);
});
