import type pg from 'pg';
import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { expectInvariants } from '../../invariants.ts';
import { overlapping } from '../../kernel/sessions.ts';
import { seededRandom } from '../../load.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, drain, enqueue, leaseOf, promote, task, value } from '../../verbs.ts';
import { claimPayloads, enqueueOne, taskWithKey } from './unique_keys.ts';

databasePerFile();

const eight = () => Promise.all(Array.from({ length: 8 }, () => db.connect()));

/** Makes `count` calls by each of the sessions, all at once. */
const fromEach = <T>(
  sessions: pg.Client[],
  count: number,
  call: (n: number, on: pg.Client) => Promise<T>,
) => Promise.all(sessions.flatMap((on) => Array.from({ length: count }, (_, n) => call(n, on))));

test('a second call with a key waits for the first one and returns the same task', async () => {
  const call = (on: pg.Client) => enqueueOne('open', 1, {}, on);
  const [first, second] = await overlapping(call, call);
  expect(second).toBe(first);
});

test('eight callers with one key add one task, with any on_conflict', async () => {
  const options = [
    {},
    { on_conflict: 'replace', unique_policy: 'unfinished' },
    { on_conflict: 'debounce', delay_seconds: 60, debounce_max_seconds: 90 },
    { on_conflict: 'merge', delay_seconds: 60 },
    { unique_policy: 'pending' },
  ];
  const callers = await eight();
  for (const [n, option] of options.entries()) {
    const queue = `hammer-${n}`;
    const ids = await fromEach(callers, 10, (call, on) => enqueueOne(queue, [call], option, on));
    expect(new Set(ids).size, JSON.stringify(option)).toBe(1);
    const keys = 'select count(*)::int from tock.unique_keys where queue = $1';
    expect(await value(client, keys, [queue])).toBe(1);
  }
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  const [merged] = await claimPayloads('hammer-3');
  expect(merged?.payload).toHaveLength(80);
});

test('eight callers that replace a ready task leave one task', async () => {
  const callers = await eight();
  for (const on_conflict of ['replace', 'merge', 'debounce', 'rerun', 'throttle']) {
    const queue = `newest-${on_conflict}`;
    const option = { on_conflict, ...(on_conflict === 'throttle' && { unique_seconds: 60 }) };
    const ids = await fromEach(callers, 6, (call, on) => enqueueOne(queue, [call], option, on));
    const states = await Promise.all([...new Set(ids)].map((id) => task(client, id)));
    const open = states.filter((row) => row?.state !== 'cancelled');
    expect(open, on_conflict).toHaveLength(1);
    const runs = await claimPayloads(queue);
    expect(runs.map((run) => run.id)).toEqual([open[0]?.id]);
    if (on_conflict === 'merge') expect(runs[0]?.payload).toHaveLength(48);
  }
});

test('calls with many keys each, in any order, do not deadlock', async () => {
  const keys = Array.from({ length: 16 }, (_, n) => `k${n}`);
  const callers = await eight();
  const random = seededRandom(7);
  const call = (on: pg.Client) => {
    const half = keys.filter(() => random(2) === 0);
    // Some keys occur twice in a call; of these the first task may add nothing.
    const tasks = [...half, ...half.slice(0, 4)]
      .map((key) => ({ key, at: random(1000) }))
      .sort((first, other) => first.at - other.at)
      .map(({ key, at }) =>
        taskWithKey(at, { on_conflict: ['keep', 'replace', 'rerun'][random(3)] }, key),
      );
    return enqueue(on, 'crossed', tasks);
  };
  await Promise.all(
    callers.map(async (on) => {
      for (let n = 0; n < 15; n++) await call(on);
    }),
  );
  await promote(client);
  expect((await drain(client, 'crossed')).flat()).toHaveLength(16);
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
      if (runs.length === 0) await sleep(5);
      else await complete(on, leaseOf(runs));
      for (const { id } of runs) done.set(id, (done.get(id) ?? 0) + 1);
    }
    await on.end();
  };
  const caller = async () => {
    const on = await db.connect();
    for (let n = 0; n < 60; n++) {
      const tasks = ['a', 'b', 'c'].map((key) => taskWithKey(key, {}, key));
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
  await expectInvariants(client);
});
