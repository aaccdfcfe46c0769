import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  value,
} from '../../verbs.ts';
import { invariantsAfterEach } from '../sessions.ts';
import { cancel, cancelRequests, change } from './changes.ts';

databasePerFile();
invariantsAfterEach();

/** 10,000 tasks in a queue: 1,000 run, 5,000 are ready and 4,000 wait. */
async function tenThousand(q: string) {
  const ids = [
    ...(await enqueue(client, q, numberedTasks(6000))),
    ...(await enqueue(client, q, numberedTasks(4000, 6000, { delay_seconds: 1000 }))),
  ];
  return { ids, running: leaseOf(await claim(client, q, { limit: 1000 })) };
}

test('10,000 tasks in all states are cancelled at once', async () => {
  const { ids, running } = await tenThousand('cancelled');
  await complete(client, leaseOf(await claim(client, 'cancelled', { limit: 1000 })));
  const kinds: Record<string, number> = {};
  for (const { state, changed } of await cancel(client, ids)) {
    const kind = `${state} ${changed}`;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  expect(kinds).toEqual({ 'running true': 1000, 'done false': 1000, 'cancelled true': 8000 });
  expect(await cancelRequests(client, running)).toHaveLength(1000);
  expect(await claim(client, 'cancelled', { limit: 100 })).toEqual([]);
  expect(await value(client, 'select count(*)::int from tock.waiting')).toBe(0);
});

test('10,000 tasks in all states are changed at once', async () => {
  const { ids, running } = await tenThousand('changed');
  await cancel(client, ids.slice(-1000));
  const answer = await change(client, ids, { priority: 3, payload: 'all' });
  expect(answer.filter((row) => row.changed)).toHaveLength(9000);
  await fail(client, running, { retry_in_seconds: 0 });
  await makeDue(client, 'changed');
  await promote(client);
  const got = (await drain(client, 'changed', { limit: 1000 })).flat();
  expect(got).toHaveLength(9000);
  expect(new Set(got.map((run) => run.id)).size).toBe(9000);
  expect(new Set(got.map((run) => `${run.priority} ${run.payload}`))).toEqual(new Set(['3 all']));
});
