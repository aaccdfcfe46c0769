import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  refusal,
  rows,
} from '../../verbs.ts';
import { completeAll, spawnAndWait, stateOf } from './spawns.ts';

databasePerTest();

test('a completion is repeated after the task was moved while it waits', async () => {
  const { id, lease, results } = await spawnAndWait('q', { queue: 'c', tasks: [{}] });
  await rows(client, 'select * from tock.move(array[$1::bigint], $2)', [id, 'to']);
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
  await completeAll('c');
  expect((await claim(client, 'to')).map((run) => run.id)).toEqual([id]);
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
});

test.each([
  [true, false],
  [false, false],
  [false, true],
])(
  'a repeat with and without a spawn is another call (wait %s, plain first %s)',
  async (wait, turned) => {
    const [id = ''] = await enqueue(client, 'q', [{}, {}]);
    const lease = leaseOf(await claim(client, 'q', { limit: 2 }));
    const spawn = { queue: 'c', tasks: [{}], wait };
    const calls = [[{ id, result: 'r', spawn }], [{ id, result: 'r' }]];
    const [first, other] = turned ? calls.toReversed() : calls;
    for (let again = 0; again < 2; again++)
      expect(await complete(client, lease, first)).toEqual({ completed: 1, refused: [] });
    expect(await complete(client, lease, other)).toEqual({ completed: 0, refused: [id] });
    expect(await claim(client, 'c')).toHaveLength(turned ? 0 : 1);
  },
);

test('a run that is named by both its ids spawns nothing', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  await fail(client, leaseOf(await claim(client, 'q')), { retry_in_seconds: 0 });
  const [run] = await claim(client, 'q');
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  const twice = [{ id: run?.run_id }, { id, spawn }];
  expect(await refusal(complete(client, run?.lease as string, twice))).toMatchObject({
    code: 'TK422',
    detail: 'results[1].id',
  });
  expect([await stateOf(id), await claim(client, 'c')]).toEqual(['running', []]);
});

test('a lease that was reaped spawns nothing', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const lease = leaseOf(await claim(client, 'q'));
  await expire(client, lease);
  await reap(client);
  const spawn = { queue: 'c', tasks: [{}] };
  expect(await complete(client, lease, [{ id, spawn }])).toBeUndefined();
  expect(await claim(client, 'c')).toEqual([]);
});

test('a repeat after the request ids are pruned is refused, and spawns nothing', async () => {
  const { id, lease, results } = await spawnAndWait('q', { queue: 'c', tasks: [{}] });
  await client.query("update tock.requests set created_at = now() - interval '2 days'");
  await client.query('select tock.prune()');
  expect(await complete(client, lease, results)).not.toMatchObject({ completed: 1 });
  expect((await claim(client, 'c', { limit: 9 })).length).toBe(1);
  expect(await stateOf(id)).toBe('waiting');
});

test('the rest of a lease can be completed as a whole after one of its runs has spawned', async () => {
  const ids = await enqueue(client, 'q', [{}, {}, {}]);
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  const spawn = { queue: 'c', tasks: [{}], wait: true };
  await complete(client, lease, [{ id: ids[0], spawn }]);
  expect(await complete(client, lease)).toEqual({ completed: 3, refused: [] });
  expect(await complete(client, lease)).toEqual({ completed: 3, refused: [] });
  await completeAll('c');
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual([ids[0]]);
  await expectInvariants(client);
});
