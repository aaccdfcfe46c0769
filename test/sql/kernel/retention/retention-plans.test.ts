import { expect, test } from 'vitest';
import { freshDatabase } from '../../../database.ts';
import {
  asVerb,
  badScans,
  plannerStatistics,
  sessionWithPlans,
  stopAutovacuum,
} from '../../plans.ts';
import { complete, enqueue, fail, numberedTasks, value } from '../../verbs.ts';
import { claimRuns, closeSegments, startNextSegment, verifySegments } from '../segment/segments.ts';

test.each(plannerStatistics)(
  'with %s statistics, a drop is prepared beside 20,000 promotions into other segments',
  async (_, statements) => {
    const db = await freshDatabase();
    const owner = await db.connect();
    await stopAutovacuum(owner);
    await enqueue(owner, 'q', numberedTasks(100));
    await startNextSegment(owner);
    await fail(owner, (await claimRuns(owner, 'q', 100)).lease, { retry_in_seconds: 0 });
    await complete(owner, (await claimRuns(owner, 'q', 100)).lease);
    await owner.query(
      `insert into tock.promotions (position, run_id, due_at)
       select p, tock.id_at(p, 1), now() from generate_series(4000000000001, 4000000020000) p`,
    );
    await startNextSegment(owner);
    await closeSegments(owner);
    await verifySegments(owner);
    const on = await sessionWithPlans(db, statements, 'force_generic_plan');
    const bad = await badScans(
      on,
      async () => {
        for (const segment of [1, 2]) {
          for (let steps = 0; steps < 3; steps++)
            await asVerb(on, 'select tock.prepare_segment_drop($1)', [segment]);
        }
      },
      // Of the promotions into the segment: a BRIN index finds them, which is of no use in so small a table.
      { tables: /^promotions$/, most: 500, least: 10, own: /^with recursive pointing/ },
    );
    expect(bad).toEqual([]);
    expect(await value(owner, 'select count(*)::integer from tock.promotions')).toBe(20_000);
    await db.drop();
  },
);
