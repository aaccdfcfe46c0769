import { grow } from '../grown.ts';
import { jumping } from '../lived.ts';
import { touchedTwins } from '../touched.ts';
import type { Group, Place } from '../types.ts';
import { shapeOf, tockOf } from '../windows.ts';

/**
 * Pages that a claim and its completion touch with many segments, a fourth of them kept unsettled by a
 * paused task, against three. The other twins are counted where they are made: backlog, history, queues.
 */
export const groups: Group[] = [
  {
    name: 'pages',
    slow: true,
    async run(run) {
      const tock = jumping(tockOf(run));
      const count = run.quick ? 40 : 200;
      const places: Place[] = [];
      try {
        for (const segments of [3, count]) {
          const place = await run.open(tock);
          places.push(place);
          if (segments > 3) run.say(`pages: ${await grow(place.client, segments)}`);
          await tock.fill(place, 20_000, shapeOf(100));
          const work = tock.cycle(shapeOf(1));
          if (work) await run.load(place, work, { seconds: 1 });
          await run.settle(place);
        }
        const labels = ['3 segments', `${count} segments`];
        const labelled = places.map((place, n) => ({ label: labels[n] ?? '', place }));
        return await touchedTwins(run, 'segments', labelled);
      } finally {
        for (const place of places) await run.close(place);
      }
    },
  },
];
