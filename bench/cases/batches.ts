import { costOf, costs, kinds, lifeOf, livesOf, nameOf } from '../lives.ts';
import { weights } from '../space.ts';
import type { Group } from '../types.ts';

const group = (name: string, batches: number[], lives: number[]): Group => ({
  name,
  cases: [
    ...kinds.flatMap((kind) => batches.map((batch) => nameOf(kind, batch))),
    ...lives.map(lifeOf),
    ...costs.flatMap(({ name }) => batches.map((batch) => costOf(name, batch))),
  ],
  run: (run) => livesOf(run, { systems: run.systems, bytes: 100, batches, lives }),
});

/** 1, 100 and 1,000 tasks a call. */
export const groups: Group[] = [
  group('batches', [1, 100], [1, 100]),
  { ...group('large batches', [1000], []), slow: true },
  weights,
];
