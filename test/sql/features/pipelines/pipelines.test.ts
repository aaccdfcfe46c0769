import type pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { startNextSegment } from '../../kernel/segment/segments.ts';
import { overlapping } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  reap,
  refusal,
  value,
} from '../../verbs.ts';
import {
  claimNext,
  completeRun,
  enqueueThroughStages,
  slowRetries,
  stages,
  taskById,
} from './pipelines.ts';

databasePerTest();

beforeEach(slowRetries);

test('a task passes through its stages, each result the next payload, under one id', async () => {
  const id = await enqueueThroughStages({ tenant: 'a', priority: 3 });
  for (const [n, queue] of stages.entries()) {
    const run = await claimNext(queue);
    const payload = n === 0 ? 'begun' : { of: n - 1 };
    expect(run).toMatchObject({ id, attempt: 1, payload, tenant: 'a', priority: 3 });
    expect(await completeRun(run, { result: { of: n } })).toEqual({ completed: 1, refused: [] });
    expect(await taskById(id)).toMatchObject({ queue: stages[Math.min(n + 1, 2)] });
  }
  const row = await taskById(id);
  expect(row).toMatchObject({ id, queue: 'index', state: 'done', result: { of: 2 } });
  expect(row.options).toEqual({ pipeline: stages });
  const done = { state: 'done', attempt: 1 };
  expect(row.runs).toMatchObject(
    stages.map((queue, n) => ({ ...done, queue, result: { of: n }, worker: `w of ${queue}` })),
  );
  for (const { id: run } of row.runs) expect(await taskById(run)).toEqual(row);
  await expectInvariants(client);
});

test('a payload without a result is passed on unchanged, and a result of null counts as none', async () => {
  const id = await enqueueThroughStages();
  await completeRun(await claimNext('fetch'));
  await completeRun(await claimNext('parse'), { result: null });
  expect(await claimNext('index')).toMatchObject({ id, payload: 'begun' });
});

test('a whole lease is completed without results: tasks with a next stage move on, the others are done', async () => {
  const [a, b] = (await enqueue(client, 'fetch', [
    { payload: 1, pipeline: stages },
    { payload: 2, expires_in_seconds: 3600 },
    { payload: 3, pipeline: ['parse', 'fetch'] },
  ])) as [string, string];
  const runs = await claim(client, 'fetch', { limit: 10 });
  expect(runs).toHaveLength(3);
  for (let again = 0; again < 2; again++) {
    expect(await complete(client, leaseOf(runs))).toEqual({ completed: 3, refused: [] });
  }
  expect(await taskById(a)).toMatchObject({ state: 'ready', queue: 'parse' });
  expect(await taskById(b)).toMatchObject({ state: 'done', queue: 'fetch' });
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
  const open = 'select count(*)::integer from tock.leases where closed_at is null';
  expect(await value(client, open)).toBe(1);
  await expectInvariants(client);
});

test('a whole lease of an earlier segment moves its tasks on, too', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  await startNextSegment(client);
  expect(await complete(client, run.lease)).toEqual({ completed: 1, refused: [] });
  expect(await complete(client, run.lease)).toEqual({ completed: 1, refused: [] });
  const parse = await claimNext('parse');
  await startNextSegment(client);
  await completeRun(parse, { result: 'parsed' });
  await startNextSegment(client);
  const index = await claimNext('index');
  expect(index).toMatchObject({ id, payload: 'parsed' });
  await complete(client, index.lease);
  expect((await taskById(id)).runs.map(({ queue }) => queue)).toEqual(stages);
  expect(await taskById(id)).toMatchObject({ state: 'done' });
  await expectInvariants(client);
});

test('the rest of a lease with ended runs is completed, and the answer counts all completed runs', async () => {
  const ids = await enqueue(client, 'fetch', numberedTasks(4, 0, { pipeline: stages }));
  const runs = await claim(client, 'fetch', { limit: 4 });
  const lease = leaseOf(runs);
  await complete(client, lease, [{ id: ids[0], stage: 'index', result: 'skipped' }]);
  await fail(client, lease, [{ id: ids[1], fatal: true }]);
  for (let again = 0; again < 2; again++) {
    expect(await complete(client, lease)).toEqual({ completed: 3, refused: [] });
  }
  for (const [n, queue] of ['index', 'fetch', 'parse', 'parse'].entries()) {
    expect(await taskById(ids[n] as string)).toMatchObject({ queue });
  }
});

