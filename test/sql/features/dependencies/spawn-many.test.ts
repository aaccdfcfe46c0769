import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { numberedTasks, value } from '../../verbs.ts';
import { newQueue, spawnAndWait } from './spawns.ts';

databasePerFile();

/** Milliseconds that a child's result takes at the turn of a task with so many. */
async function perChild(n: number): Promise<number> {
  const tasks = numberedTasks(n).map((one, k) => ({ ...one, name: `the child with number ${k}` }));
  const { id } = await spawnAndWait(newQueue(), { queue: newQueue(), tasks });
  const find = 'select position from tock.waiting where task_id = $1';
  const position = await value<string>(client, find, [id]);
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    await client.query('begin; set local plan_cache_mode = force_generic_plan');
    const from = performance.now();
    await client.query('select tock.include_results(array[$1::bigint])', [position]);
    times.push(performance.now() - from);
    await client.query('rollback');
  }
  return Math.min(...times) / n;
}

test('what a child costs at its parent’s turn is the same for few and for many', async () => {
  await perChild(10);
  // Ten times as much where it grows with their number; a machine that does something else at one of them is asked again.
  const growth = async () => (await perChild(6000)) / (await perChild(600));
  await expect.poll(growth).toBeLessThan(2.5);
});
