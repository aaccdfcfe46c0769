import type { Case, Group, Run, TestDatabase } from '../types.ts';
import { caseOf, floorOf, shapeOf, tockOf } from '../windows.ts';

const tasks = 100_000;

/** Repeats a call until it does nothing more. Returns tasks per second. */
async function rateOf(run: Run, database: TestDatabase, call: string): Promise<number> {
  await run.settle(database);
  const started = performance.now();
  let done = 0;
  for (;;) {
    const { rows } = await database.client.query(`select ${call} as done`);
    if (!rows[0].done) break;
    done += Number(rows[0].done);
  }
  const seconds = (performance.now() - started) / 1000;
  if (done !== tasks) throw new Error(`${call} did ${done} of ${tasks}.`);
  return done / seconds;
}

/** Enqueues tasks with a delay of an hour, then dates them back, so that they are due. */
async function waiting({ client }: TestDatabase): Promise<void> {
  await client.query(
    `select cardinality(tock.enqueue('due', (select jsonb_agg(jsonb_build_object('delay_seconds', 3600,
       'payload', jsonb_build_object('n', n, 'text', repeat('x', 80)))) from generate_series(1, $1::integer) n)))`,
    [tasks],
  );
  await client.query(
    `update tock.waiting set due_at = now() - interval '1 minute' + (position % 50000) * interval '1 ms'`,
  );
  await client.query('vacuum tock.waiting');
}

/** Claims a thousand at a time, and moves their deadlines into the past. */
async function lost(run: Run, database: TestDatabase): Promise<void> {
  await tockOf(run).fill(database, tasks, shapeOf(1000));
  const queues = await database.client.query('select distinct queue from tock.streams where awake');
  for (const { queue } of queues.rows) {
    for (;;) {
      const claim =
        'select count(*) from tock.claim($1, p_limit => 1000, p_own_transaction => true)';
      const { rows } = await database.client.query(claim, [queue]);
      if (Number(rows[0].count) === 0) break;
    }
  }
  await database.client.query(
    `update tock.leases set leased_until = now() - interval '1 minute' + (after_position % 50000) * interval '1 ms'
     where closed_at is null`,
  );
  await database.client.query('vacuum tock.leases');
  // The claims may have reaped until now; this resets reap() to a position before all deadlines.
  await database.client.query(
    "update tock.maintenance_jobs set reached_at = now() - interval '1 hour', swept_at = now() where name = 'reap'",
  );
}

const whyNot =
  'the peers have no such step: they look for what is due, or expired, whenever they claim, or fail lost jobs one by one';

export const groups: Group[] = [
  {
    name: 'due',
    slow: true,
    async run(run) {
      const tock = tockOf(run);
      const timed =
        (call: string, prepare: (database: TestDatabase) => Promise<void>) => async () => {
          const database = await run.open(tock);
          try {
            await prepare(database);
            return await rateOf(run, database, call);
          } finally {
            await run.close(database);
          }
        };
      const reaping = (database: TestDatabase) => lost(run, database);
      const calls: [name: string, window: () => Promise<number | null>, note: string][] = [
        ['promote 100,000 due', timed('tock.promote()', waiting), 'promote(), 1,000 a call'],
        [
          "promote 100,000 due by the minute's maintenance job",
          timed("tock.run_maintenance('promote', 60)", waiting),
          '10,000 a round',
        ],
        ['reap 100,000 lost', timed('tock.reap()', reaping), 'of leases of 1,000; reap()'],
        [
          "reap 100,000 lost by the minute's maintenance job",
          timed("tock.run_maintenance('reap', 60)", reaping),
          'of leases of 1,000',
        ],
      ];
      // A call has a transaction of its own, or all calls share one. Quick runs measure only the former.
      const chosen = run.quick ? [calls[0], calls[2]] : calls;
      const picked = chosen.filter((call) => call !== undefined);
      const floor = await floorOf(run, 'enqueue', shapeOf(1000));
      const figures = await run.interleave(picked.map(([name, window]) => ({ name, window })));
      return picked.map(([name, , how]): Case => {
        const rate = figures[name]?.value;
        const took = rate ? `all in ${(tasks / rate).toFixed(2)} s` : '';
        const note = `${how}: ${took}; ${whyNot}`;
        const named = { name, unit: 'tasks/s', note };
        return caseOf(run, named, { [tock.name]: figures[name], floor });
      });
    },
  },
];
