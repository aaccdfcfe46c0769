import { touchedTwins } from '../pages_touched.ts';
import { type Side, twinCases } from '../size_comparison.ts';
import type { Group, TestDatabase } from '../types.ts';
import { shapeOf, tockOf } from '../windows.ts';

async function streamsOf(database: TestDatabase): Promise<number> {
  const { rows } = await database.client.query('select count(*)::int as streams from tock.streams');
  return rows[0].streams;
}

/** Compares calls that cycle through 1, 100 and 2,000 queues with the same total backlog, for Tock alone. */
export const groups: Group[] = [
  {
    name: 'queues',
    slow: true,
    async run(run) {
      const tock = tockOf(run);
      const sides = [1, 100, 2000].map(
        (queues): Side => ({
          label: queues === 1 ? '1 queue' : `${queues.toLocaleString('en')} queues`,
          queues,
          ready: run.quick ? 500_000 : 2_000_000,
          async open() {
            const database = await run.open(tock);
            // The first calls create each queue's streams. This load repeats until hardly any stream is new.
            const work = tock.enqueue(shapeOf(1, { queues }));
            for (let pass = 0, made = 0; work && pass < 8; pass++) {
              await run.load(database, work, { seconds: 4 });
              const before = made;
              made = await streamsOf(database);
              if (run.quick || made < before * 1.02) break;
            }
            return database;
          },
        }),
      );
      const measured = run.quick ? sides.filter((side) => side.queues !== 100) : sides;
      return twinCases(run, [tock], () => ({
        name: 'queues',
        sides: measured,
        enqueue: !run.quick,
        seconds: run.seconds,
        after: (databases) =>
          touchedTwins(
            run,
            'queues',
            measured.flatMap((side) => {
              const database = databases.get(side);
              return database ? [{ label: side.label, database }] : [];
            }),
          ),
      }));
    },
  },
];
