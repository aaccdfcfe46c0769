import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  refusal,
  task,
  value,
} from '../../verbs.ts';
import { leased } from '../sessions.ts';
import { claimNext, queueWithTasks } from './retry.ts';

databasePerFile();
afterAll(() => expectInvariants(client));

test('a failed task waits for its backoff, and then runs again as its next attempt', async () => {
  const options = { payload: 'kept', tenant: 'acme', priority: 3 };
  const queue = await queueWithTasks({ backoff_jitter: 0 }, [options]);
  const first = await claimNext(queue);
  const failed = await fail(client, first.lease, { error: { name: 'Boom' } });
  expect(failed).toEqual({ failed: 1, dead: 0, refused: [] });
  expect(await task(client, first.id)).toMatchObject({ state: 'waiting', attempt: 2, queue });
  expect(await claim(client, queue)).toEqual([]);
  const second = await claimNext(queue);
  expect(second).toMatchObject({ id: first.id, attempt: 2, ...options });
  expect(second.run_id).not.toBe(first.run_id);
  await complete(client, second.lease);
  expect(await task(client, first.id)).toMatchObject({ state: 'done', attempt: 2 });
});

test('backoff grows by its factor to its cap', async () => {
  const policy = { backoff_base_seconds: 10, backoff_factor: 3, backoff_cap_seconds: 200 };
  const seconds = await value<number[]>(
    client,
    `select array_agg(tock.backoff_seconds(jsonb_populate_record(q, $1), n) order by n)
     from tock.queues q, unnest('{1,2,3,4,1000}'::integer[]) n where q.name = '*'`,
    [JSON.stringify({ ...policy, backoff_jitter: 0, max_attempts: 1000 })],
  );
  expect(seconds).toEqual([10, 30, 90, 200, 200]);
});

test('a fatal failure is the end of a task', async () => {
  const queue = await queueWithTasks({}, [{}]);
  const run = await claimNext(queue);
  const error = { name: 'Bad', message: 'no use' };
  const failed = await fail(client, run.lease, [{ id: run.id, fatal: true, error }]);
  expect(failed).toEqual({ failed: 1, dead: 1, refused: [] });
  expect(await task(client, run.id)).toMatchObject({ state: 'dead', error, attempt: 1 });
  await makeDue(client, queue);
  await promote(client);
  expect(await claim(client, queue)).toEqual([]);
});

test('a task that fails max_attempts times is dead, and shows all errors in order', async () => {
  const queue = await queueWithTasks({ max_attempts: 3 }, [{}]);
  let id = '';
  for (const n of [1, 2, 3]) {
    const run = await claimNext(queue);
    id = run.id;
    const failures = [{ id: run.run_id, error: { name: `E${n}` } }];
    const dead = n === 3 ? 1 : 0;
    expect(await fail(client, run.lease, failures)).toMatchObject({ failed: 1, dead });
  }
  const row = await task(client, id);
  expect(row).toMatchObject({ state: 'dead', attempt: 3, max_attempts: 3, error: { name: 'E3' } });
  expect(row?.runs.map((run) => [run.attempt, run.state, run.error])).toEqual(
    [1, 2, 3].map((n) => [n, 'failed', { name: `E${n}` }]),
  );
  await makeDue(client, queue);
  await promote(client);
  expect(await claim(client, queue)).toEqual([]);
});

test("a task's own max_attempts overrides its queue's", async () => {
  const queue = await queueWithTasks({ max_attempts: 5 }, [{ max_attempts: 1 }]);
  const run = await claimNext(queue);
  expect(await fail(client, run.lease)).toMatchObject({ failed: 1, dead: 1 });
});

test('a done task cannot fail, a failed task cannot be completed, and tasks of other leases are refused', async () => {
  const queue = await queueWithTasks({}, numberedTasks(3));
  const runs = await claim(client, queue, { limit: 2 });
  const [done, failed] = runs.map((run) => run.id);
  const [foreign] = (await claim(client, queue)).map((run) => run.id);
  const lease = leaseOf(runs);
  await complete(client, lease, [{ id: done }]);
  const failures = [done, failed, foreign].map((id) => ({ id, error: 'e' }));
  const refused = [done, foreign];
  expect(await fail(client, lease, failures)).toEqual({ failed: 1, dead: 0, refused });
  expect(await complete(client, lease, [{ id: failed }])).toBeUndefined();
  expect(await fail(client, lease, [{ id: done }])).toBeUndefined();
  expect((await task(client, done as string))?.state).toBe('done');
  expect((await task(client, foreign as string))?.state).toBe('running');
  expect(await complete(client, lease)).toMatchObject({ completed: 1 });
});

test.each([
  ['a delay below 0', [{ id: '1', retry_in_seconds: -1 }], 'failures[0].retry_in_seconds'],
  ['a delay that is a text', { retry_in_seconds: 'soon' }, 'retry_in_seconds'],
  ['both', [{ id: '1', fatal: true, retry_in_seconds: 1 }], 'failures[0].retry_in_seconds'],
  ['fatal that is a text', [{ id: '1' }, { id: '2', fatal: 'yes' }], 'failures[1].fatal'],
  ['a failure without id', [{ error: 1 }], 'failures[0].id'],
  ['an unknown key', [{ id: '1', why: 1 }], 'failures[0]'],
])('a failure is refused with the name of the field for %s', async (_, failures, field) => {
  const run = await claimNext(await queueWithTasks({}, [{}]));
  const refused = await refusal(fail(client, run.lease, failures));
  expect(refused).toMatchObject({ code: 'TK422', detail: field });
  expect((await task(client, run.id))?.state).toBe('running');
});

test('one error for many runs may be up to 64 MiB in all', async () => {
  const { lease } = await leased(300, 'many');
  const refused = await refusal(fail(client, lease, { error: 'x'.repeat(240_000) }));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'error' });
  expect(refused.message).toContain('64 MiB');
  expect(await fail(client, lease, { error: 'x'.repeat(200_000) })).toMatchObject({ failed: 300 });
});
