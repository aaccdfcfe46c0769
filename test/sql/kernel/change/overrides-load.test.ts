import type pg from 'pg';
import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { expectInvariants } from '../../invariants.ts';
import { retryTransient, seededRandom } from '../../load.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { makeDue, promote, reap, rows } from '../../verbs.ts';
import { changeOrCancel, type LoadState, work, workOnce } from './changes_load.ts';

databasePerFile();

async function maintenance_jobs(on: pg.Client, watch: LoadState): Promise<void> {
  while (watch.going) {
    await on.query(
      'select tock.promote(p_limit => 200, p_sweep => true), tock.reap(p_sweep => true)',
    );
    await on.query('select tock.deactivate_streams()');
    await sleep(30);
  }
}

/** Ends all open leases and promotes all waiting tasks, until every task has ended. */
async function finish(watch: LoadState): Promise<void> {
  for (let round = 0; round < 50; round++) {
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    while ((await reap(client)) > 0);
    for (const task of watch.tasks.values()) task.live = null;
    await makeDue(client, watch.queue);
    while ((await promote(client)) > 0);
    let left = 0;
    for (let got = 1; got > 0; left += got) got = await workOnce(client, watch, 0);
    if (left === 0) return;
  }
  throw new Error('Tasks were left after 50 rounds.');
}

test.each([
  [1, 6],
  [7, 40],
  [100, 120],
])(
  'workers at limit %i and concurrent changes and cancels double and lose no task',
  async (limit, batch) => {
    const queue = `mind-${limit}`;
    const seed = Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000);
    await client.query(`select tock.put_queue($1, '{"max_lost": 1000}')`, [queue]);
    const watch: LoadState = {
      queue,
      limit,
      random: seededRandom(seed),
      going: true,
      sent: 0,
      tasks: new Map(),
      wrong: [],
    };
    const start = async (step: (on: pg.Client) => Promise<void>) => step(await db.connect());
    const eight = Array.from({ length: 8 });
    const going = [
      ...eight.map(() => start((on) => work(on, watch))),
      ...eight.map(() => start((on) => changeOrCancel(on, watch, batch))),
      start((on) => maintenance_jobs(on, watch)),
    ];
    await retryTransient(watch, going, () => watch.tasks.size > 1000 + 60 * batch);
    await expectInvariants(client);
    await finish(watch);
    expect(watch.wrong.slice(0, 3)).toEqual([]);
    const all = [...watch.tasks.values()];
    const states = await rows<{ id: string; state: string }>(
      client,
      'select task_id::text as id, state from tock.resolve_tasks($1)',
      [all.map((task) => task.id)],
    );
    const state = new Map(states.map((row) => [row.id, row.state]));
    const odd = all.filter((task) =>
      task.done
        ? task.done > 1 || state.get(task.id) !== 'done'
        : state.get(task.id) !== 'cancelled' || !task.askedToStop,
    );
    expect(odd.slice(0, 3).map((task) => ({ ...task, state: state.get(task.id) }))).toEqual([]);
    await expectInvariants(client);
    console.log(`seed ${seed}, ${all.length} tasks`);
  },
);
