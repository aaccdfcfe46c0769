import { touchedTwins } from '../touched.ts';
import { type Side, twinCases } from '../twins.ts';
import type { Group } from '../types.ts';
import { shapeOf, tockOf } from '../windows.ts';

/** Calls that go round 1, 100 and 2,000 queues with the same backlog over all. Tock alone. */
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
            const place = await run.open(tock);
            // each queue's streams are made by the first calls, once and for all
            const work = tock.enqueue(shapeOf(1, { queues }));
            if (work) await run.load(place, work, { seconds: run.quick ? 2 : 4 });
            return place;
          },
        }),
      );
      const measured = run.quick ? sides.filter((side) => side.queues !== 100) : sides;
      return twinCases(run, [tock], () => ({
        name: 'queues',
        sides: measured,
        enqueue: !run.quick,
        seconds: Math.min(run.seconds, 1.2),
        after: (places) =>
          touchedTwins(
            run,
            'queues',
            measured.flatMap((side) => {
              const place = places.get(side);
              return place ? [{ label: side.label, place }] : [];
            }),
          ),
      }));
    },
  },
];
