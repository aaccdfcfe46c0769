import { beforeEach, expect, test } from 'vitest';
import { expectWhole } from '../../invariants.ts';
import { pass } from '../../kernel/segment/segments.ts';
import { client, databaseEach, db } from '../../test_database.ts';
import {
  blocked,
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  pidOf,
  reap,
  refusal,
  release,
  value,
} from '../../verbs.ts';
import { add, done, look, next, slowRetries, stages } from './pipelines.ts';

databaseEach();

beforeEach(slowRetries);

test('a task goes through its stages, each result the next payload, under one id', async () => {
  const id = await add({ tenant: 'a', priority: 3 });
  for (const [n, queue] of stages.entries()) {
    const run = await next(queue);
    expect(run).toMatchObject({
      id,
      attempt: 1,
      payload: n === 0 ? 'begun' : { of: n - 1 },
      tenant: 'a',
      priority: 3,
    });
    expect(await done(run, { result: { of: n } })).toEqual({ completed: 1, refused: [] });
    expect(await look(id)).toMatchObject({ queue: stages[Math.min(n + 1, 2)] });
  }
  const found = await look(id);
  expect(found).toMatchObject({
    id,
    queue: 'index',
    state: 'done',
    result: { of: 2 },
    options: { pipeline: stages },
  });
  expect(Object.keys(found.options ?? {})).toEqual(['pipeline']);
  expect(found.runs).toMatchObject(
    stages.map((queue, n) => ({
      queue,
      state: 'done',
      result: { of: n },
      worker: `w of ${queue}`,
      attempt: 1,
    })),
  );
  for (const { id: run } of found.runs) expect(await look(run)).toEqual(found);
  await expectWhole(client);
});

test('without a result the payload goes on as it is, and a result of null is none', async () => {
  const id = await add();
  await done(await next('fetch'));
  await done(await next('parse'), { result: null });
  expect(await next('index')).toMatchObject({ id, payload: 'begun' });
});

test('a whole lease is completed without results: what has a pipeline goes on, the others end', async () => {
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
  expect(await look(a)).toMatchObject({ state: 'ready', queue: 'parse' });
  expect(await look(b)).toMatchObject({ state: 'done', queue: 'fetch' });
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
  expect(
    await value(client, 'select count(*)::integer from tock.leases where closed_at is null'),
  ).toBe(1);
  await expectWhole(client);
});

test('a whole lease of an earlier epoch moves its tasks on, too', async () => {
  const id = await add();
  const run = await next('fetch');
  await pass(client);
  expect(await complete(client, run.lease)).toEqual({ completed: 1, refused: [] });
  expect(await complete(client, run.lease)).toEqual({ completed: 1, refused: [] });
  const parse = await next('parse');
  await pass(client);
  await done(parse, { result: 'parsed' });
  await pass(client);
  const index = await next('index');
  expect(index).toMatchObject({ id, payload: 'parsed' });
  await complete(client, index.lease);
  expect((await look(id)).runs.map(({ queue }) => queue)).toEqual(stages);
  expect(await look(id)).toMatchObject({ state: 'done' });
  await expectWhole(client);
});

test('of a lease a part of which has ended the rest is completed, and all count', async () => {
  const ids = await enqueue(
    client,
    'fetch',
    Array.from({ length: 4 }, (_, n) => ({ payload: n, pipeline: stages })),
  );
  const runs = await claim(client, 'fetch', { limit: 4 });
  const lease = leaseOf(runs);
  await complete(client, lease, [{ id: ids[0], stage: 'index', result: 'skipped' }]);
  await fail(client, lease, [{ id: ids[1], fatal: true }]);
  for (let again = 0; again < 2; again++) {
    expect(await complete(client, lease)).toEqual({ completed: 3, refused: [] });
  }
  for (const [n, queue] of ['index', 'fetch', 'parse', 'parse'].entries()) {
    expect(await look(ids[n] as string)).toMatchObject({ queue });
  }
});

test('a lease that the reaper took back moves nothing', async () => {
  const id = await add();
  const run = await next('fetch');
  await expire(client, run.lease);
  expect(await reap(client)).toBe(1);
  expect(await complete(client, run.lease)).toBeUndefined();
  expect(await done(run, { result: 1 })).toBeUndefined();
  expect(await look(id)).toMatchObject({ state: 'ready', queue: 'fetch', attempt: 2, lost: 1 });
  await done(await next('fetch'));
  // Attempts and losses are counted by stage.
  expect(await look(id)).toMatchObject({ queue: 'parse', attempt: 1, lost: 0 });
});

