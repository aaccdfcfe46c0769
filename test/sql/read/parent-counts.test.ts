import { expect, test } from 'vitest';
import { client, databasePerTest } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  refusal,
  rows,
  value,
} from '../verbs.ts';
import { idsOf, searchPart } from './search.ts';

databasePerTest();

type Row = { id: string; parents: number | null; counts: Record<string, number> | null };

const counts = (ids: string[], key: string | null = null) =>
  rows<Row>(client, 'select * from tock.parent_counts($1, $2)', [ids, key]);
const key = (rights: string) =>
  value<string>(client, `select key from tock.create_key('k', '{read}', ${rights})`);

async function end(queue: string, limit: number, how: 'done' | 'dead' = 'done') {
  const lease = leaseOf(await claim(client, queue, { limit }));
  if (how === 'done') await complete(client, lease);
  else await fail(client, lease, { error: 'no', fatal: true });
}

/** Adds a batch of this many parts and a callback; returns the id of the callback. */
async function group(queue: string, parts: number, options: object = {}): Promise<string> {
  const callback = { depends_on: ['*'], on_parent_failure: 'wait', ...options };
  return (await enqueue(client, queue, [...numberedTasks(parts), callback])).at(-1) as string;
}

test('the parents of a task are counted by their states', async () => {
  const id = await group('g', 7);
  const [delayed = ''] = await enqueue(client, 'late', [{ delay_seconds: 900 }]);
  const [small = ''] = await enqueue(client, 'g', [{ depends_on: [delayed] }]);
  await end('g', 3);
  await end('g', 1, 'dead');
  await claim(client, 'g', { limit: 2 });
  const expected = [
    { id: small, parents: 1, counts: { waiting: 1 } },
    { id, parents: 7, counts: { done: 3, dead: 1, running: 2, ready: 1 } },
  ];
  expect(await counts([id, small])).toEqual(expected);
  // A task that does not wait for others has no row.
  expect(await counts([delayed, id, '9007199254740992'])).toEqual(expected.slice(1));
  expect(await counts([delayed])).toEqual([]);
  expect(await counts([])).toEqual([]);
});

test('a parent that was run again counts as its rerun, and one whose history is gone is named so', async () => {
  const id = await group('r', 2);
  await end('r', 1);
  await end('r', 1, 'dead');
  expect(await counts([id])).toMatchObject([{ counts: { done: 1, dead: 1 } }]);
  await client.query("select * from tock.redrive('r')");
  expect(await counts([id])).toMatchObject([{ counts: { done: 1, ready: 1 } }]);
  await client.query(
    `update tock.waiting set options = jsonb_set(options, '{depends_on,0}', '"9007199254740992"')`,
  );
  expect(await counts([id])).toMatchObject([{ parents: 2, counts: { gone: 1, ready: 1 } }]);
});

test('a task is counted while it waits for others, and no longer', async () => {
  const id = await group('w', 2, { on_parent_failure: 'run', delay_seconds: 900 });
  await end('w', 1, 'dead');
  expect(await counts([id])).toMatchObject([{ counts: { dead: 1, ready: 1 } }]);
  await end('w', 1);
  await promote(client);
  expect(await counts([id])).toEqual([]);
});

test('a call looks at 10,000 parents, those of small groups first, and says how many others have', async () => {
  const large = await group('large', 9500);
  const small = [await group('small', 300), await group('small', 200)];
  await end('small', 299);
  const smaller = [
    { id: small[1], parents: 200, counts: { ready: 200 } },
    { id: small[0], parents: 300, counts: { done: 299, ready: 1 } },
  ];
  const whole = { id: large, parents: 9500, counts: { ready: 9500 } };
  expect(await counts([large, ...small])).toEqual([...smaller, whole]);
  const one = await group('small', 1);
  const first = { id: one, parents: 1, counts: { ready: 1 } };
  const others = [first, ...smaller, { ...whole, counts: null }];
  expect(await counts([large, one, ...small])).toEqual(others);
});

test('a key counts only the parents that it may read, 2,000 of them', async () => {
  const [foreign = ''] = await enqueue(client, 'theirs', [{ tenant: 'b' }]);
  const tasks = numberedTasks(2, 0, { tenant: 'a' });
  const child = { depends_on: ['*', foreign], tenant: 'a' };
  const id = (await enqueue(client, 'mine', [...tasks, child])).at(-1) as string;
  await end('mine', 1);
  expect(await counts([id])).toMatchObject([{ parents: 3, counts: { done: 1, ready: 2 } }]);
  const own = [{ id, parents: 2, counts: { done: 1, ready: 1 } }];
  const byQueue = await key(`p_queues => '{mine}'`);
  expect(await counts([id], byQueue)).toEqual(own);
  expect(await counts([id], await key(`p_tenants => '{a}'`))).toEqual(own);
  const none = { id, parents: null, counts: null };
  expect(await counts([id], await key(`p_queues => '{other}'`))).toEqual([none]);
  // How many parents a larger task has is not told, because some may be foreign.
  const large = await group('mine', 2001);
  expect(await counts([id, large], byQueue)).toEqual([...own, { ...none, id: large }]);
  expect(await counts([large], await key('null'))).toMatchObject([{ parents: 2001 }]);
});

test('bad ids are refused by their name', async () => {
  for (const ids of [null, [null], [[1, 2]], Array.from({ length: 1001 }, (_, n) => n + 1)]) {
    const refused = client.query('select * from tock.parent_counts($1)', [ids]);
    expect((await refusal(refused)).detail).toContain('ids');
  }
});

test('groups are listed without a look at other waiting tasks, over all queues too', async () => {
  const first = await group('a', 1);
  const second = await group('b', 1);
  await enqueue(client, 'a', numberedTasks(300, 0, { delay_seconds: 900 }));
  await enqueue(client, 'c', numberedTasks(300, 0, { delay_seconds: 900 }));
  for (const [filter, ids] of [
    [{}, [second, first]],
    [{ queue: 'a' }, [first]],
    [{ queue: 'c' }, []],
  ] as [object, string[]][]) {
    const part = await searchPart(client, { waiting_for: 'dependency', ...filter });
    expect(part).toMatchObject({ cursor: null, scanned: ids.length });
    expect(idsOf(part.tasks)).toEqual(ids);
  }
});
