import { touchedTwins } from '../pages_touched.ts';
import { type Twins, twinCases } from '../size_comparison.ts';
import type { Group, System } from '../types.ts';
import { tockOf } from '../windows.ts';

/** Compares cycles with a large and a small backlog, for Tock alone. Each window leaves the backlog unchanged. */
export const groups: Group[] = [
  {
    name: 'backlog',
    slow: true,
    run(run) {
      const [small, large] = run.quick
        ? [
            { label: '50 thousand ready', ready: 50_000 },
            { label: '500 thousand ready', ready: 500_000 },
          ]
        : [
            { label: '50 thousand ready', ready: 50_000 },
            { label: '5 million ready', ready: 5_000_000 },
          ];
      const twinsOf = (system: System): Twins => {
        const open = () => run.open(system);
        return {
          name: 'backlog',
          sides: [
            { ...small, open },
            { ...large, open },
          ],
          seconds: run.seconds,
          after: async (databases) => {
            const labelled = [...databases].map(([{ label, ready }, database]) => ({
              label,
              database,
              ready,
            }));
            return touchedTwins(
              run,
              'backlog',
              labelled.sort((a, b) => a.ready - b.ready),
            );
          },
        };
      };
      return twinCases(run, [tockOf(run)], twinsOf);
    },
  },
];
