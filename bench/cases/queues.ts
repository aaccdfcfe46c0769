import { touchedTwins } from '../touched.ts';
import { type Side, twinCases } from '../twins.ts';
import type { Group, Place } from '../types.ts';
import { shapeOf, tockOf } from '../windows.ts';

async function streamsOf(place: Place): Promise<number> {
  const { rows } = await place.client.query('select count(*)::int as streams from tock.streams');
  return rows[0].streams;
}

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
            // each queue's streams are made by the first calls, once and for all: until hardly any are new
            const work = tock.enqueue(shapeOf(1, { queues }));
            for (let pass = 0, made = 0; work && pass < 8; pass++) {
              await run.load(place, work, { seconds: 4 });
              const before = made;
              made = await streamsOf(place);
              if (run.quick || made < before * 1.02) break;
            }
            return place;
          },
        }),
      );
      const measured = run.quick ? sides.filter((side) => side.queues !== 100) : sides;
      return twinCases(run, [tock], () => ({
        name: 'queues',
        sides: measured,
        enqueue: !run.quick,
        seconds: run.seconds,
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
