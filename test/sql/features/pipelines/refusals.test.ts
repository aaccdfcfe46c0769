import { beforeEach, expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, refusal, value } from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';
import {
  claimNext,
  completeRun,
  enqueueThroughStages,
  slowRetries,
  taskById,
} from './pipelines.ts';

databasePerTest();

beforeEach(slowRetries);

for (const [what, item, pipeline] of [
  ['no stage of the pipeline', { stage: 'mail' }, true],
  ['no name', { stage: 7 }, true],
  ['a list', { stage: ['parse'] }, true],
  ['a stage of a task without a pipeline', { stage: 'parse' }, false],
  ['an end of a task without a pipeline', { stage: null }, false],
] as const) {
  test(`a completion with a stage that is ${what} is refused, and changes nothing`, async () => {
    const good = await enqueueThroughStages();
    const bad = pipeline
      ? await enqueueThroughStages()
      : ((await enqueue(client, 'fetch', [{ expires_in_seconds: 60 }]))[0] as string);
    const runs = await claim(client, 'fetch', { limit: 2 });
    const items = [{ id: good }, { id: bad, ...item }];
    expect(await refusal(complete(client, leaseOf(runs), items))).toMatchObject({
      code: 'TK422',
      detail: 'results[1].stage',
    });
    expect(await taskById(good)).toMatchObject({ state: 'running', queue: 'fetch' });
  });
}

test('a stage of a plain task is refused', async () => {
  const [id] = await enqueue(client, 'fetch', [{}]);
  const run = await claimNext('fetch');
  expect(await refusal(completeRun(run, { stage: 'parse' }))).toMatchObject({
    code: 'TK422',
    detail: 'results[0].stage',
  });
  expect(await taskById(id as string)).toMatchObject({ state: 'running' });
});

test("a result too large for the next queue is refused; the last stage's result is not checked", async () => {
  await putQueue(client, 'parse', { max_payload_bytes: 1024 });
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  const large = 'x'.repeat(2000);
  expect(await refusal(completeRun(run, { result: large }))).toMatchObject({
    code: 'TK422',
    detail: 'results[0].result',
  });
  expect(await taskById(id)).toMatchObject({ state: 'running' });
  expect(await completeRun(run, { result: large, stage: null })).toMatchObject({ completed: 1 });
});

test("a payload that is passed on, changed or not, is refused where the next queue's limit is too small", async () => {
  await putQueue(client, 'parse', { max_payload_bytes: 1024 });
  const large = 'x'.repeat(2000);
  const small = await enqueueThroughStages();
  const [id, changed] = [
    await enqueueThroughStages({ payload: large }),
    await enqueueThroughStages(),
  ];
  const runs = await claim(client, 'fetch', { limit: 3 });
  await client.query('select * from tock.change(array[$1::bigint], $2)', [
    changed,
    { payload: large },
  ]);
  for (const bad of [id, changed]) {
    const items = [{ id: small }, { id: bad }];
    expect(await refusal(complete(client, leaseOf(runs), items))).toMatchObject({
      code: 'TK422',
      detail: 'results[1].result',
    });
    expect(await taskById(small)).toMatchObject({ state: 'running', queue: 'fetch' });
  }
  expect(await refusal(complete(client, leaseOf(runs)))).toMatchObject({
    code: 'TK422',
    detail: 'results',
    message: expect.stringContaining(`task ${id}`),
  });
  const good = [{ id: small }, { id, result: 'less' }, { id: changed, stage: 'index' }];
  expect(await complete(client, leaseOf(runs), good)).toMatchObject({ completed: 3 });
});

test('a cancelled task may be too large for the next queue, as it is not sent there', async () => {
  await putQueue(client, 'parse', { max_payload_bytes: 1024 });
  const id = await enqueueThroughStages({ payload: 'x'.repeat(2000) });
  const run = await claimNext('fetch');
  await client.query('select * from tock.cancel(array[$1::bigint])', [id]);
  expect(await completeRun(run)).toMatchObject({ completed: 1 });
  expect(await taskById(id)).toMatchObject({ state: 'cancelled' });
});

for (const [what, pipeline, field] of [
  ['not a list', 'fetch', 'pipeline'],
  ['of one stage', ['fetch'], 'pipeline'],
  ['of 21 stages', Array.from({ length: 21 }, (_, n) => `q${n}`), 'pipeline'],
  ['with a name that is none', ['fetch', 'a b'], 'pipeline[1]'],
  ['with a number', ['fetch', 1], 'pipeline[1]'],
  ['with a stage twice', ['fetch', 'parse', 'fetch'], 'pipeline[2]'],
  ['of other queues', ['parse', 'index'], 'pipeline'],
] as const) {
  test(`a pipeline that is ${what} is refused`, async () => {
    const enqueueWith = (more = {}) => enqueue(client, 'fetch', [{}, { pipeline, ...more }]);
    const refused = { code: 'TK422', detail: `tasks[1].${field}` };
    expect(await refusal(enqueueWith())).toMatchObject(refused);
    expect(await refusal(enqueueWith({ unique_key: 'k' }))).toMatchObject(refused);
    expect(await value(client, 'select count(*)::integer from tock.runs')).toBe(0);
  });
}

test('a pipeline is refused with on_conflict rerun, whose concurrency key belongs to one queue', async () => {
  expect(
    await refusal(enqueueThroughStages({ unique_key: 'k', on_conflict: 'rerun' })),
  ).toMatchObject({
    code: 'TK422',
    detail: 'tasks[0].pipeline',
  });
});
