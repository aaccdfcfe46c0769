import { expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expireTask,
  fail,
  leaseOf,
  promote,
  task,
  waitForState,
} from '../../verbs.ts';
import {
  cancel,
  change,
  completeAll,
  makeRechecksDue,
  newQueue,
  payloadOf,
  spawnAndWait,
  stateOf,
  statesOf,
} from './spawns.ts';

databasePerFile();

/** Calls `meanwhile` while a completion that spawns and waits is uncommitted. */
async function beside(
  queue: string,
  children: string,
  meanwhile: (id: string) => Promise<unknown>,
) {
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  const other = await begin();
  const spawn = { queue: children, tasks: [{}], wait: true };
  await complete(other, lease, [{ id, result: 'r', spawn }]);
  await meanwhile(id);
  await other.query('commit');
  return id;
}

test('a task that is cancelled during its uncommitted completion is cancelled before its children end', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const id = await beside(queue, children, cancel);
  await waitForState(client, id, 'cancelled');
  await completeAll(children);
  await promote(client);
  expect([await stateOf(id), await claim(client, queue)]).toEqual(['cancelled', []]);
  const [after = ''] = await enqueue(client, newQueue(), [
    { depends_on: [id], on_parent_failure: 'run' },
  ]);
  await waitForState(client, after, 'ready');
});

test('a run_at that was set while a task ran holds for its run after the children', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  await change(id, { run_at: new Date(Date.now() + 3_600_000).toISOString(), priority: 1 });
  await complete(client, lease, [{ id, spawn: { queue: children, tasks: [{}], wait: true } }]);
  await completeAll(children);
  expect(await task(client, id)).toMatchObject({ state: 'waiting', priority: 1 });
  await change(id, { run_at: new Date().toISOString() });
  await waitForState(client, id, 'ready');
});

test('a task that has started doesn’t expire while its children run, nor afterwards', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  await client.query('select tock.put_queue($1, $2)', [queue, '{"max_wait_seconds": 1000}']);
  const own = { expires_in_seconds: 1000 };
  const ids = [
    (await spawnAndWait(queue, { queue: children, tasks: [{}] })).id,
    (await spawnAndWait(queue, { queue: children, tasks: [{}] }, own)).id,
  ];
  const late = () => Promise.all(ids.map((id) => expireTask(client, id)));
  await late();
  await completeAll(children);
  await promote(client);
  await late();
  const runs = await claim(client, queue, { limit: 5 });
  expect(runs.map((run) => run.id).sort()).toEqual(ids.sort());
});

test.each(['yield', 'keep'])(
  'with concurrency_retry %s a task that waits for its children stays the holder of its key',
  async (retry) => {
    const [queue, children] = [newQueue(), newQueue()];
    await client.query('select tock.put_queue($1, $2)', [queue, { concurrency_retry: retry }]);
    const keyed = { concurrency_key: 'g' };
    const { id: first } = await spawnAndWait(queue, { queue: children, tasks: [{}] }, keyed);
    const [second = ''] = await enqueue(client, queue, [keyed]);
    await promote(client);
    expect(await statesOf([first, second])).toEqual(['waiting', 'waiting']);
    await completeAll(children);
    await promote(client);
    expect(await statesOf([first, second])).toEqual(['ready', 'waiting']);
    // A failure after the wait counts as a failure, so the task gives up its admission with concurrency_retry yield.
    await fail(client, leaseOf(await claim(client, queue)), { retry_in_seconds: 1000 });
    await promote(client);
    expect(await stateOf(second)).toBe(retry === 'yield' ? 'ready' : 'waiting');
  },
);

test('a change that is uncommitted when the children end is not lost', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const { id } = await spawnAndWait(queue, { queue: children, tasks: [{}] });
  const other = await begin();
  await other.query('select tock.change(array[$1::bigint], $2)', [id, '{"payload": "new"}']);
  await completeAll(children);
  await other.query('commit');
  await waitForState(client, id, 'ready');
  expect(await payloadOf(queue)).toMatchObject({ payload: 'new', result: 'r' });
});

test('a child with a unique key may end before the completion that waits for it commits', async () => {
  const [queue, children] = [newQueue(), newQueue()];
  const [kid = ''] = await enqueue(client, children, [{ unique_key: 'k' }]);
  const child = leaseOf(await claim(client, children));
  const [id = ''] = await enqueue(client, queue, [{}]);
  const lease = leaseOf(await claim(client, queue));
  const other = await begin();
  const spawn = { queue: children, tasks: [{ unique_key: 'k' }], wait: true };
  await complete(other, lease, [{ id, spawn }]);
  await complete(client, child, [{ id: kid, result: 'k' }]);
  await other.query('commit');
  await waitForState(client, id, 'ready');
  expect((await payloadOf(queue)).children).toMatchObject([{ id: kid, result: 'k' }]);
});

test('children of a task that waits for its own children wait too', async () => {
  const [queue, children, later] = [newQueue(), newQueue(), newQueue()];
  const { id } = await spawnAndWait(queue, { queue: children, tasks: [{}] });
  const [after = ''] = await enqueue(client, later, [{ depends_on: [id], include_results: true }]);
  await makeRechecksDue();
  expect(await stateOf(after)).toBe('waiting');
  await completeAll(children);
  await completeAll(queue, 'last');
  await waitForState(client, after, 'ready');
  expect((await claim(client, later))[0]?.payload).toMatchObject({ parents: [{ result: 'last' }] });
});
