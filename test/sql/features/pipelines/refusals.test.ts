import { beforeEach, expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, refusal, value } from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';
import {
  cancelTask,
  changeTask,
  claimNext,
  completeRun,
  enqueueThroughStages,
  slowRetries,
  taskById,
} from './pipelines.ts';

databasePerTest();

beforeEach(slowRetries);

test('a stage that is none of the task is refused, and the whole call changes nothing', async () => {
  const refused = (at: number) => ({ code: 'TK422', detail: `results[${at}].stage` });
  const other = { pipeline: null, expires_in_seconds: 60 };
  const stages: [stage: unknown, more?: object][] = [['mail'], [7], [['parse']]];
  for (const [stage, more] of [...stages, ['parse', other], [null, other]] as typeof stages) {
    const good = await enqueueThroughStages();
    const bad = await enqueueThroughStages(more);
    const lease = leaseOf(await claim(client, 'fetch', { limit: 2 }));
    const items = [{ id: good }, { id: bad, stage }];
    expect(await refusal(complete(client, lease, items))).toMatchObject(refused(1));
    expect(await taskById(good)).toMatchObject({ state: 'running', queue: 'fetch' });
  }
  const plain = await enqueueThroughStages({ pipeline: null });
  expect(await refusal(completeRun(await claimNext('fetch'), { stage: 'parse' }))).toMatchObject(
    refused(0),
  );
  expect(await taskById(plain)).toMatchObject({ state: 'running', options: null });
});

test("a result too large for the next queue is refused; the last stage's result is not checked", async () => {
  await putQueue(client, 'parse', { max_payload_bytes: 1024 });
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  const large = 'x'.repeat(2000);
  const refused = { code: 'TK422', detail: 'results[0].result' };
  expect(await refusal(completeRun(run, { result: large }))).toMatchObject(refused);
  expect(await taskById(id)).toMatchObject({ state: 'running' });
  expect(await completeRun(run, { result: large, stage: null })).toMatchObject({ completed: 1 });
});

test("a payload that is passed on, changed or not, is refused where the next queue's limit is too small", async () => {
  await putQueue(client, 'parse', { max_payload_bytes: 1024 });
  const large = 'x'.repeat(2000);
  const small = await enqueueThroughStages();
  const id = await enqueueThroughStages({ payload: large });
  const changed = await enqueueThroughStages();
  const runs = await claim(client, 'fetch', { limit: 3 });
  await changeTask(changed, { payload: large });
  for (const bad of [id, changed]) {
    const refused = await refusal(complete(client, leaseOf(runs), [{ id: small }, { id: bad }]));
    expect(refused).toMatchObject({ code: 'TK422', detail: 'results[1].result' });
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
  await cancelTask(id);
  expect(await completeRun(run)).toMatchObject({ completed: 1 });
  expect(await taskById(id)).toMatchObject({ state: 'cancelled' });
});

test.each([
  ['not a list', 'fetch', 'pipeline'],
  ['of one stage', ['fetch'], 'pipeline'],
  ['of 21 stages', Array.from({ length: 21 }, (_, n) => `q${n}`), 'pipeline'],
  ['with a name that is none', ['fetch', 'a b'], 'pipeline[1]'],
  ['with a number', ['fetch', 1], 'pipeline[1]'],
  ['with a stage twice', ['fetch', 'parse', 'fetch'], 'pipeline[2]'],
  ['of other queues', ['parse', 'index'], 'pipeline'],
])('a pipeline that is %s is refused', async (_, pipeline, field) => {
  for (const more of [{}, { unique_key: 'k' }]) {
    const refused = await refusal(enqueue(client, 'fetch', [{}, { pipeline, ...more }]));
    expect(refused).toMatchObject({ code: 'TK422', detail: `tasks[1].${field}` });
  }
  expect(await value(client, 'select count(*)::integer from tock.runs')).toBe(0);
});

test('a pipeline is refused with on_conflict rerun, whose concurrency key belongs to one queue', async () => {
  const rerun = enqueueThroughStages({ unique_key: 'k', on_conflict: 'rerun' });
  expect(await refusal(rerun)).toMatchObject({ code: 'TK422', detail: 'tasks[0].pipeline' });
});
