import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, numberedTasks, release, rows } from '../../verbs.ts';
import { advanceLimiter, ageLimiter, claimAsWorkerDoes, putQueue } from './limits.ts';

databasePerTest();

test('a rate allows a burst, then as many starts as time allows, and answers when to retry', async () => {
  await putQueue(client, 'q', { rate_limit: 2, rate_seconds: 60, rate_burst: 5 });
  await enqueue(client, 'q', numberedTasks(30));
  expect(await claimAsWorkerDoes(client, 'q', 3)).toMatchObject({ got: 3, state: 'found' });
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 2, state: 'found' });
  const none = await claimAsWorkerDoes(client, 'q', 9);
  expect(none).toMatchObject({ got: 0, state: 'limited' });
  expect(none.after).toBeGreaterThan(25);
  expect(none.after).toBeLessThanOrEqual(30);
  await advanceLimiter(client, 'q', 31);
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
  await advanceLimiter(client, 'q', 95);
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 3 });
  await advanceLimiter(client, 'q', 100_000);
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 5 });
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 0 });
  await putQueue(client, 'q', { rate_limit: 1, rate_seconds: 86_400, rate_burst: null });
  await advanceLimiter(client, 'q', 100_000);
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
  const long = await claimAsWorkerDoes(client, 'q');
  expect(long.after).toBeGreaterThan(86_000);
});

test('ended tasks return no starts, and no start counts twice', async () => {
  await putQueue(client, 'q', { rate_limit: 3, rate_seconds: 3600 });
  await enqueue(client, 'q', numberedTasks(9));
  const options = { limit: 2, request_id: 'r' };
  const first = await claim(client, 'q', options);
  expect(await claim(client, 'q', options)).toEqual(first);
  expect(await claim(client, 'q', options)).toEqual(first);
  await release(client, leaseOf(first));
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 0, state: 'limited' });
});

test('both limits hold together, whichever is tighter', async () => {
  await putQueue(client, 'q', { max_running: 2, rate_limit: 3, rate_seconds: 3600 });
  await enqueue(client, 'q', numberedTasks(9));
  const two = await claim(client, 'q', { limit: 9 });
  expect(two).toHaveLength(2);
  expect(await claimAsWorkerDoes(client, 'q')).toMatchObject({ state: 'limited', after: 1 });
  await complete(client, leaseOf(two));
  expect(await claimAsWorkerDoes(client, 'q', 9)).toMatchObject({ got: 1 });
  const none = await claimAsWorkerDoes(client, 'q');
  expect(none.state).toBe('limited');
  expect(none.after).toBeGreaterThan(1000);
});

test('a claim at a limit commits synchronously, also in its own transaction', async () => {
  const setting = async (queue: string) => {
    await enqueue(client, queue, numberedTasks(2));
    const [row] = await rows<{ setting: string }>(
      client,
      `select c.id, current_setting('synchronous_commit') as setting
       from tock.claim(p_queue => $1, p_own_transaction => true) c`,
      [queue],
    );
    return row?.setting;
  };
  await putQueue(client, 'running', { max_running: 2 });
  await putQueue(client, 'rate', { rate_limit: 2 });
  expect([await setting('plain'), await setting('running'), await setting('rate')]).toEqual([
    'off',
    'on',
    'on',
  ]);
});

test('limits are listed and reset', async () => {
  await putQueue(client, 'a', { max_running: 5 });
  await putQueue(client, 'b', { rate_limit: 10, rate_seconds: 3600 });
  await putQueue(client, 'c', {});
  await enqueue(client, 'a', numberedTasks(3));
  await enqueue(client, 'b', numberedTasks(20));
  await claim(client, 'a', { limit: 3 });
  expect(await claimAsWorkerDoes(client, 'b', 20)).toMatchObject({ got: 10 });
  const limits = (queue: string | null = null) =>
    rows(client, 'select * from tock.limits($1)', [queue]);
  const a = { queue: 'a', max_running: 5, running: 3, rate_limit: null, level: null };
  const b = { queue: 'b', max_running: null, running: null, rate_limit: 10, rate_burst: 10 };
  expect(await limits()).toMatchObject([a, b]);
  expect((await limits('b'))[0]?.level).toBeLessThan(1);
  expect(await limits('c')).toEqual([]);
  const reset = await rows(client, "select * from tock.reset_limits('b')");
  expect(reset).toMatchObject([{ queue: 'b', level: 10 }]);
  expect(await claimAsWorkerDoes(client, 'b', 20)).toMatchObject({ got: 10 });
  await ageLimiter(client, 'a');
  await rows(client, "select * from tock.reset_limits('a')");
  expect(await claimAsWorkerDoes(client, 'a', 20)).toMatchObject({ got: 0, state: 'empty' });
  expect(await limits('a')).toMatchObject([a]);
  expect(await rows(client, "select * from tock.reset_limits('nobody')")).toEqual([]);
});
