import { expect, test } from 'vitest';
import { badScans, fewestPages, sessionWithPlans, stopAutovacuum } from '../../plans.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { value } from '../../verbs.ts';

databasePerTest();

/** Inserts schedules into the tables, with their next fire in an hour. */
async function many(count: number): Promise<void> {
  await client.query(
    `insert into tock.schedules (name, queue, cron, plan)
     select 's' || n, 'q', '0 3 * * *', p.plan
     from generate_series(1, $1) n, (select tock.parse_cron('0 3 * * *') as plan offset 0) p`,
    [count],
  );
  await client.query(
    `insert into tock.schedule_next_fires (schedule, turn, fire_at, due_at)
     select name, 1, now() + interval '1 hour', now() + interval '1 hour' from tock.schedules`,
  );
}

/** Makes the next `count` schedules due. */
const due = (count: number) =>
  client.query(
    `update tock.schedule_next_fires set due_at = clock_timestamp(), fire_at = clock_timestamp()
     where (schedule, turn) in (select schedule, turn from tock.schedule_next_fires where due_at > clock_timestamp() order by schedule limit $1)`,
    [count],
  );

test('beside an open transaction the last of 10,000 fires reads as much as the first', async () => {
  await many(200);
  const holder = await db.connect();
  await holder.query(
    'begin isolation level repeatable read; select 1 from tock.schedule_next_fires',
  );
  const idle: number[] = [];
  const firing: number[] = [];
  const waking: number[] = [];
  const ticking: number[] = [];
  for (let round = 0; round < 50; round++) {
    await due(200);
    while (await value<number>(client, 'select tock.fire_schedules()'));
    if (round % 10 !== 9) continue;
    idle.push(await fewestPages(client, 'tock.fire_schedules()'));
    waking.push(await fewestPages(client, 'tock.next_wake_at()'));
    await client.query(
      "update tock.maintenance_jobs set swept_at = now() where name = 'fire_schedules'",
    );
    ticking.push(await fewestPages(client, "tock.run_maintenance('fire_schedules')"));
    await due(3);
    firing.push(await fewestPages(client, 'tock.fire_schedules(1)'));
  }
  await holder.query('rollback');
  for (const counts of [idle, firing, waking, ticking]) {
    expect([counts, (counts.at(-1) ?? 0) < (counts[0] ?? 0) * 1.3 + 40]).toEqual([counts, true]);
  }
});

test('one tick fires the 100 due schedules of 100,000 by index scans alone', async () => {
  await stopAutovacuum(client);
  await many(100_000);
  await due(200);
  const on = await sessionWithPlans(db, ['analyze'], 'auto');
  const work = async () => {
    await on.query('select tock.fire_schedules(50)');
    await on.query('select tock.next_wake_at()');
    await on.query("select id from tock.claim('q', p_own_transaction => true)");
    await on.query("select name from tock.schedules('q', 's7', 10)");
    await on.query("select name from tock.schedules(p_after => 's7', p_limit => 10)");
    await on.query(
      "select tock.schedule_history('s1'), tock.run_schedule('s2'), tock.pause_schedule('s3')",
    );
    await on.query('select finding from tock.doctor_of_schedules()');
    await on.query('select tock.put_schedule(\'s4\', \'{"queue": "q", "every_seconds": 5}\')');
  };
  expect(await badScans(on, work, { tables: /schedules|fire/, most: 1000, least: 40 })).toEqual([]);
  const read = await fewestPages(client, 'tock.fire_schedules(50)');
  // About 40 pages for each schedule: its row, its next fire, its history and its run, with their indexes.
  expect(read).toBeLessThan(50 * 60);
  expect(
    await value(client, "select count(*)::int from tock.schedule_history where outcome = 'fired'"),
  ).toBe(200);
});
