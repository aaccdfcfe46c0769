import { expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expireTask,
  fail,
  leaseOf,
  makeDue,
  promote,
  refusal,
  rows,
  task,
  value,
  waitForState,
} from '../../verbs.ts';
import { cancel, change, codeOf, completeAll, payloadOf, stateOf } from './spawns.ts';

databasePerTest();

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

test.each([
  [null, 1024],
  ['y'.repeat(900), 900],
])('results that are too large beside a payload are left out (%#)', async (payload, bytes) => {
  await client.query(`select tock.put_queue('small', '{"max_payload_bytes": 1024}')`);
  const [id = ''] = await enqueue(client, 'small', [{}]);
  await enqueue(client, 'small', [{ payload, depends_on: [id], include_results: true }]);
  await completeAll('small', 'x'.repeat(bytes));
  const whole = await payloadOf('small');
  expect(whole.payload).toEqual(payload);
  expect(JSON.stringify(whole)).not.toContain('xxx');
  if (payload === null) expect(whole).toEqual({ payload, parents: [{ id, state: 'done' }] });
});

test('a payload that is changed after its results were included keeps its parents', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  const [child = ''] = await enqueue(client, 'q', [
    { payload: 1, depends_on: [parent], include_results: true, delay_seconds: 600 },
  ]);
  await completeAll('q', 5);
  await change(child, { payload: 2 });
  await makeDue(client, 'q');
  await promote(client);
  expect(await payloadOf('q')).toMatchObject({ payload: 2, parents: [{ id: parent, result: 5 }] });
});

test('a completion in repeatable read does not fail when it checks the child', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  await enqueue(client, 'q', [{ depends_on: [parent] }]);
  const lease = leaseOf(await claim(client, 'q'));
  const other = await begin('isolation level repeatable read');
  await other.query('select 1 from pg_class limit 1');
  await makeDue(client, 'q');
  await promote(client);
  expect(await codeOf(complete(other, lease))).toBeNull();
  await other.query('commit');
});

test('a cancelled parent shows as cancelled, in parents() and among the results', async () => {
  const [parent = ''] = await enqueue(client, 'p', [{}]);
  const [child = ''] = await enqueue(client, 'q', [
    { depends_on: [parent], on_parent_failure: 'run', include_results: true },
  ]);
  await cancel(parent);
  await waitForState(client, child, 'ready');
  expect(await stateOf(parent)).toBe('cancelled');
  const [shown] = await rows<{ state: string }>(client, 'select * from tock.parents($1)', [child]);
  expect(shown?.state).toBe('cancelled');
  expect(await payloadOf('q')).toMatchObject({ parents: [{ id: parent, state: 'cancelled' }] });
});

test.each([
  [[{ unique_key: 'k' }, { unique_key: 'k2' }, { depends_on: ['12345678901'] }]],
  [[{}, { unique_key: 'b' }, { unique_key: 'a', depends_on: ['12345678901'] }]],
])('an invalid parent beside keyed tasks is named by its index in the call: %j', async (tasks) => {
  const refused = await refusal(enqueue(client, 'q', tasks));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'tasks[2].depends_on[0]' });
});

test('a child doesn’t expire by its queue’s max_wait_seconds while its parent runs', async () => {
  await client.query(`select tock.put_queue('q', '{"max_wait_seconds": 1000}')`);
  const [parent = ''] = await enqueue(client, 'p', [{}]);
  const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
  const runs = await claim(client, 'p');
  await client.query(
    "update tock.waiting set due_after_parents = due_after_parents - interval '1 hour'",
  );
  await expireTask(client, child);
  await complete(client, leaseOf(runs));
  expect(await stateOf(child)).toBe('ready');
});

test('an erased child no longer shows names of its parents', async () => {
  const [, child = ''] = await enqueue(client, 'q', [
    { name: 'mail to jane@example.com' },
    { depends_on: ['mail to jane@example.com'], include_results: true },
  ]);
  for (const _ of ['parent', 'child']) await completeAll('q');
  await client.query('select tock.erase($1)', [child]);
  expect(JSON.stringify(await task(client, child))).not.toContain('jane');
});

test('a key for one stage does not read the result of another', async () => {
  for (const q of ['a', 'b', 'c']) await client.query('select tock.put_queue($1)', [q]);
  const key = await value<string>(
    client,
    "select key from tock.create_key('k', array['enqueue', 'claim', 'read'], array['b'])",
  );
  const [id = ''] = await enqueue(client, 'a', [{ pipeline: ['a', 'b', 'c'] }]);
  await completeAll('a');
  const body = JSON.stringify({ depends_on: [id], include_results: true });
  const enqueued = client.query('select tock.http_enqueue($1, $2, $3, null)', [key, 'b', body]);
  expect(await codeOf(enqueued)).toBe('TK403');
});

test('an expired child of a parent that never ends is removed', async () => {
  const [id = ''] = await enqueue(client, 'a', [{}]);
  const waits = { depends_on: [id], on_parent_failure: 'wait', expires_in_seconds: 0.5 };
  await enqueue(client, 'b', [waits]);
  await fail(client, leaseOf(await claim(client, 'a')), { fatal: true });
  const waiting = async () => {
    await promote(client);
    return value(client, 'select count(*)::integer from tock.waiting');
  };
  await expect.poll(waiting).toBe(0);
});
