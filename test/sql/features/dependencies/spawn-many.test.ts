import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { numberedTasks, value } from '../../verbs.ts';
import { newQueue, spawnAndWait } from './spawns.ts';

databasePerFile();

/** Returns the milliseconds that include_results() takes for each spawned task, when a task waits for n of them. */
async function perChild(n: number): Promise<number> {
  const tasks = numberedTasks(n).map((task, k) => ({
    ...task,
    name: `the child with number ${k}`,
  }));
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

test('the cost of a child’s result does not grow with the number of children', async () => {
  await perChild(10);
  // Quadratic growth would give 10. The poll repeats the measurement if other load has disturbed it.
  const growth = async () => (await perChild(6000)) / (await perChild(600));
  await expect.poll(growth).toBeLessThan(2.5);
});
