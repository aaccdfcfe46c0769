import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf } from '../../verbs.ts';

databasePerFile();

test('a child with include_results gets the results of its parents', async () => {
  const ids = await enqueue(client, 'sums', [
    { name: 'a' },
    { name: 'b' },
    {
      payload: { sum: true },
      depends_on: ['b', 'a'],
      include_results: true,
      on_parent_failure: 'run',
    },
  ]);
  const [a, b] = await claim(client, 'sums', { limit: 2 });
  await complete(client, a?.lease as string, [{ id: a?.id, result: { n: 1 } }]);
  await fail(client, a?.lease as string, [{ id: b?.id, fatal: true }]);
  const [child] = await claim(client, 'sums');
  expect(child?.id).toBe(ids[2]);
  expect(child?.payload).toEqual({
    payload: { sum: true },
    parents: [
      { id: ids[1], name: 'b', state: 'dead', result: null },
      { id: ids[0], name: 'a', state: 'done', result: { n: 1 } },
    ],
  });
});

test('results that are too large for a payload are left out', async () => {
  await client.query(`select tock.put_queue('small', '{"max_payload_bytes": 1024}')`);
  const [id = ''] = await enqueue(client, 'small', [{}]);
  await enqueue(client, 'small', [{ depends_on: [id], include_results: true }]);
  await complete(client, leaseOf(await claim(client, 'small')), [{ id, result: 'x'.repeat(1024) }]);
  expect((await claim(client, 'small'))[0]?.payload).toEqual({
    payload: null,
    parents: [{ id, state: 'done' }],
  });
});
