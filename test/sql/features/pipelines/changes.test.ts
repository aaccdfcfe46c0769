import type pg from 'pg';
import { expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { expectInvariants } from '../../invariants.ts';
import { overlapping } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, complete, enqueue, fail, leaseOf, type Run, release, value } from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';
import {
  cancelTask,
  changeTask,
  claimNext,
  completeRun,
  enqueueThroughStages,
  retryRun,
  stages,
  taskById,
} from './pipelines.ts';

databasePerTest();

const back = { stage: 'fetch', result: 'back' };

for (const [how, end] of [
  ['by its result', (run: Run) => completeRun(run, { result: 1 })],
  ['with its lease', (run: Run) => complete(client, run.lease)],
] as const) {
  test(`a task that is cancelled while a stage runs goes no further, completed ${how}`, async () => {
    const id = await enqueueThroughStages();
    const run = await claimNext('fetch');
    await cancelTask(id);
    for (let again = 0; again < 2; again++) {
      expect(await end(run)).toEqual({ completed: 1, refused: [] });
    }
    expect(await taskById(id)).toMatchObject({ state: 'cancelled', queue: 'fetch' });
    expect(await claim(client, 'parse')).toEqual([]);
    await expectInvariants(client);
  });
}

test.each([
  ['given back', (run: Run) => release(client, run.lease)],
  ['failed', (run: Run) => fail(client, run.lease)],
])(
  'a run that was not completed before its task was cancelled, but %s, is refused like a plain one',
  async (_, end) => {
    const [plain = ''] = await enqueue(client, 'plain', [{}]);
    for (const [queue, id] of [
      ['plain', plain],
      ['fetch', await enqueueThroughStages()],
    ] as const) {
      const run = await claimNext(queue);
      await cancelTask(id);
      await end(run);
      expect(await completeRun(run), queue).toBeUndefined();
      expect(await complete(client, run.lease), queue).toBeUndefined();
    }
  },
);

test('a completed run whose task was cancelled does not fail as well', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  await cancelTask(id);
  await completeRun(run);
  expect(await fail(client, run.lease, [{ id }])).toBeUndefined();
  const { error, runs } = await taskById(id);
  expect([error, runs[0]?.error]).toEqual([null, null]);
});

test('a time, priority or payload that is changed while a stage without a result runs is for the next stage', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  await changeTask(id, { run_at: '2030-01-01T00:00:00Z', priority: 1, payload: 'changed' });
  await completeRun(run);
  expect(await taskById(id)).toMatchObject({ state: 'waiting', queue: 'parse' });
  await changeTask(id, { delay_seconds: 0 });
  expect(await claimNext('parse')).toMatchObject({ id, payload: 'changed', priority: 1 });
});

test('a payload that is changed while a stage runs is for its next attempt, not for another stage', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  await changeTask(id, { payload: 'changed' });
  await retryRun(run);
  const retry = await claimNext('fetch');
  expect(retry).toMatchObject({ payload: 'changed', attempt: 2 });
  await completeRun(retry, { result: 'fetched' });
  await retryRun(await claimNext('parse'));
  const again = await claimNext('parse');
  expect(again).toMatchObject({ payload: 'fetched', attempt: 2 });
  await changeTask(id, { payload: 'mended' });
  for (const attempt of [3, 4]) {
    await retryRun(attempt === 3 ? again : await claimNext('parse'));
    expect((await taskById(id)).payload).toBe('mended');
  }
  expect(await claimNext('parse')).toMatchObject({ payload: 'mended', attempt: 4 });
});

test('a payload that is changed in a stage is not used in a later visit to it', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  await changeTask(id, { payload: 'changed' });
  await completeRun(run, back);
  await retryRun(await claimNext('fetch'));
  expect(await claimNext('fetch')).toMatchObject({ payload: 'back' });
});

test('a key is held through all stages, and is free after the last', async () => {
  const key = { unique_key: 'k' };
  const id = await enqueueThroughStages(key);
  for (const queue of stages) {
    expect(await enqueueThroughStages(key)).toBe(id);
    const run = await claimNext(queue);
    expect(await enqueueThroughStages(key)).toBe(id);
    await completeRun(run);
  }
  expect(await enqueueThroughStages(key)).not.toBe(id);
});

