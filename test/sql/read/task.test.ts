import { expect, test } from 'vitest';
import { client, databasePerFile } from '../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  promote,
  release,
  type TaskRow,
  task,
} from '../verbs.ts';

databasePerFile();

const look = async (id: string | undefined) => (await task(client, id as string)) as TaskRow;

test('a task is ready, then running, then done', async () => {
  const [id] = await enqueue(client, 'life', [{ payload: [1], tenant: 't', priority: 7 }]);
  expect(await look(id)).toMatchObject({
    id,
    queue: 'life',
    state: 'ready',
    priority: 7,
    tenant: 't',
    attempt: 1,
    max_attempts: 10,
    lost: 0,
    payload: [1],
    run_at: null,
    ended_at: null,
    result: null,
    error: null,
    runs: [{ id, attempt: 1, state: 'ready', worker: null, started_at: null, ended_at: null }],
  });
  const [run] = await claim(client, 'life', { worker: 'me' });
  const running = await look(id);
  expect(running).toMatchObject({ state: 'running', runs: [{ state: 'running', worker: 'me' }] });
  expect(new Date(running.runs[0]?.leased_until as string)).toEqual(run?.leased_until);
  await complete(client, run?.lease as string, [{ id, result: { ok: true } }]);
  const done = await look(id);
  expect(done).toMatchObject({ state: 'done', result: { ok: true } });
  expect(done.ended_at?.getTime()).toBeGreaterThanOrEqual(done.created_at.getTime());
});

test("a task is found by each of its runs' ids, and always shows its own", async () => {
  const [id] = await enqueue(client, 'chain', [{ payload: 'p' }]);
  const ids = [id as string];
  const steps = [
    (lease: string) => fail(client, lease, { retry_in_seconds: 0, error: 1 }),
    (lease: string) => release(client, lease),
    (lease: string) => fail(client, lease, { retry_in_seconds: 100, error: 2 }),
  ];
  for (const step of steps) {
    const [run] = await claim(client, 'chain');
    expect(run?.id).toBe(id);
    await step(run?.lease as string);
    if (run?.run_id !== id) ids.push(run?.run_id as string);
    for (const anyId of ids) expect(await look(anyId)).toMatchObject({ id });
  }
  // The task waits for its next attempt. Each id of its runs still shows the same task.
  for (const anyId of ids)
    expect(await look(anyId)).toMatchObject({ id, state: 'waiting', attempt: 3 });
  await makeDue(client, 'chain');
  await promote(client);
  const [last] = await claim(client, 'chain');
  expect(await look(id)).toMatchObject({ state: 'running' });
  await complete(client, last?.lease as string, [{ id, result: 'last' }]);
  ids.push(last?.run_id as string);
  for (const anyId of ids) {
    const row = await look(anyId);
    expect(row).toMatchObject({ id, state: 'done', attempt: 3, payload: 'p', run_at: null });
    expect([row.result, row.error]).toEqual(['last', null]);
    expect(row.runs.map((run) => run.id)).toEqual(ids);
    expect(row.runs.map((run) => run.state)).toEqual(['failed', 'superseded', 'failed', 'done']);
  }
});

test('a retried task is completed by its own id or by that of its run', async () => {
  const [firstId, secondId] = await enqueue(client, 'names', [{}, {}]);
  const first = await claim(client, 'names', { limit: 2 });
  await fail(client, leaseOf(first), { retry_in_seconds: 0 });
  const runs = await claim(client, 'names', { limit: 2 });
  const lease = leaseOf(runs);
  expect(runs.every((run) => run.id !== run.run_id)).toBe(true);
  const by = [
    { id: firstId, result: 'task' },
    { id: runs[1]?.run_id, result: 'run' },
  ];
  expect(await complete(client, lease, by)).toEqual({ completed: 2, refused: [] });
  expect([(await look(firstId)).result, (await look(secondId)).result]).toEqual(['task', 'run']);
});

const no = '0 1 1048575 -7 1152921504606846976 9223372036854775807 -9223372036854775808'.split(' ');

test.each(no)('there is no task %s', async (id) => {
  expect(await task(client, id)).toBeUndefined();
});