test('the lease of a stage before can do nothing to the next', async () => {
  const id = await add();
  const run = await next('fetch');
  await done(run, { result: 1 });
  const parse = await next('parse');
  expect(await done(run, { result: 2 })).toBeUndefined();
  expect(await fail(client, run.lease, [{ id }])).toBeUndefined();
  expect(await look(id)).toMatchObject({ state: 'running', queue: 'parse' });
  expect(await done(parse, { result: 3 })).toEqual({ completed: 1, refused: [] });
});

test('a completion that is made again answers the same, and moves the task once', async () => {
  const id = await add();
  const run = await next('fetch');
  const said = { result: 'x', stage: 'index' };
  for (let again = 0; again < 3; again++) {
    expect(await done(run, said)).toEqual({ completed: 1, refused: [] });
  }
  expect(await done(run, { result: 'x' }), 'the next stage').toBeUndefined();
  expect(await done(run, { result: 'x', stage: null }), 'none').toBeUndefined();
  expect(await done(run, { ...said, result: 'y' })).toBeUndefined();
  const runs = await claim(client, 'index', { limit: 10 });
  expect(runs.map((one) => one.id)).toEqual([id]);
  expect(await claim(client, 'parse', { limit: 10 })).toEqual([]);
  expect(await done(run, said), 'as the next stage runs').toEqual({ completed: 1, refused: [] });
});

test('two who complete one run at the same time move it once', async () => {
  const id = await add();
  const run = await next('fetch');
  const other = await db.connect();
  const pid = await pidOf(other);
  await client.query('begin');
  await done(run, { result: 1 });
  const second = complete(other, run.lease, [{ id, result: 1 }]);
  await blocked(client, pid);
  await client.query('commit');
  expect(await second).toEqual({ completed: 1, refused: [] });
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
});

test('what is rolled back has moved nothing, and can be done again', async () => {
  const id = await add();
  const run = await next('fetch');
  await client.query('begin');
  await done(run, { result: 1 });
  expect(await look(id)).toMatchObject({ queue: 'parse', state: 'ready' });
  await client.query('rollback');
  expect(await look(id)).toMatchObject({ queue: 'fetch', state: 'running' });
  await done(run, { result: 2 });
  expect(await next('parse')).toMatchObject({ payload: 2 });
});

test('under an old snapshot a run that another has completed meanwhile is a 40001', async () => {
  const id = await add();
  const run = await next('fetch');
  const other = await db.connect();
  await client.query('begin isolation level repeatable read; select count(*) from tock.results');
  await complete(other, run.lease, [{ id, result: 1 }]);
  expect(await refusal(done(run, { result: 1 }))).toMatchObject({ code: '40001' });
  await client.query('rollback');
  expect(await claim(client, 'parse', { limit: 10 })).toHaveLength(1);
});

test('a result may name the stage that comes next, before or after, or end the task', async () => {
  const id = await add();
  await done(await next('fetch'), { stage: 'index', result: 1 });
  await done(await next('index'), { stage: 'fetch', result: 2 });
  await done(await next('fetch'), { stage: 'fetch', result: 3 });
  await done(await next('fetch'), { result: 4 });
  await done(await next('parse'), { stage: null, result: 5 });
  const found = await look(id);
  expect(found).toMatchObject({ state: 'done', queue: 'parse', result: 5 });
  expect(found.runs.map(({ queue }) => queue)).toEqual([
    'fetch',
    'index',
    'fetch',
    'fetch',
    'parse',
  ]);
});

test('a task begins in the stage where it is enqueued', async () => {
  const id = await add({}, 'parse');
  await done(await next('parse'), { result: 'parsed' });
  expect(await next('index')).toMatchObject({ id, payload: 'parsed' });
});

test('a given-back run is ready in its stage', async () => {
  const id = await add();
  await done(await next('fetch'), { result: 1 });
  await release(client, (await next('parse')).lease);
  expect(await next('parse')).toMatchObject({ id, payload: 1, attempt: 1 });
});

test('five thousand tasks of one lease go on together', async () => {
  const tasks = Array.from({ length: 5000 }, (_, payload) => ({ payload, pipeline: stages }));
  await enqueue(client, 'fetch', tasks);
  const runs = await claim(client, 'fetch', { limit: 5000 });
  expect(await complete(client, leaseOf(runs))).toEqual({ completed: 5000, refused: [] });
  expect(await claim(client, 'parse', { limit: 5000 })).toHaveLength(5000);
});
