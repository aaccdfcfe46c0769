import { expect, test } from 'vitest';
import {
  asVerb,
  badScans,
  pages,
  plannerStatistics,
  sessionWithPlans,
  stopAutovacuum,
} from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';

databasePerFile();

/** The least number of pages that one of three calls reads. */
const fewest = async (call: (n: number) => string) =>
  Math.min(
    ...[await pages(client, call(0)), await pages(client, call(1)), await pages(client, call(2))],
  );

const range = (from: number, to: number, what: string) =>
  client.query(`do $$ begin for n in ${from} .. ${to} loop perform ${what}; end loop; end $$`);

test('beside an open transaction the last of 10,000 elections reads as much as the first', async () => {
  await client.query("select tock.join_pool('p', 'w' || n, 600) from generate_series(1, 5000) n");
  await client.query(
    `select tock.add_tasks('p', array(select 'o' || n from generate_series(1, 11000) n))`,
  );
  const holder = await db.connect();
  await holder.query('begin isolation level repeatable read; select 1 from tock.pool_members');
  const assigning: number[] = [];
  const taking: number[] = [];
  for (let part = 0; part < 10; part++) {
    const from = part * 1000;
    await range(
      from + 1,
      from + 1000,
      "tock.assign_task('p', 't' || n), tock.unassign_task('p', 't' || n)",
    );
    await range(from + 1, from + 1000, "tock.take_task('p', 'x' || n)");
    assigning.push(await fewest((n) => `tock.assign_task('p', 'a${part}-${n}')`));
    taking.push(await fewest((n) => `tock.take_task('p', 'y${part}-${n}')`));
  }
  await holder.query('rollback');
  // The very first calls read less, because the wait lists have no cursors yet.
  const [, firstAssign = 0] = assigning;
  const [, firstTake = 0] = taking;
  expect([assigning, (assigning.at(-1) ?? 0) < firstAssign * 1.3 + 40]).toEqual([assigning, true]);
  expect([taking, (taking.at(-1) ?? 0) < firstTake * 1.3 + 40]).toEqual([taking, true]);
});

test.each(plannerStatistics)(
  'no statement scans a pool of 5,000 and more, with %s statistics',
  async (_, known) => {
    await stopAutovacuum(client);
    const on = await sessionWithPlans(db, known, 'auto');
    const bad = await badScans(
      on,
      async () => {
        await on.query("select tock.join_pool('p', 'me', 600), tock.join_pool('p', 'you')");
        await on.query("select tock.join_pool('p', 'me'), tock.assign_task('p', 'mine', 'me')");
        await on.query(
          "select tock.assign_task('p', 'some'), tock.assign_task('p', 'some'), tock.add_tasks('p', '{z1,z2}')",
        );
        await on.query(
          "select tock.take_task('p', 'you'), tock.take_task('p', 'you'), tock.unassign_task('p', 'z1', null, true)",
        );
        await on.query(
          "select tock.assign_tasks('p', '{z2,a1,a2}'), tock.unassign_task('p', 'some'), tock.leave_pool('p', 'me'), tock.leave_pool('p', 'you')",
        );
        await asVerb(
          on,
          "select tock.reset_wait_list_start('p', 'free'), tock.reset_wait_list_start('p', 'waiting'), tock.prune_wait_lists()",
        );
        await on.query(
          "select tock.reap_pools(p_sweep => true), tock.pool('p', p_limit => 10), tock.pool('p', 'w7')",
        );
        await on.query("select tock.take_task('empty', 'me')");
      },
      { tables: /pool_members|wait_list_cursors/, most: 1200, least: 40 },
    );
    expect(bad).toEqual([]);
  },
);
