import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { enqueue, rows, task } from '../../verbs.ts';
import { claimNext, completeRun, enqueueThroughStages } from '../pipelines/pipelines.ts';

databasePerTest();

const stateOf = async (id: string) => (await task(client, id))?.state;

/** The pages that one check of a child's parents reads. */
async function pages(child: string): Promise<number> {
  const [plan] = await rows<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    client,
    `explain (analyze, buffers, format json) select tock.check_parents(array[${child}::bigint >> 20])`,
  );
  const top = plan?.['QUERY PLAN'][0].Plan ?? {};
  return (top['Shared Hit Blocks'] ?? 0) + (top['Shared Read Blocks'] ?? 0);
}

test('a check of a parent reads as little after 200 runs as after 20', async () => {
  const id = await enqueueThroughStages();
  const [child = ''] = await enqueue(client, 'child', [{ depends_on: [id] }]);
  const counts: number[] = [];
  for (let n = 0; n < 10; n++) {
    for (let jump = 0; jump < 20; jump++)
      await completeRun(await claimNext('fetch'), { stage: 'fetch' });
    // A running autovacuum may leave dead rows behind, and the test does not count these.
    await client.query('vacuum tock.waiting, tock.dependency_waits');
    await pages(child);
    counts.push(await pages(child));
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
  await client.query(`select * from tock.change(array[$1::bigint], '{"delay_seconds": 0.01}')`, [
    id,
  ]);
  await completeRun(run);
  await client.query(
    `select * from tock.change(array[$1::bigint], '{"delay_seconds": 0, "payload": 3}')`,
    [id],
  );
  await client.query(`select * from tock.change(array[$1::bigint], '{"payload": 4}')`, [id]);
  const last = await claimNext('index');
  expect(last).toMatchObject({ payload: 4 });
  expect(await stateOf(child)).toBe('waiting');
  await completeRun(last);
  expect(await stateOf(child)).toBe('ready');
});