test('a key that counts until the start is free from the second stage on', async () => {
  for (const on_conflict of ['replace', 'merge', 'debounce']) {
    const key = { unique_key: on_conflict, on_conflict, payload: [1] };
    const id = await enqueueThroughStages(key);
    await completeRun(await claimNext('fetch'), { result: 'fetched' });
    expect(await enqueueThroughStages({ ...key, payload: [2] }), on_conflict).not.toBe(id);
    expect(await claimNext('parse'), on_conflict).toMatchObject({ id, payload: 'fetched' });
    await client.query("select tock.purge_queue('fetch')");
  }
});

for (const on_conflict of ['replace', 'merge', 'debounce']) {
  test(`a task that was sent back to its first stage stays beside a newer task of its key: ${on_conflict}`, async () => {
    for (const waits of [false, true]) {
      const key = { unique_key: `k ${waits}`, on_conflict };
      const id = await enqueueThroughStages(key);
      await completeRun(await claimNext('fetch'));
      const parse = await claimNext('parse');
      if (waits) await changeTask(id, { run_at: '2030-01-01T00:00:00Z' });
      await completeRun(parse, back);
      expect(await enqueueThroughStages({ ...key, payload: 'newer' })).not.toBe(id);
      if (waits) await changeTask(id, { delay_seconds: 0 });
      const runs = await claim(client, 'fetch', { limit: 2 });
      expect(runs.find((run) => run.id === id)).toMatchObject({ payload: 'back' });
      expect(runs).toHaveLength(2);
    }
  });
}

test('a task that is in a later stage, or was sent back, does not get a newer task’s payload', async () => {
  await putQueue(client, 'fetch', { backoff_base_seconds: 0, backoff_jitter: 0 });
  const key = { unique_key: 'k', unique_policy: 'unfinished', on_conflict: 'replace' };
  const id = await enqueueThroughStages(key);
  await completeRun(await claimNext('fetch'), { result: 'fetched' });
  expect(await enqueueThroughStages({ ...key, payload: 'newer' })).toBe(id);
  const parse = await claimNext('parse');
  expect(parse).toMatchObject({ payload: 'fetched' });
  await completeRun(parse, back);
  expect(await enqueueThroughStages({ ...key, payload: 'newer' })).toBe(id);
  const run = await claimNext('fetch');
  expect(run).toMatchObject({ payload: 'back' });
  expect(await enqueueThroughStages({ ...key, payload: 'newer' })).toBe(id);
  await retryRun(run);
  expect(await claimNext('fetch')).toMatchObject({ payload: 'back' });
});

test('a cancel without waiting stops a stage that is completed meanwhile, or the next one', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  const other = await db.connect();
  await client.query('begin');
  await cancelTask(id);
  await completeRun(run, {}, other);
  await client.query('commit');
  const parse = await claimNext('parse');
  await completeRun(parse);
  expect(await taskById(id)).toMatchObject({ state: 'cancelled', queue: 'parse' });
});

test('a worker whose completion is open blocks no other worker of its queue', async () => {
  const [first, second] = [await enqueueThroughStages(), await enqueueThroughStages()];
  const [a] = await claim(client, 'fetch', { limit: 1 });
  const [b] = await claim(client, 'fetch', { limit: 1 });
  const other = await db.connect();
  await other.query(`set statement_timeout = ${conditionTimeout}`);
  await client.query('begin');
  await completeRun(a as Run);
  await completeRun(b as Run, {}, other);
  expect(await claim(other, 'parse', { limit: 10 })).toMatchObject([{ id: second }]);
  await client.query('rollback');
  expect(await taskById(first)).toMatchObject({ state: 'running', queue: 'fetch' });
});

test('a lease that two sessions complete whole concurrently advances each task once', async () => {
  const ids = [await enqueueThroughStages(), await enqueueThroughStages()];
  const lease = leaseOf(await claim(client, 'fetch', { limit: 2 }));
  const call = (on: pg.Client) => complete(on, lease);
  const [, second] = await overlapping(call, call);
  expect(second).toEqual({ completed: 2, refused: [] });
  const runs = await claim(client, 'parse', { limit: 10 });
  expect(runs.map((run) => run.id)).toEqual(ids);
  expect(await value(client, 'select count(*)::integer from tock.runs')).toBe(4);
});
