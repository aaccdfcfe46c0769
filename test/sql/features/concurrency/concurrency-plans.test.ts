import { expect, test } from 'vitest';
import { freshDatabase } from '../../../database.ts';
import { badScans, plannerStatistics, sessionWithPlans, stopAutovacuum } from '../../plans.ts';
import { claim, complete, enqueue, leaseOf, promote } from '../../verbs.ts';
import { promoteDue, tasksWithKey } from './concurrency_keys.ts';

const manyKeys = Array.from({ length: 250 }, (_, n) => tasksWithKey(`key ${n}`, 0, 2)).flat();

// A promotion once read every waiting task for each due one, when the statistics were those of an emptied table.
test.each(plannerStatistics)(
  'with %s statistics, tasks join wait lists and are admitted beside 20,000 that wait',
  async (_, statements) => {
    const db = await freshDatabase();
    const owner = await db.connect();
    await stopAutovacuum(owner);
    await enqueue(owner, 'q', tasksWithKey('long', 0, 20_000));
    while ((await promote(owner)) > 0);
    const on = await sessionWithPlans(db, statements, 'force_generic_plan');
    const bad = await badScans(
      on,
      async () => {
        const ids = await enqueue(on, 'q', [...manyKeys, ...tasksWithKey('long', 0, 500)]);
        expect(await promoteDue(on)).toBe(1000);
        await promote(on);
        const claimed = await claim(on, 'q', { limit: 100 });
        expect(claimed).toHaveLength(100);
        await complete(on, leaseOf(claimed));
        await on.query('select tock.change(array[$1::bigint], $2)', [
          ids.at(-1),
          { delay_seconds: 60 },
        ]);
        await on.query('select tock.cancel(array[$1::bigint])', [ids.at(-1)]);
      },
      { tables: /^(waiting|concurrency_(keys|admissions))$/, most: 3000, least: 50 },
    );
    expect(bad).toEqual([]);
    await db.drop();
  },
);
