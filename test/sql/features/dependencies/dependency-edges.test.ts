import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expireTask,
  fail,
  leaseOf,
  makeDue,
  promote,
  rows,
  task,
  value,
  waitForState,
} from '../../verbs.ts';

databasePerTest();
const stateOf = async (id: string) => (await task(client, id))?.state;

test('a payload that is changed after its results were included keeps its parents', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  const [child = ''] = await enqueue(client, 'q', [
    { payload: 1, depends_on: [parent], include_results: true, delay_seconds: 600 },
  ]);
  await complete(client, leaseOf(await claim(client, 'q')), [{ id: parent, result: 5 }]);
  await client.query(`select tock.change(array[$1::bigint], '{"payload": 2}')`, [child]);
  await makeDue(client, 'q');
  await promote(client);
  const [run] = await claim(client, 'q');
  expect(run?.payload).toMatchObject({ payload: 2, parents: [{ id: parent, result: 5 }] });
});

test('a completion in repeatable read does not fail when it checks the child', async () => {
  const other = await db.connect();
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  await enqueue(client, 'q', [{ depends_on: [parent] }]);
  const lease = leaseOf(await claim(client, 'q'));
  await other.query('begin isolation level repeatable read');
  await other.query('select 1 from pg_class limit 1');
  await makeDue(client, 'q');
  await promote(client);
  const done = await complete(other, lease).then(
    () => null,
    (e) => e.code,
  );
  await other.query(done === null ? 'commit' : 'rollback');
  expect(done).toBeNull();
});

test('parents() shows a cancelled parent as the task itself does', async () => {
  const [parent = ''] = await enqueue(client, 'p', [{}]);
  const [child = ''] = await enqueue(client, 'q', [
    { depends_on: [parent], on_parent_failure: 'run' },
  ]);
  await client.query('select tock.cancel(array[$1::bigint])', [parent]);
  await waitForState(client, child, 'ready');
  expect(await stateOf(parent)).toBe('cancelled');
  const [shown] = await rows<{ state: string }>(client, 'select * from tock.parents($1)', [child]);
  expect(shown?.state).toBe('cancelled');
});

test('a payload with included results shows a cancelled parent as cancelled', async () => {
  const [parent = ''] = await enqueue(client, 'p', [{}]);
  const [child = ''] = await enqueue(client, 'q', [
    { depends_on: [parent], on_parent_failure: 'run', include_results: true },
  ]);
  await client.query('select tock.cancel(array[$1::bigint])', [parent]);
  await waitForState(client, child, 'ready');
  const [run] = await claim(client, 'q');
  expect(run?.payload).toMatchObject({ parents: [{ id: parent, state: 'cancelled' }] });
});

test('a task after * waits for a keyed task of its call, or the call is refused', async () => {
  const enqueued = await enqueue(client, 'q', [
    { payload: 'keyed', unique_key: 'k' },
    { payload: 'plain' },
    { payload: 'sum', depends_on: ['*'] },
  ]).catch((e) => e.code as string);
  if (enqueued === 'TK422') return;
  const runs = await claim(client, 'q', { limit: 1 });
  const more = await claim(client, 'q', { limit: 1 });
  for (const run of [...runs, ...more].filter((claimed) => claimed.payload === 'plain'))
    await complete(client, run.lease);
  expect(await stateOf(enqueued[0] as string)).not.toBe('done');
  expect(await stateOf(enqueued[2] as string)).toBe('waiting');
});

test('an invalid parent beside a keyed task is named by its index in the call', async () => {
  const error = await enqueue(client, 'q', [
    { unique_key: 'k' },
    { unique_key: 'k2' },
    { depends_on: ['12345678901'] },
  ]).catch((e) => e);
  expect(error).toMatchObject({ code: 'TK422', detail: 'tasks[2].depends_on[0]' });
});

test('keyed tasks that name unknown parents are named by their index in the call', async () => {
  const error = await enqueue(client, 'q', [
    {},
    { unique_key: 'b' },
    { unique_key: 'a', depends_on: ['12345678901'] },
  ]).catch((e) => e);
  expect(error).toMatchObject({ code: 'TK422', detail: 'tasks[2].depends_on[0]' });
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
  await complete(client, leaseOf(await claim(client, 'q')));
  await complete(client, leaseOf(await claim(client, 'q')));
  await client.query('select tock.erase($1)', [child]);
  expect(JSON.stringify(await task(client, child))).not.toContain('jane');
});

test('a parent that is named twice counts once', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent, parent] }]);
  expect((await task(client, child))?.options).toMatchObject({ depends_on: [parent] });
});

test('a key for one stage does not read the result of another', async () => {
  for (const q of ['a', 'b', 'c']) await client.query('select tock.put_queue($1)', [q]);
  const key = await value<string>(
    client,
    "select (to_jsonb(k) ->> 'key') from tock.create_key('k', array['enqueue', 'claim', 'read'], array['b']) k",
  );
  const [id = ''] = await enqueue(client, 'a', [{ pipeline: ['a', 'b', 'c'] }]);
  await complete(client, leaseOf(await claim(client, 'a')));
  const answer = await client
    .query('select tock.http_enqueue($1, $2, $3, null) as answer', [
      key,
      'b',
      JSON.stringify({ depends_on: [id], include_results: true }),
    ])
    .then(
      () => 'taken',
      (e) => e.code,
    );
  await complete(client, leaseOf(await claim(client, 'b')));
  await complete(client, leaseOf(await claim(client, 'c')), [{ id, result: 'secret of c' }]);
  await promote(client);
  const [child] = await claim(client, 'b');
  expect(JSON.stringify(child?.payload ?? null)).not.toContain('secret of c');
  expect(answer).toBe('TK403');
});

test('an expired child of a parent that never ends is removed', async () => {
  const [id = ''] = await enqueue(client, 'a', [{}]);
  await enqueue(client, 'b', [
    { depends_on: [id], on_parent_failure: 'wait', expires_in_seconds: 0.5 },
  ]);
  await fail(client, leaseOf(await claim(client, 'a')), { fatal: true });
  const waiting = async () => {
    await promote(client);
    return value(client, 'select count(*)::integer from tock.waiting');
  };
  await expect.poll(waiting).toBe(0);
});
