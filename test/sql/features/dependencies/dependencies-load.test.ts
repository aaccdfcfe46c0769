import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  numberedTasks,
  promote,
  type Run,
  rows,
  value,
} from '../../verbs.ts';

databasePerFile();

const dependency_waits = () =>
  value<number>(client, 'select count(*)::integer from tock.dependency_waits');
const written = async () => {
  await client.query('select pg_stat_force_next_flush()');
  return value<number>(
    client,
    "select (n_tup_ins - n_tup_upd)::integer from pg_stat_user_tables where relid = 'tock.dependency_waits'::regclass",
  );
};

test('ten thousand children of one parent become ready when it is done', async () => {
  const [parent = ''] = await enqueue(client, 'wide', [{}]);
  await enqueue(client, 'wide', numberedTasks(10_000, 0, { depends_on: [parent] }));
  expect(await dependency_waits()).toBe(10_000);
  await complete(client, leaseOf(await claim(client, 'wide')));
  const taken: number[] = [];
  const all = async () => {
    await promote(client);
    const runs = await claim(client, 'wide', { limit: 10_000 });
    taken.push(...runs.map((run) => run.payload as number));
    return taken.length;
  };
  await expect.poll(all).toBe(10_000);
  expect(new Set(taken).size).toBe(10_000);
  expect(await dependency_waits()).toBe(0);
});

test('ten thousand parents of one child are checked a few at a time', async () => {
  await enqueue(client, 'deep', [
    ...numberedTasks(10_000),
    { payload: 'child', depends_on: ['*'] },
  ]);
  const leases: Run[][] = [];
  for (let n = 0; n < 100; n++) leases.push(await claim(client, 'deep', { limit: 100 }));
  expect(await claim(client, 'deep')).toEqual([]);
  const before = await written();
  leases.sort(() => Math.random() - 0.5);
  for (const runs of leases) {
    expect(await dependency_waits()).toBe(1);
    await complete(client, leaseOf(runs));
  }
  expect((await claim(client, 'deep')).map((run) => run.payload)).toEqual(['child']);
  expect((await written()) - before).toBeLessThan(50);
});

test('the callback of each of many concurrent batches runs once, after all tasks of its batch', async () => {
  const batches = 60;
  const size = 8;
  for (let n = 0; n < batches; n++) {
    const tasks = Array.from({ length: size }, () => ({ payload: { of: n } }));
    await enqueue(client, 'batches', [...tasks, { payload: { callback: n }, depends_on: ['*'] }]);
  }
  const done = Array<number>(batches).fill(0);
  const early: number[] = [];
  const callbacks: number[] = [];
  async function work(worker: pg.Client, how: number): Promise<void> {
    while (callbacks.length < batches) {
      const runs = await rows<Run>(
        worker,
        "select * from tock.claim(p_queue => 'batches', p_limit => $1, p_own_transaction => true)",
        [1 + how],
      );
      if (runs.length === 0) continue;
      for (const { payload } of runs as { payload: { of?: number; callback?: number } }[]) {
        if (payload.callback === undefined) continue;
        callbacks.push(payload.callback);
        if (done[payload.callback] !== size) early.push(payload.callback);
      }
      // Counted before the call's answer: another worker may get the callback before it arrives.
      for (const { payload } of runs as { payload: { of?: number } }[])
        if (payload.of !== undefined) done[payload.of] = (done[payload.of] ?? 0) + 1;
      const results = runs.map(({ id }) => ({ id, result: 1 }));
      await complete(worker, leaseOf(runs), how === 1 ? null : results);
    }
  }
  const workers = await Promise.all(Array.from({ length: 12 }, () => db.connect()));
  await Promise.all(workers.map((worker, n) => work(worker, n % 3)));
  expect(early).toEqual([]);
  expect(callbacks.sort((a, b) => a - b)).toEqual(Array.from({ length: batches }, (_, n) => n));
  expect(await dependency_waits()).toBe(0);
});
