import { expect, test } from 'vitest';
import { client, databasePerFile } from '../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks, refusal } from '../verbs.ts';
import { idsOf, search, searchPart } from './search.ts';

databasePerFile();

const customers = (more: object = {}) =>
  [7, 8, 9].map((customer) => ({ payload: { customer, items: [{ sku: 'a' }] }, ...more }));
const seven = { payload: { customer: 7 } };

/** The state and number of the listed tasks. */
async function found(filter: object): Promise<string[]> {
  return (await search(client, filter)).map(({ state }) => state);
}

test('a task is found in each state by a part of its payload', async () => {
  for (const state of ['dead', 'done', 'running', 'ready', 'waiting']) {
    await enqueue(client, 'p', customers(state === 'waiting' ? { delay_seconds: 900 } : {}));
    if (state === 'waiting' || state === 'ready') continue;
    const lease = leaseOf(await claim(client, 'p', { limit: 3 }));
    if (state === 'done') await complete(client, lease);
    if (state === 'dead') await fail(client, lease, { error: 'no', fatal: true });
  }
  const all = ['dead', 'done', 'ready', 'running', 'waiting'];
  expect((await found({ queue: 'p', ...seven })).toSorted()).toEqual(all);
  expect((await found(seven)).toSorted()).toEqual(all);
  for (const state of all) expect(await found({ queue: 'p', state, ...seven })).toEqual([state]);
  expect(await found({ queue: 'p', payload: { items: [{ sku: 'a' }] } })).toHaveLength(15);
  expect(await found({ queue: 'p', payload: {} })).toHaveLength(15);
  const others = [{ customer: '7' }, { customer: 7, items: [] as object[], x: 1 }, { y: null }];
  for (const payload of others) expect(await found({ queue: 'p', payload })).toEqual([]);
  expect(await found({ queue: 'p', payload: '{"customer": 7.0}' })).toHaveLength(5);
  await enqueue(client, 'n', [
    { payload: { a: null, tags: ['vip', 'eu'] } },
    { payload: { b: 1 } },
    {},
  ]);
  for (const payload of [{ a: null }, { tags: ['vip'] }])
    expect(await found({ queue: 'n', payload })).toHaveLength(1);
});

test('a call that finds no such payload among 2,000 rows returns a cursor', async () => {
  const [oldest] = await enqueue(client, 'many', [{ payload: { customer: 7 } }]);
  await enqueue(client, 'many', numberedTasks(6000));
  const part = await searchPart(client, { queue: 'many', ...seven });
  expect(part).toMatchObject({ tasks: [], cursor: expect.any(String) });
  expect(part.scanned).toBeLessThan(4000);
  expect(idsOf(await search(client, { queue: 'many', ...seven }))).toEqual([oldest]);
});

test('a payload that is no JSON object is refused by its name', async () => {
  for (const payload of ['', 'x', '7', '[]', 'null', '{"a"', '{"a": "\\u0000"}', 7, [], true]) {
    const { detail } = await refusal(searchPart(client, { payload }));
    expect(detail, JSON.stringify(payload)).toContain('payload');
  }
});