test('a completion of a reaped lease moves no task to the next stage', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  await expire(client, run.lease);
  expect(await reap(client)).toBe(1);
  expect(await complete(client, run.lease)).toBeUndefined();
  expect(await completeRun(run, { result: 1 })).toBeUndefined();
  expect(await taskById(id)).toMatchObject({ state: 'ready', queue: 'fetch', attempt: 2, lost: 1 });
  await completeRun(await claimNext('fetch'));
  // Each stage counts its own attempts and lost runs.
  expect(await taskById(id)).toMatchObject({ queue: 'parse', attempt: 1, lost: 0 });
});

test('the lease of an earlier stage cannot end the run of the next one', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  await completeRun(run, { result: 1 });
  const parse = await claimNext('parse');
  expect(await completeRun(run, { result: 2 })).toBeUndefined();
  expect(await fail(client, run.lease, [{ id }])).toBeUndefined();
  expect(await taskById(id)).toMatchObject({ state: 'running', queue: 'parse' });
  expect(await completeRun(parse, { result: 3 })).toEqual({ completed: 1, refused: [] });
});

test('a repeated completion answers the same, and moves the task once', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  const outcome = { result: 'x', stage: 'index' };
  for (let again = 0; again < 3; again++) {
    expect(await completeRun(run, outcome)).toEqual({ completed: 1, refused: [] });
  }
  expect(await completeRun(run, { result: 'x' }), 'the next stage').toBeUndefined();
  expect(await completeRun(run, { result: 'x', stage: null }), 'none').toBeUndefined();
  expect(await completeRun(run, { ...outcome, result: 'y' })).toBeUndefined();
  const runs = await claim(client, 'index', { limit: 10 });
  expect(runs.map((claimed) => claimed.id)).toEqual([id]);
  expect(await claim(client, 'parse', { limit: 10 })).toEqual([]);
  const answer = { completed: 1, refused: [] };
  expect(await completeRun(run, outcome), 'as the next stage runs').toEqual(answer);
});

test('two concurrent completions of one run move its task once', async () => {
  await enqueueThroughStages();
  const run = await claimNext('fetch');
  const call = (on: pg.Client) => completeRun(run, { result: 1 }, on);
  const [, second] = await overlapping(call, call);
  expect(second).toEqual({ completed: 1, refused: [] });
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
});

test('a completion with an old snapshot gets 40001 if another session has completed the run', async () => {
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  const other = await db.connect();
  await client.query('begin isolation level repeatable read; select count(*) from tock.results');
  await complete(other, run.lease, [{ id, result: 1 }]);
  expect(await refusal(completeRun(run, { result: 1 }))).toMatchObject({ code: '40001' });
  await client.query('rollback');
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
});

test('a result may name any stage as the next one, or end the task', async () => {
  const id = await enqueueThroughStages();
  await completeRun(await claimNext('fetch'), { stage: 'index', result: 1 });
  await completeRun(await claimNext('index'), { stage: 'fetch', result: 2 });
  await completeRun(await claimNext('fetch'), { stage: 'fetch', result: 3 });
  await completeRun(await claimNext('fetch'), { result: 4 });
  await completeRun(await claimNext('parse'), { stage: null, result: 5 });
  const row = await taskById(id);
  expect(row).toMatchObject({ state: 'done', queue: 'parse', result: 5 });
  expect(row.runs.map(({ queue }) => queue)).toEqual(['fetch', 'index', 'fetch', 'fetch', 'parse']);
});

test('a task begins in the stage where it is enqueued', async () => {
  const id = await enqueueThroughStages({}, 'parse');
  await completeRun(await claimNext('parse'), { result: 'parsed' });
  expect(await claimNext('index')).toMatchObject({ id, payload: 'parsed' });
});

test('five thousand tasks of one lease move to the next stage in one call', async () => {
  await enqueue(client, 'fetch', numberedTasks(5000, 0, { pipeline: stages }));
  const runs = await claim(client, 'fetch', { limit: 5000 });
  expect(await complete(client, leaseOf(runs))).toEqual({ completed: 5000, refused: [] });
  expect(await claim(client, 'parse', { limit: 5000 })).toHaveLength(5000);
});
