import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
import { claim, expire, fail, makeDue, promote, reap, release, value } from '../../verbs.ts';
import { startNextSegment } from '../segment/segments.ts';
import { endTimeLimit } from '../sessions.ts';
import {
  claimNext,
  expectWait,
  failing,
  noJitter,
  queueWithTasks,
  taskBackoff,
  taskById,
} from './retry.ts';

databasePerFile();
afterAll(() => expectInvariants(client));

test.each([
  ['in the segment in use', async () => {}],
  ["over segments' edges", () => startNextSegment(client)],
])('a task keeps its own backoff through losses, releases and changes, %s', async (_, pass) => {
  const queue = await queueWithTasks(noJitter, [{ backoff: taskBackoff, delay_seconds: 50 }]);
  const ofQueue = 'select position << 20 from tock.waiting where queue = $1';
  const id = await value<string>(client, ofQueue, [queue]);
  let seconds = 0;
  /** Fails the task once more. The wait shows that the task kept its own backoff and its count of failures. */
  const check = async (what = '') => {
    const run = await claimNext(queue);
    expect(run.id, what).toBe(id);
    await pass();
    seconds += 100;
    await expectWait(id, seconds, () => fail(client, run.lease, { error: what }));
    await pass();
  };
  await check('promoted');
  const claimed = await claimNext(queue);
  await pass();
  await release(client, claimed.lease);
  await pass();
  await check('given back');
  const lost = await claimNext(queue);
  await pass();
  await expire(client, lost.lease);
  expect(await reap(client)).toBe(1);
  await pass();
  await check('lost');
  await makeDue(client, queue);
  await promote(client);
  await pass();
  await client.query('select tock.reprioritize(array[$1::bigint], 2)', [id]);
  await check('changed while it was ready');
  await makeDue(client, queue);
  await promote(client);
  await pass();
  // 9 s is less than the next backoff. A retry comes after both, so the check sees the backoff.
  await client.query(`select tock.reschedule(array[$1::bigint], now() + interval '9 s')`, [id]);
  await makeDue(client, queue);
  await check('rescheduled while it was ready');
  await client.query(`select tock.change(array[$1::bigint], '{"payload": "new"}')`, [id]);
  await check('changed while it waited');
  const row = await taskById(id);
  expect(row).toMatchObject({ state: 'waiting', payload: 'new', lost: 1, attempt: 8 });
  expect(row.options).toEqual({ backoff: taskBackoff });
  expect(row.runs.map(({ state }) => state).join(', ')).toBe(
    'failed, superseded, failed, lost, failed, superseded, failed, superseded, failed, failed',
  );
});

test('a run that exceeds its time limit has failed: it counts as an attempt and waits for its backoff', async () => {
  const queue = await queueWithTasks(noJitter, [{ backoff: taskBackoff, timeout_seconds: 5 }]);
  await failing(queue, 100);
  const run = await claimNext(queue);
  await endTimeLimit(run.lease);
  await expectWait(run.id, 200, () => reap(client));
  expect(await taskById(run.id)).toMatchObject({ lost: 0, attempt: 3 });
});

test.each([
  ['that has a backoff of its own', { backoff: taskBackoff }],
  ['that has none', {}],
])(
  'a task %s and kills its workers is dead after max_lost, with an error that says so',
  async (_, options) => {
    const queue = await queueWithTasks({ max_lost: 3, max_attempts: 1 }, [options]);
    let id = '';
    for (const n of [1, 2, 3]) {
      const run = await claimNext(queue);
      id = run.id;
      expect(run.attempt).toBe(n);
      await expire(client, run.lease);
      expect(await reap(client)).toBe(1);
      expect((await taskById(id)).state).toBe(n === 3 ? 'dead' : 'ready');
    }
    const dead = await taskById(id);
    expect(dead).toMatchObject({ lost: 3, attempt: 3, error: { name: 'LeaseExpired' } });
    expect((dead.error as { message: string }).message).toMatch(
      /^the lease expired at \S+Z; lost 3 times, and max_lost is 3$/,
    );
    expect(dead.runs.map(({ state }) => state)).toEqual(['lost', 'lost', 'lost']);
    await makeDue(client, queue);
    await promote(client);
    expect(await claim(client, queue)).toEqual([]);
    await client.query('select tock.erase($1)', [id]);
    expect(await taskById(id)).toMatchObject({ state: 'dead', lost: 3, error: null });
  },
);
