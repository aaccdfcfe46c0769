import { expect, test } from 'vitest';
import { client, databasePerFile } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  refusal,
} from '../verbs.ts';
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
  for (const payload of [
    { customer: '7' },
    { customer: 7, items: [] as object[], x: 1 },
    { y: null },
  ])
    expect(await found({ queue: 'p', payload })).toEqual([]);
  expect(await found({ queue: 'p', payload: '{"customer": 7.0}' })).toHaveLength(5);
});

test('a task is found by one of its tags, which are a list in the payload', async () => {
  const tags = [['vip', 'eu'], ['eu']];
  await enqueue(
    client,
    'tagged',
    tags.map((list) => ({ payload: { tags: list } })),
  );
  expect(await found({ queue: 'tagged', payload: { tags: ['vip'] } })).toHaveLength(1);
});

test('a payload with null is not the same as one without the field', async () => {
  await enqueue(client, 'n', [{ payload: { a: null } }, { payload: { b: 1 } }, {}]);
  expect(await found({ queue: 'n', payload: { a: null } })).toHaveLength(1);
});

test('a payload is also compared at a unique key and at a concurrency key', async () => {
  await enqueue(client, 'k', customers({ concurrency_key: 'x' }));
  await enqueue(client, 'k', [{ payload: { customer: 7 }, unique_key: 'u' }]);
  await promote(client);
  expect(await found({ queue: 'k', concurrency_key: 'x', ...seven })).toEqual(['ready']);
  expect(await found({ queue: 'k', unique_key: 'u', ...seven })).toEqual(['ready']);
  expect(await found({ queue: 'k', unique_key: 'u', payload: { customer: 8 } })).toEqual([]);
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
    const refused = client.query('select * from tock.tasks($1)', [JSON.stringify({ payload })]);
    expect((await refusal(refused)).detail, JSON.stringify(payload)).toContain('payload');
  }
});
