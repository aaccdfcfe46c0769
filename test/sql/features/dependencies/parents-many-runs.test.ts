import { expect, test } from 'vitest';
import { pages } from '../../plans.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { enqueue } from '../../verbs.ts';
import { claimNext, completeRun, enqueueThroughStages } from '../pipelines/pipelines.ts';
import { change, stateOf } from './spawns.ts';

databasePerTest();

/** The pages that one check of a child's parents reads. */
const check = (child: string) => pages(client, `tock.check_parents(array[${child}::bigint >> 20])`);

test('a check of a parent reads as little after 200 runs as after 20', async () => {
  const id = await enqueueThroughStages();
  const [child = ''] = await enqueue(client, 'child', [{ depends_on: [id] }]);
  const counts: number[] = [];
  for (let n = 0; n < 10; n++) {
    for (let jump = 0; jump < 20; jump++)
      await completeRun(await claimNext('fetch'), { stage: 'fetch' });
    // A running autovacuum may leave dead rows behind, and the test does not count these.
    await client.query('vacuum tock.waiting, tock.dependency_waits');
    await check(child);
    counts.push(await check(child));
  }
  expect(counts.at(-1)).toBeLessThan((counts[0] as number) * 1.3 + 20);
  await completeRun(await claimNext('fetch'), { stage: null });
  expect(await stateOf(child)).toBe('ready');
});

test('a child of a parent that is retried, waits, is changed and is retried, sees it end', async () => {
  const id = await enqueueThroughStages();
  const [child = ''] = await enqueue(client, 'child', [{ depends_on: [id] }]);
  await completeRun(await claimNext('fetch'));
  const run = await claimNext('parse');
  await change(id, { delay_seconds: 0.01 });
  await completeRun(run);
  await change(id, { delay_seconds: 0, payload: 3 });
  await change(id, { payload: 4 });
  const last = await claimNext('index');
  expect(last).toMatchObject({ payload: 4 });
  expect(await stateOf(child)).toBe('waiting');
  await completeRun(last);
  expect(await stateOf(child)).toBe('ready');
});
