import { costOf, costs, kinds, lifeOf, livesOf, nameOf } from '../life_cycle.ts';
import { weights } from '../space.ts';
import type { Group, Run, System } from '../types.ts';
import { rivals } from '../windows.ts';

const group = (
  name: string,
  batches: number[],
  lives: number[],
  systemsOf: (run: Run) => System[],
): Group => ({
  name,
  cases: [
    ...kinds.flatMap((kind) => batches.map((batch) => nameOf(kind, batch))),
    ...lives.map(lifeOf),
    ...costs.flatMap(({ name }) => batches.map((batch) => costOf(name, batch))),
  ],
  run: (run) => livesOf(run, { systems: systemsOf(run), bytes: 100, batches, lives }),
});

/** 1, 100 and 1,000 tasks per call. The last one leaves out the system with per-user tables. */
export const groups: Group[] = [
  group('batches', [1, 100], [1, 100], ({ systems }) => systems),
  { ...group('large batches', [1000], [], rivals), slow: true },
  weights,
];
