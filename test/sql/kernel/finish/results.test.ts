import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  numberedTasks,
  refusal,
  task,
  value,
} from '../../verbs.ts';
import { startNextSegment } from '../segment/segments.ts';

databasePerFile();
let queues = 0;

afterAll(() => expectInvariants(client));

async function keep(queue: string, kept: boolean): Promise<void> {
  await client.query('select tock.put_queue($1, $2)', [queue, { keep_results: kept }]);
}

/** Claims two tasks of a queue that keeps results or does not. */
async function leased(kept: boolean, options = {}) {
  const queue = `q${++queues}`;
  await keep(queue, kept);
  await enqueue(client, queue, numberedTasks(2, 0, options));
  const runs = await claim(client, queue, { limit: 2 });
  const results = runs.map(({ id }) => ({ id, result: { of: id } }));
  return { queue, lease: leaseOf(runs), ids: runs.map(({ id }) => id), results };
}

const stored = () =>
  value<number>(client, 'select count(*)::int from tock.results where result is not null');
const done = { completed: 2, refused: [] };

test.each([
  ['plain tasks', {}],
  ['tasks with options', { backoff: { kind: 'fixed' } }],
])('a queue without keep_results takes the results of %s and keeps none', async (_, options) => {
  const before = await stored();
  const { lease, ids, results } = await leased(false, options);
  expect(await complete(client, lease, results)).toEqual(done);
  for (const id of ids)
    expect(await task(client, id)).toMatchObject({ state: 'done', result: null });
  expect(await stored()).toBe(before);
  expect(await complete(client, lease, results)).toEqual(done);
});

test('a queue keeps results by default', async () => {
  const { lease, ids, results } = await leased(true);
  expect(await complete(client, lease, results.slice(0, 1))).toMatchObject({ completed: 1 });
  expect(await task(client, ids[0] as string)).toMatchObject({ result: { of: ids[0] } });
  expect(await value(client, `select keep_results from tock.queues where name = '*'`)).toBe(true);
});

test('a completion follows the keep_results setting committed before it, also in an earlier segment', async () => {
  const { queue, lease, ids, results } = await leased(true);
  await complete(client, lease, results.slice(0, 1));
  await keep(queue, false);
  await startNextSegment(client);
  expect(await complete(client, lease, results)).toEqual(done);
  expect((await task(client, ids[0] as string))?.result).toEqual({ of: ids[0] });
  expect((await task(client, ids[1] as string))?.result).toBeNull();
});

test('a result that is not kept is bounded all the same', async () => {
  const { lease, ids } = await leased(false);
  const large = [{ id: ids[0], result: 'x'.repeat(300_000) }];
  const refused = await refusal(complete(client, lease, large));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'results[0].result' });
});
