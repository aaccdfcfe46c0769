import { costOf, costs, kinds, lifeOf, livesOf, nameOf } from '../lives.ts';
import { weights } from '../space.ts';
import type { Group } from '../types.ts';

const batches = [1, 100, 1000];
const lives = [1, 100];

/** 1, 100 and 1,000 tasks a call. */
export const groups: Group[] = [
  {
    name: 'batches',
    cases: [
      ...kinds.flatMap((kind) => batches.map((batch) => nameOf(kind, batch))),
      ...lives.map(lifeOf),
      ...costs.flatMap(({ name }) => batches.map((batch) => costOf(name, batch))),
    ],
    run: (run) => livesOf(run, { systems: run.systems, bytes: 100, batches, lives }),
  },
  weights,
];
