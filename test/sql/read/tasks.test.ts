import { expect, test } from 'vitest';
import { list } from '../features/bulk_changes/bulk_changes.ts';
import { taskInState } from '../kernel/change/changes.ts';
import { client, databasePerFile } from '../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks } from '../verbs.ts';

databasePerFile();

test('a listed task has its worker, error, times and other fields of a list', async () => {
  const q = 'fields';
  await taskInState(client, q, 'waiting');
  const [, id] = (await enqueue(client, q, [{ priority: 1 }, { tenant: 't', priority: 0 }])) as [
    string,
    string,
  ];
  const runs = await claim(client, q, { worker: 'w' });
  const running = await list(client, { queue: q, state: 'running' });
  expect(running).toMatchObject({
    tasks: [{ id, run_id: id, queue: q, tenant: 't', priority: 0, worker: 'w', attempt: 1 }],
    cursor: null,
    scanned: 1,
  });
  await fail(client, leaseOf(runs), { fatal: true, error: { name: 'E', message: 'm' } });
  const dead = await list(client, { queue: q, error: 'm' });
  expect(dead.tasks).toMatchObject([{ id, state: 'dead', error: 'm', rerun: false }]);
  expect(dead.tasks[0]?.ended_at).toMatch(/^20/);
  const [waits] = (await list(client, { queue: q, state: 'waiting' })).tasks;
  expect(Date.parse(waits?.run_at as string)).toBeGreaterThan(Date.now());
});

test('a call reads a bounded number of rows, and the next continues there', async () => {
  const q = 'bounded';
  const [id] = (await enqueue(client, q, [{ tenant: 'one', priority: 6 }])) as [string];
  await enqueue(client, q, numberedTasks(12_000, 0, { tenant: 'many' }));
  const first = await list(client, { queue: q, tenant: 'one' });
  expect(first.tasks).toEqual([]);
  expect(first.scanned).toBeGreaterThan(5000);
  expect(first.scanned).toBeLessThan(12_000);
  const next = await list(client, { queue: q, tenant: 'one' }, first.cursor);
  expect(next).toMatchObject({ tasks: [{ id }], cursor: null });
});

test('done tasks are listed by the first call, whatever backlog came after them', async () => {
  const q = 'backlog';
  const ids = await enqueue(client, q, numberedTasks(3));
  await complete(client, leaseOf(await claim(client, q, { limit: 3 })));
  await enqueue(client, q, numberedTasks(12_000));
  const { tasks } = await list(client, { queue: q, state: 'done' });
  expect(tasks.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
});
