import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { badScans, plannerStatistics, sessionWithPlans, stopAutovacuum } from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks, rows } from '../../verbs.ts';

databasePerFile();
/** A session whose plans were made while the tables were nearly empty. */
let old: pg.Client;

// 10,000 waiting children, each with its own parent.
beforeAll(async () => {
  await stopAutovacuum(client);
  old = await db.connect(db.superUrl);
  for (let round = 0; round < 3; round++) await day(old);
  for (let call = 0; call < 2; call++) {
    const parents = numberedTasks(5000).map((task, n) => ({ ...task, name: `p${n}` }));
    const children = numberedTasks(5000).map((task, n) => ({ ...task, depends_on: [`p${n}`] }));
    await enqueue(client, 'many', [...parents, ...children]);
  }
});

/** Ends parents in each way, and claims or cancels their children. */
async function day(on: pg.Client): Promise<void> {
  const queue = 'family';
  const ids = await enqueue(on, queue, [
    ...numberedTasks(20),
    { payload: 'all', depends_on: ['*'], include_results: true },
  ]);
  const runs = await claim(on, queue, { limit: 20 });
  const results = runs.slice(0, 5).map(({ id }) => ({ id, result: 1 }));
  await complete(on, leaseOf(runs), results);
  await complete(on, leaseOf(runs));
  const [last] = await claim(on, queue);
  expect(last?.id).toBe(ids[20]);
  const spawn = { tasks: numberedTasks(20), wait: true };
  await complete(on, last?.lease as string, [{ id: last?.id, spawn }]);
  await complete(on, leaseOf(await claim(on, queue, { limit: 20 })));
  await complete(on, leaseOf(await claim(on, queue)));
  const chain = numberedTasks(5).map((task, n) => ({
    ...task,
    name: `c${n}`,
    depends_on: n ? [`c${n - 1}`] : [],
  }));
  await enqueue(on, queue, chain);
  await fail(on, leaseOf(await claim(on, queue)), { retry_in_seconds: 0 });
  await fail(on, leaseOf(await claim(on, queue)), { fatal: true });
  const [parent = ''] = await enqueue(on, queue, [{ delay_seconds: 1000 }]);
  const [child = ''] = await enqueue(on, queue, [
    { depends_on: [parent], on_parent_failure: 'wait' },
  ]);
  await rows(on, 'select * from tock.parents($1)', [child]);
  await rows(on, 'select * from tock.children($1)', [parent]);
  await rows(on, 'select * from tock.reprioritize(array[$1::bigint], 3)', [parent]);
  await rows(on, 'select * from tock.cancel(array[$1::bigint])', [parent]);
  await rows(on, 'select * from tock.cancel(array[$1::bigint])', [child]);
  await rows(on, 'select tock.promote(100)');
}

const tables =
  /^(runs|leases|results|run_overrides)(_\d+)?$|^(waiting|dependency_waits|children|promotions|reruns|requests)$/;

function bad(on: pg.Client, days: number): Promise<string[]> {
  const work = async () => {
    for (let round = 0; round < days; round++) await day(on);
  };
  return badScans(on, work, { tables, most: 2000, least: 100 });
}

test('beside 10,000 children a session that planned on empty tables finds its rows by an index', async () => {
  expect(await bad(old, 2)).toEqual([]);
});

describe.each(plannerStatistics)(
  'beside 10,000 children and with %s statistics',
  (_, statements) => {
    test.each(['auto', 'force_generic_plan'])(
      'parents and children are found by an index, plans being %s',
      async (mode) => {
        const on = await sessionWithPlans(db, statements, mode);
        expect(await bad(on, mode === 'auto' ? 7 : 2)).toEqual([]);
      },
    );
  },
);
