import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import { dice } from './load.ts';
import { makeDue, promote, reap, rows } from './support.ts';
import { send, type Watch, wish, work, workOnce } from './wishes_load.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

async function duties(on: pg.Client, watch: Watch): Promise<void> {
  while (watch.going) {
    await on.query(
      'select tock.promote(p_limit => 200, p_sweep => true), tock.reap(p_sweep => true)',
    );
    await on.query('select tock.rest()');
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

test.each([
  [1, 2_000],
  [7, 4_000],
  [100, 8_000],
])(
  'workers at limit %i and callers who change their mind about %i tasks double and lose none',
  async (limit, total) => {
    const queue = `mind-${limit}`;
    const seed = Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000);
    await client.query(`select tock.put_queue($1, '{"max_lost": 1000}')`, [queue]);
    const watch: Watch = {
      queue,
      limit,
      random: dice(seed),
      going: true,
      tasks: new Map(),
      wrong: [],
      seen: new Map(),
    };
    await send(client, watch, total);
    const all = [...watch.tasks.values()];
    const start = async (step: (on: pg.Client) => Promise<void>) => step(await db.connect());
    const eight = Array.from({ length: 8 }, (_, n) => n);
    const going = [
      ...eight.map(() => start((on) => work(on, watch))),
      ...eight.map((k) =>
        start((on) =>
          wish(
            on,
            watch,
            all.filter(({ n }) => n % 8 === k),
          ),
        ),
      ),
      start((on) => duties(on, watch)),
    ];
    const timer = setTimeout(() => {
      watch.going = false;
    }, 10_000);
    try {
      await Promise.all(going);
    } finally {
      watch.going = false;
      clearTimeout(timer);
    }
    await expectWhole(client);
    for (let round = 0; round < 50; round++) {
      await client.query(
        "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
      );
      while ((await reap(client)) > 0);
      for (const one of all) one.live = null;
      await makeDue(client, queue);
      while ((await promote(client)) > 0);
      let left = 0;
      for (let got = 1; got > 0; left += got) got = await workOnce(client, watch, 0);
      if (left === 0) break;
    }
    expect(watch.wrong.slice(0, 3)).toEqual([]);
    const states = await rows<{ id: string; state: string }>(
      client,
      `select t.id::text, t.state from unnest($1::bigint[]) i cross join lateral tock.task(i) t`,
      [all.map((one) => one.id)],
    );
    const state = new Map(states.map((row) => [row.id, row.state]));
    const odd = all.filter((one) =>
      one.done
        ? one.done > 1 || state.get(one.id) !== 'done'
        : state.get(one.id) !== 'cancelled' || !one.askedToStop,
    );
    expect(odd.slice(0, 3).map((one) => ({ ...one, state: state.get(one.id) }))).toEqual([]);
    await expectWhole(client);
    console.log(`seed ${seed}:`, Object.fromEntries([...watch.seen].toSorted()));
  },
  120_000,
);
