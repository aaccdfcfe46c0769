import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { badScans, plannerStatistics, sessionWithPlans, stopAutovacuum } from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, numberedTasks, value } from '../../verbs.ts';
import { deadGroups, die, list, move, purge, redrive, rerun } from './bulk_changes.ts';

databasePerFile();
/** A session whose plans were made while the tables were nearly empty. */
let old: pg.Client;
let days = 0;

/** Calls each verb that finds tasks by a filter or runs them again, for about 20 tasks each. */
async function day(on: pg.Client): Promise<void> {
  const q = `small${++days}`;
  const ids = await die(on, q, Array(20).fill('x'));
  expect(await deadGroups(on, q)).toMatchObject([{ tasks: 20 }]);
  expect((await list(on, { queue: q, state: 'dead' }, null, 10)).tasks).toHaveLength(10);
  expect(await redrive(on, q, { limit: 10 })).toMatchObject({ redriven: 10 });
  expect(await rerun(on, ids.slice(0, 5))).toHaveLength(5);
  expect(await rerun(on, await someDone(), `day ${days}`)).toHaveLength(20);
  expect((await list(on, { queue: q, state: 'ready' })).tasks).toHaveLength(15);
  const later = await enqueue(on, q, numberedTasks(20, 0, { delay_seconds: 1000 }));
  expect((await list(on, { queue: q, state: 'waiting' }, null, 5)).tasks).toHaveLength(5);
  expect(await move(on, later.slice(0, 10), `${q}-b`)).toHaveLength(10);
  const runs = await claim(on, q, { limit: 5 });
  expect((await list(on, { queue: q, state: 'running' })).tasks).toHaveLength(5);
  await complete(on, leaseOf(runs));
  for (const state of ['ready', 'dead', 'running', 'waiting']) {
    await list(on, { queue: 'large', state }, null, 20);
  }
  const part = `p_queue => '${q}', p_limit => 5`;
  await value(on, `select tock.reprioritize_where(${part}, p_filter => '{}', p_priority => 1)`);
  await value(on, `select tock.cancel_where(${part})`);
  expect(await purge(on, q)).toMatchObject({ more: false });
}

const done: string[] = [];
const someDone = async () => done.splice(0, 20);

// 60,000 runs with 30,000 completed and 20,000 dead, 10,000 waiting tasks, 300 open leases.
beforeAll(async () => {
  await stopAutovacuum(client);
  old = await db.connect(db.superUrl);
  done.push(...(await enqueue(client, 'large', numberedTasks(5000))));
  for (;;) {
    const runs = await claim(client, 'large', { limit: 1000 });
    if (runs.length === 0) break;
    await complete(client, leaseOf(runs));
  }
  await day(old);
  for (let call = 0; call < 4; call++) await die(client, 'large', Array(5000).fill('y'));
  for (let call = 0; call < 4; call++) await enqueue(client, 'large', numberedTasks(5000));
  await enqueue(client, 'large', numberedTasks(10_000, 0, { delay_seconds: 5000 }));
  for (let call = 0; call < 300; call++) await claim(client, 'large', { lease_seconds: 9999 });
});

const bad = (on: pg.Client) =>
  badScans(on, () => day(on), {
    tables: /^(runs|leases|results|run_overrides)(_\d+)?$|^(waiting|promotions|reruns|moves)$/,
    most: 1200,
    least: 200,
  });

test('a session that planned on empty tables finds the tasks of bulk changes by an index', async () => {
  expect(await bad(old)).toEqual([]);
});

describe.each(plannerStatistics)('with 60,000 runs and %s statistics', (_, statements) => {
  test.each(['auto', 'force_generic_plan'])(
    'lists, reruns, moves and purges find their rows by an index, plans being %s',
    async (mode) => {
      const on = await sessionWithPlans(db, statements, mode);
      expect(await bad(on)).toEqual([]);
    },
  );
});
