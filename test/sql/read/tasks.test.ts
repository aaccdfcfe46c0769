import { expect, test } from 'vitest';
import { list, listAll } from '../features/bulk_changes/bulk_changes.ts';
import { cancel, change, states, taskInState } from '../kernel/change/changes.ts';
import { createSegments } from '../kernel/segment/segments.ts';
import { client, databasePerFile } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  release,
  rows,
} from '../verbs.ts';

databasePerFile();
let count = 0;

const queue = () => `l${++count}`;

/** Tasks in every state in one queue, some of them changed. Returns the state that task() shows for each id. */
async function mixed(q: string): Promise<Map<string, string>> {
  const ids = await enqueue(
    client,
    q,
    numberedTasks(40).map((task, n) => ({ ...task, priority: n % 3, tenant: `t${n % 4}` })),
  );
  ids.push(
    ...(await enqueue(client, q, numberedTasks(12, 40, { delay_seconds: 500, tenant: 't0' }))),
  );
  await cancel(client, [ids[3], ids[41]] as string[]);
  await change(client, [ids[5], ids[6]] as string[], { priority: 9 });
  await change(client, [ids[7]] as string[], { delay_seconds: 900 });
  await change(client, [ids[42]] as string[], { delay_seconds: 0 });
  const runs = await claim(client, q, { limit: 12, worker: 'w' });
  const [a, b, c] = runs.map(({ id }) => id) as [string, string, string];
  await complete(client, leaseOf(runs), [{ id: a, result: 1 }]);
  await fail(client, leaseOf(runs), [
    { id: b, fatal: true, error: 'no' },
    { id: c, error: 'later', retry_in_seconds: 700 },
  ]);
  await release(client, leaseOf(runs), [runs[3]?.id as string]);
  await complete(client, leaseOf(await claim(client, q, { limit: 5 })));
  const stored = await rows<{ id: string; state: string }>(
    client,
    'select t.id, t.state from unnest($1::bigint[]) i cross join lateral tock.task(i) t',
    [ids],
  );
  return new Map(stored.map(({ id, state }) => [id, state]));
}

test('each state is listed as task() tells it, page by page and none twice', async () => {
  const q = queue();
  await mixed(queue());
  const known = await mixed(q);
  for (const state of states) {
    const ids = [...known].filter(([, taskState]) => taskState === state).map(([id]) => id);
    for (const limit of [1, 3, 100]) {
      const listed = await listAll(client, { queue: q, state }, limit);
      expect(listed.map(({ id }) => id).toSorted(), `${state} by ${limit}`).toEqual(ids.toSorted());
      expect(new Set(listed.map((row) => row.state))).toEqual(new Set([state]));
    }
  }
  const all = await listAll(client, { queue: q }, 7);
  expect(new Map(all.map(({ id, state }) => [id, state]))).toEqual(known);
  expect(all).toHaveLength(known.size);
  const some = (await listAll(client, { queue: q, tenant: 't1' })).map(({ id }) => id);
  expect(some).toHaveLength(10);
});

test('a listed task has its worker, error, times and other fields of a list', async () => {
  const q = queue();
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
  const q = queue();
  const [id] = (await enqueue(client, q, [{ tenant: 'one', priority: 6 }])) as [string];
  await enqueue(client, q, numberedTasks(12_000, 0, { tenant: 'many' }));
  const first = await list(client, { queue: q, tenant: 'one' });
  expect(first.tasks).toEqual([]);
  expect(first.scanned).toBeGreaterThan(5000);
  expect(first.scanned).toBeLessThan(12_000);
  const next = await list(client, { queue: q, tenant: 'one' }, first.cursor);
  expect(next).toMatchObject({ tasks: [{ id }], cursor: null });
});

test('a list spans segments, the newest task first', async () => {
  const q = queue();
  const old = await enqueue(client, q, numberedTasks(3));
  await client.query(
    `select setval('tock.positions', e.end_position) from tock.segments e where e.number = tock.newest_segment()`,
  );
  await createSegments(client);
  const young = await enqueue(client, q, numberedTasks(3));
  for (const state of ['ready', undefined]) {
    const listed = await listAll(client, { queue: q, state }, 2);
    expect(listed.map(({ id }) => id)).toEqual([...old, ...young].toReversed());
  }
  const waits = await enqueue(client, q, numberedTasks(2, 0, { delay_seconds: 100 }));
  const page = await list(client, { queue: q }, null, 3);
  expect(page.tasks.map(({ id }) => id)).toEqual([...waits.toReversed(), young[2]]);
  await makeDue(client, q);
  await promote(client);
});
