import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, numberedTasks, refusal, rows } from '../../verbs.ts';
import { completeAll, dropHistory } from './spawns.ts';

databasePerTest();

type Child = { id: string; queue: string; state: string };

const children = (id: string, limit = 100, after = '0') =>
  rows<Child>(client, 'select * from tock.children($1, $2, $3)', [id, limit, after]);
const inOrder = (ids: string[]) => [...ids].sort((a, b) => Number(a) - Number(b));
const idsOf = async (id: string) => (await children(id)).map((child) => child.id);

test('the children of a task name it by id, by name, by * or as their parent', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{ payload: 1 }]);
  const [byId = ''] = await enqueue(client, 'other', [{ depends_on: [parent] }]);
  const [part = ''] = await enqueue(client, 'q', [{ parent }]);
  expect(await children(parent)).toEqual([
    { id: byId, queue: 'other', state: 'waiting' },
    { id: part, queue: 'q', state: 'ready' },
  ]);
  const [a = '', b = '', c = ''] = await enqueue(client, 'flow', [
    { name: 'a' },
    { depends_on: ['a'] },
    { depends_on: ['*', 'a'] },
  ]);
  expect(await idsOf(a)).toEqual(inOrder([b, c]));
  expect(await idsOf(b)).toEqual([c]);
  expect(await idsOf(c)).toEqual([]);
});

test('a child of a task that has ended is listed, with its own state', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  await completeAll('q');
  const [child] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
  expect(await children(parent)).toMatchObject([{ id: child, state: 'ready' }]);
  await completeAll('q');
  expect(await children(parent)).toMatchObject([{ id: child, state: 'done' }]);
});

test('spawned tasks are children of the task that spawned them, once', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  const lease = leaseOf(await claim(client, 'q'));
  const spawn = { queue: 'parts', tasks: [{ payload: 1 }, { payload: 2 }], wait: true };
  for (const _ of ['the call', 'its repetition'])
    await complete(client, lease, [{ id: parent, spawn }]);
  expect(await children(parent)).toMatchObject([{ queue: 'parts' }, { queue: 'parts' }]);
  const parts = await idsOf(parent);
  await completeAll('parts');
  const [resumed] = await claim(client, 'q');
  // The id of a later run leads to the task.
  expect(await idsOf(resumed?.run_id ?? '')).toEqual(parts);
});

test('pages follow each other, and a limit is from 1 to 1,000', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  const tasks = numberedTasks(5, 0, { depends_on: [parent] });
  const ids = inOrder(await enqueue(client, 'q', tasks));
  const first = await children(parent, 3);
  const second = await children(parent, 3, first[2]?.id);
  expect([...first, ...second].map(({ id }) => id)).toEqual(ids);
  for (const limit of [0, 1001])
    expect((await refusal(children(parent, limit))).detail).toBe('limit');
  const before = await refusal(children(parent, 1, '-1'));
  expect(before).toMatchObject({ code: 'TK422', detail: 'after' });
  expect(await children('999999999')).toEqual([]);
  // A number that is no task gets no row as a parent.
  const all = 'select count(*)::int as rows from tock.children';
  await enqueue(client, 'q', [{ parent: '9223372036854775807' }]);
  expect(await rows(client, all)).toEqual([{ rows: 5 }]);
});

test('rows go with the history of the parent, and stay while the parent waits', async () => {
  const [ended = ''] = await enqueue(client, 'q', [{}]);
  const [waits = ''] = await enqueue(client, 'q', [{ delay_seconds: 86_400 }]);
  const [ofEnded, ofWaiting] = await enqueue(client, 'q', [
    { depends_on: [ended], delay_seconds: 86_400 },
    { depends_on: [waits] },
  ]);
  await completeAll('q');
  const prune = () => client.query('select tock.prune()');
  const stored = () => rows(client, 'select parent, child from tock.children order by parent');
  const both = [
    { parent: ended, child: ofEnded },
    { parent: waits, child: ofWaiting },
  ];
  await prune();
  expect(await stored()).toEqual(both);
  await dropHistory();
  await prune();
  expect(await stored()).toEqual([both[1]]);
  expect(await idsOf(waits)).toEqual([ofWaiting]);
  // A parent that still waits holds up none after it.
  await client.query('select tock.prune(1)');
  expect(await stored()).toEqual([both[1]]);
});

test('children whose history is gone take no place of a page', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{ delay_seconds: 86_400 }]);
  await enqueue(client, 'gone', numberedTasks(3, 0, { parent }));
  await completeAll('gone');
  await dropHistory();
  const left = await enqueue(client, 'q', numberedTasks(2, 0, { parent }));
  expect((await children(parent, 1)).map(({ id }) => id)).toEqual([left[0]]);
  expect(await idsOf(parent)).toEqual(left);
});
