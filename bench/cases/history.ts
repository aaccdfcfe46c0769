import { touchedTwins } from '../pages_touched.ts';
import { allFinished, jumping, live } from '../prepare_history.ts';
import { type Side, twinCases } from '../size_comparison.ts';
import type { Group } from '../types.ts';
import { tockOf } from '../windows.ts';

/** Compares calls in a database with many finished runs in many segments with calls in a new one, for Tock alone. */
export const groups: Group[] = [
  {
    name: 'history',
    slow: true,
    async run(run) {
      const plain = tockOf(run);
      const tock = jumping(plain);
      const [runs, segments] = run.quick ? [500_000, 40] : [10_000_000, 200];
      const ready = run.quick ? 50_000 : 200_000;
      const small: Side = { label: 'no history', ready, open: () => run.open(tock) };
      const large: Side = {
        label: `${run.quick ? '500 thousand' : '10 million'} finished, ${segments} segments`,
        ready,
        open: async () => {
          const database = await run.open(tock);
          run.say(`history: ${await live(database, runs, segments)}`);
          await allFinished(plain, database);
          return database;
        },
      };
      return twinCases(run, [tock], () => ({
        name: 'history',
        sides: [small, large],
        enqueue: !run.quick,
        seconds: run.seconds,
        after: (databases) =>
          touchedTwins(
            run,
            'history',
            [small, large].flatMap((side) => {
              const database = databases.get(side);
              return database ? [{ label: side.label, database }] : [];
            }),
          ),
      }));
    },
  },
];
