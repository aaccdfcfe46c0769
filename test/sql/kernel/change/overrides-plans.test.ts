import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  asVerb,
  badScans,
  plannerStatistics,
  sessionWithPlans,
  stopAutovacuum,
} from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  release,
  task,
  value,
} from '../../verbs.ts';
import { cancel, cancelRequests, change, erase } from './changes.ts';

databasePerFile();
/** A session whose plans were made while the tables were nearly empty. */
let old: pg.Client;

/** Calls each verb that reads overrides, for about 20 tasks each. */
async function day(on: pg.Client): Promise<void> {
  const ids = await enqueue(on, 'hot', numberedTasks(60, 0, { priority: 0 }));
  const later = await enqueue(
    on,
    'hot',
    numberedTasks(20, 0, { delay_seconds: 1000, priority: 0 }),
  );
  expect(await change(on, ids.slice(0, 20), { payload: 1, priority: 1 })).toHaveLength(20);
  expect(await change(on, ids.slice(0, 10), { payload: 2 })).toHaveLength(10);
  expect(await change(on, ids.slice(10, 20), { delay_seconds: 1000 })).toHaveLength(10);
  expect(await cancel(on, [...ids.slice(20, 35), ...later.slice(0, 10)])).toHaveLength(25);
  expect(await change(on, later.slice(10), { priority: 0 })).toHaveLength(10);
  expect(await change(on, later.slice(15), { delay_seconds: 0 })).toHaveLength(5);
  const part = await claim(on, 'hot', { limit: 20 });
  expect(part.length).toBeGreaterThan(9);
  const lease = leaseOf(part);
  const mine = part.map((run) => run.id);
  expect(await change(on, mine.slice(0, 6), { priority: 0 })).toHaveLength(6);
  expect(await cancel(on, mine.slice(3, 9))).toHaveLength(6);
  expect(await cancelRequests(on, lease)).toHaveLength(6);
  await fail(on, lease, { retry_in_seconds: 0 });
  const rest = leaseOf(await claim(on, 'hot', { limit: 20 }));
  await release(on, rest);
  await complete(on, leaseOf(await claim(on, 'hot', { limit: 20 })));
  await value(on, 'select tock.promote(p_limit => 10)');
  for (const id of [ids[0], ids[12], ids[25], mine[0], mine[5]]) await task(on, id as string);
  expect(await erase(on, ids[25] as string)).toBeGreaterThan(0);
  await asVerb(on, 'select count(*) from tock.resolve_tasks($1)', [ids]);
}

// 80,000 runs, half of them below their cursors; 20,000 changed, 20,000 cancelled, 20,000 with results.
beforeAll(async () => {
  await stopAutovacuum(client);
  old = await db.connect(db.superUrl);
  await day(old);
  const ids: string[] = [];
  for (let call = 0; call < 8; call++) {
    const some = numberedTasks(5000).map((task, n) => ({ ...task, priority: 4 + (n % 2) }));
    ids.push(...(await enqueue(client, 'hot', some)));
  }
  for (let n = 0; n < 20_000; n += 5000) {
    await change(client, ids.slice(n, n + 5000), { priority: 3 });
    await cancel(client, ids.slice(n + 20_000, n + 22_500));
    const lease = leaseOf(await claim(client, 'hot', { limit: 5000 }));
    await fail(client, lease, { retry_in_seconds: n % 10_000 ? 0 : 3000 });
  }
  await enqueue(client, 'hot', numberedTasks(10_000, 0, { delay_seconds: 5000 }));
  await makeDue(client, 'none');
  await promote(client);
});

const bad = (on: pg.Client) =>
  badScans(on, () => day(on), {
    tables: /^(runs|leases|results|run_overrides)(_\d+)?$|^(waiting|promotions)$/,
    most: 700,
    least: 300,
  });

test('a session that planned on empty tables finds the runs to change by an index', async () => {
  expect(await bad(old)).toEqual([]);
});

describe.each(plannerStatistics)(
  'with 80,000 runs, 60,000 overrides and %s statistics',
  (_, statements) => {
    test.each(['auto', 'force_generic_plan'])(
      'cancel, change, erase, task and claims with overrides find their rows by an index, plans being %s',
      async (mode) => {
        const on = await sessionWithPlans(db, statements, mode);
        expect(await bad(on)).toEqual([]);
      },
    );
  },
);
