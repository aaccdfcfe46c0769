import { expect, test } from 'vitest';
import {
  addTasks,
  expireWorker,
  joinPool,
  reapPools,
  takeTask,
  unassignTask,
} from '../../features/pools/pools.ts';
import { moveNearSegmentEnd } from '../../kernel/segment/segments.ts';
import { badScans, plannerStatistics, sessionWithPlans, stopAutovacuum } from '../../plans.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  value,
} from '../../verbs.ts';
import { doctor, expectDoctor, type Finding } from '../findings.ts';

databasePerTest();

/** A dead task of the queue q, with children that wait for it. */
async function deadParent(children: number): Promise<[parent: string, child: string]> {
  const [parent = ''] = await enqueue(client, 'q', [{ payload: 1 }]);
  const ids = await enqueue(
    client,
    'q',
    numberedTasks(children, 0, { depends_on: [parent], on_parent_failure: 'wait' }),
  );
  await fail(client, leaseOf(await claim(client, 'q')), { fatal: true });
  await expect.poll(() => promote(client).then(blocked)).toBe(children);
  return [parent, ids[0] as string];
}

const blocked = () =>
  value<number>(client, 'select count(*)::int from tock.dependency_waits where blocked');

test('a task that waits for a dead one is found, with the task to rerun, until that is done', async () => {
  const [parent, child] = await deadParent(1);
  const waitsFor = (id: string) =>
    expectDoctor(
      `^warning: tasks wait for a failed parent: task ${child} waits until task ${id} of queue q, ` +
        `which is dead, is rerun and done => tock rerun ${id},.*tock cancel ${child}$`,
    );
  await waitsFor(parent);
  const again = await value<string>(client, `select rerun_id from tock.rerun(array[${parent}])`);
  expect(await doctor()).toEqual([]);
  await fail(client, leaseOf(await claim(client, 'q')), { fatal: true });
  await waitsFor(again);
  await client.query(`select tock.rerun(array[${again}])`);
  await complete(client, leaseOf(await claim(client, 'q')));
  expect(await doctor()).toEqual([]);
  expect((await claim(client, 'q')).map(({ id }) => id)).toEqual([child]);
});

test('a finding about many parents counts their states', async () => {
  const parents = await enqueue(client, 'q', numberedTasks(4));
  await enqueue(client, 'q', [{ depends_on: parents, on_parent_failure: 'wait' }]);
  const runs = await claim(client, 'q', { limit: 3 });
  await fail(client, leaseOf(runs), [{ id: parents[0], fatal: true }]);
  await complete(client, leaseOf(runs));
  await complete(client, leaseOf(await claim(client, 'q')));
  await expect.poll(() => promote(client).then(blocked)).toBe(1);
  await expectDoctor(/; the parents of task \d+: 3 of 4 done, 1 dead => /);
});

test('a cancelled child is no finding', async () => {
  const [, child] = await deadParent(1);
  expect(await doctor()).toHaveLength(1);
  await client.query(`select tock.cancel(array[${child}])`);
  await promote(client);
  expect(await doctor()).toEqual([]);
});

test('a task that waits for a cancelled one is found, a task whose parent is running is not', async () => {
  const [live, gone] = await enqueue(client, 'q', [{}, { delay_seconds: 60 }]);
  await enqueue(client, 'q', [{ depends_on: [live], on_parent_failure: 'wait' }]);
  expect(await doctor()).toEqual([]);
  await enqueue(client, 'q', [{ depends_on: [gone], on_parent_failure: 'wait' }]);
  await client.query(`select tock.cancel(array[${gone}])`);
  await expect
    .poll(async () => {
      await promote(client);
      return (await doctor()).map(({ detail }) => detail);
    })
    .toEqual([expect.stringContaining(`until task ${gone} of queue q, which is cancelled,`)]);
});

