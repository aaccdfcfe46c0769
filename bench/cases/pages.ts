import { touchedTwins } from '../pages_touched.ts';
import { jumping } from '../prepare_history.ts';
import { grow } from '../prepare_segments.ts';
import type { Group, TestDatabase } from '../types.ts';
import { shapeOf, tockOf } from '../windows.ts';

/**
 * Compares the pages that a claim and its completion touch with many segments and with three. A task of a paused queue
 * keeps a quarter of the segments open. The groups backlog, history and queues count pages too.
 */
export const groups: Group[] = [
  {
    name: 'pages',
    slow: true,
    async run(run) {
      const tock = jumping(tockOf(run));
      const count = run.quick ? 40 : 200;
      const databases: TestDatabase[] = [];
      try {
        for (const segments of [3, count]) {
          const database = await run.open(tock);
          databases.push(database);
          if (segments > 3) run.say(`pages: ${await grow(database.client, segments)}`);
          await tock.fill(database, 20_000, shapeOf(100));
          const work = tock.cycle(shapeOf(1));
          if (work) await run.load(database, work, { seconds: 1 });
          await run.settle(database);
        }
        const labels = ['3 segments', `${count} segments`];
        const labelled = databases.map((database, n) => ({
          label: labels[n] ?? '',
          database,
        }));
        return await touchedTwins(run, 'segments', labelled);
      } finally {
        for (const database of databases) await run.close(database);
      }
    },
  },
];