test('up to a thousand waiting tasks are counted, and five of many dead ones are named', async () => {
  await deadParent(1100);
  await expectDoctor(/: at least 1000 tasks, \d+ among them, wait until/);
  for (let parent = 0; parent < 5; parent++) {
    const before = await blocked();
    const [id = ''] = await enqueue(client, 'more', [{}]);
    await enqueue(client, 'more', [{ depends_on: [id], on_parent_failure: 'wait' }]);
    await fail(client, leaseOf(await claim(client, 'more')), { fatal: true });
    expect(await blocked()).toBe(before + 1);
  }
  expect(await doctor()).toHaveLength(5);
});

const waited = (pool: string) =>
  client.query(
    "update tock.pool_members set since = now() - interval '11 minutes' where pool = $1",
    [pool],
  );

test('a pool task without a worker is found after ten minutes, where no worker holds a task', async () => {
  await addTasks(client, 'shards', ['s1', 's2']);
  expect(await doctor()).toEqual([]);
  await waited('shards');
  const finding =
    /^warning: no worker takes from a pool: task s1 of pool shards .* 20\d\d-.*Z, .* => .*unassign_task\('shards', 's1'\)/;
  await expectDoctor(finding);
  await joinPool(client, 'shards', 'joined');
  await expectDoctor(finding);
  expect(await takeTask(client, 'shards', 'comes')).toMatchObject({ state: 'taken', task: 's1' });
  expect(await doctor()).toEqual([]);
});

test('a pool is not deserted between two tasks of a worker', async () => {
  const names = Array.from({ length: 3000 }, (_, n) => `t${n}`);
  await addTasks(client, 'busy', names);
  await waited('busy');
  const worker = await db.connect();
  let working = true;
  const work = (async () => {
    while (working) {
      const { task } = await takeTask(worker, 'busy', 'w');
      await unassignTask(worker, 'busy', task as string);
    }
  })();
  const seen: Finding[] = [];
  for (let look = 0; look < 30; look++) seen.push(...(await doctor()));
  working = false;
  await work;
  expect(seen).toEqual([]);
});

test('expired workers that were not removed are found, and the maintenance job removes them', async () => {
  for (const worker of ['a', 'b']) await joinPool(client, 'gone', worker);
  await expireWorker(client, 'gone', 'a');
  expect(await doctor()).toEqual([]);
  await client.query(
    "update tock.pool_members set leased_until = now() - interval '3 minutes', check_at = now() - interval '3 minutes' where worker = 'a'",
  );
  await expectDoctor(
    /^warning: vanished workers are not removed: 1 of pool gone => .*run_maintenance\('reap_pools'\)/,
  );
  await reapPools(client);
  expect(await doctor()).toEqual([]);
});

test.each(plannerStatistics)(
  'no check scans the backlog, the history, waiting tasks or a pool, with %s statistics',
  async (_, known) => {
    await stopAutovacuum(client);
    await deadParent(1100);
    const names = Array.from({ length: 5000 }, (_, n) => `t${n}`);
    await addTasks(client, 'p', names);
    await client.query("select tock.join_pool('p', 'w' || n) from generate_series(1, 5000) n");
    await client.query("update tock.pool_members set since = now() - interval '1 hour'");
    for (let n = 0; n < 4; n++) {
      await enqueue(client, `q${n}`, numberedTasks(3000, 0, { max_attempts: 1 }));
      await fail(client, leaseOf(await claim(client, `q${n}`, { limit: 100 })));
    }
    await moveNearSegmentEnd(client, 1000);
    await enqueue(client, 'late', numberedTasks(3000));
    const on = await sessionWithPlans(db, known, 'auto');
    const doctor = () => on.query('select * from tock.doctor()');
    const waits = { tables: /pool_members|dependency_waits|waiting/, most: 1200, least: 20 };
    const history = { tables: /runs|leases|results/, most: 500, least: 20 };
    expect(await badScans(on, doctor, waits)).toEqual([]);
    expect(await badScans(on, doctor, history)).toEqual([]);
  },
);
