import { beforeEach, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  segmentNumbers,
  startNextSegment,
} from '../../kernel/segment/segments.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  reap,
  rows,
  value,
} from '../../verbs.ts';
import { listAll, redrive, rerun } from '../bulk_changes/bulk_changes.ts';
import { promoteAndClaim, putQueue } from '../concurrency/concurrency_keys.ts';
import {
  claimNext,
  completeRun,
  enqueueThroughStages,
  retryRun,
  slowRetries,
  stages,
  taskById,
} from './pipelines.ts';

databasePerTest();

beforeEach(slowRetries);

test('each stage has its policy: attempts, backoff, lost runs, time limit', async () => {
  await putQueue(client, 'fetch', { max_attempts: 2, backoff_base_seconds: 0 });
  await putQueue(client, 'parse', { max_attempts: 3, timeout_seconds: 77, max_lost: 1 });
  const id = await enqueueThroughStages();
  await fail(client, (await claimNext('fetch')).lease);
  const second = await claimNext('fetch');
  expect(second).toMatchObject({ attempt: 2, max_attempts: 2 });
  await completeRun(second);
  const parse = await claimNext('parse');
  expect(parse).toMatchObject({ attempt: 1, max_attempts: 3 });
  const limit =
    'select extract(epoch from timeout_at - claimed_at)::float8 from tock.leases where token = $1';
  expect(await value(client, limit, [parse.lease])).toBeCloseTo(77, 0);
  await retryRun(parse);
  await retryRun(await claimNext('parse'));
  const third = await claimNext('parse');
  expect(third).toMatchObject({ attempt: 3, payload: 'begun' });
  await expire(client, third.lease);
  await reap(client);
  expect(await taskById(id)).toMatchObject({ state: 'dead', queue: 'parse', lost: 1 });
});

test("a task's own attempts, time limit and expiry hold in every stage", async () => {
  await putQueue(client, 'parse', { max_attempts: 9, timeout_seconds: 77, max_wait_seconds: 5 });
  const expires_at = '2099-01-01T00:00:00+00:00';
  const id = await enqueueThroughStages({ max_attempts: 2, timeout_seconds: 11, expires_at });
  await completeRun(await claimNext('fetch'));
  const own = { pipeline: stages, timeout_seconds: 11, expires_at };
  expect((await taskById(id)).options).toEqual(own);
  expect(await claimNext('parse')).toMatchObject({ max_attempts: 2 });
});

test('each stage has its own limits of waiting and running time', async () => {
  await putQueue(client, 'fetch', { timeout_seconds: 11, max_wait_seconds: 5 });
  await putQueue(client, 'index', { max_wait_seconds: 500 });
  const id = await enqueueThroughStages();
  await completeRun(await claimNext('fetch'));
  expect((await taskById(id)).options).toEqual({ pipeline: stages });
  await completeRun(await claimNext('parse'));
  const { options } = await taskById(id);
  const wait = Date.parse(options?.expires_at as string) - Date.now();
  expect(wait).toBeGreaterThan(480_000);
  expect(wait).toBeLessThan(520_000);
});

test('a task that is dead in a stage is rerun from there', async () => {
  const id = await enqueueThroughStages();
  await completeRun(await claimNext('fetch'), { result: 'fetched' });
  await fail(client, (await claimNext('parse')).lease, { fatal: true });
  expect(await taskById(id)).toMatchObject({ state: 'dead', queue: 'parse', payload: 'fetched' });
  const [again] = await rerun(client, [id]);
  const first = { id: again?.rerun_id, payload: 'fetched', attempt: 1 };
  expect(await claimNext('parse')).toMatchObject(first);
  const [redriven] = (await redrive(client, 'parse', { again: true })).ids;
  const run = await claimNext('parse');
  expect(run).toMatchObject({ id: redriven, payload: 'fetched' });
  await completeRun(run, { result: 'parsed' });
  expect(await claimNext('index')).toMatchObject({ id: redriven, payload: 'parsed' });
});

test('a task redriven to another queue continues only if that is one of its stages', async () => {
  const id = await enqueueThroughStages();
  await fail(client, (await claimNext('fetch')).lease, { fatal: true });
  const redriven = async (to_queue: string) =>
    (await redrive(client, 'fetch', { to_queue, again: true })).ids;
  const [aside] = await redriven('aside');
  await complete(client, (await claimNext('aside')).lease);
  expect(await taskById(aside as string)).toMatchObject({ state: 'done', options: null });
  const [later] = await redriven('parse');
  await complete(client, (await claimNext('parse')).lease);
  expect(await taskById(later as string)).toMatchObject({ state: 'ready', queue: 'index' });
  expect(await taskById(id)).toMatchObject({ state: 'dead' });
});

test('a queue without keep_results passes its result on and does not store it', async () => {
  await putQueue(client, 'fetch', { keep_results: false });
  const id = await enqueueThroughStages();
  const run = await claimNext('fetch');
  for (let again = 0; again < 2; again++) {
    expect(await completeRun(run, { result: 'fetched' })).toEqual({ completed: 1, refused: [] });
  }
  expect(await claimNext('parse')).toMatchObject({ payload: 'fetched' });
  expect((await taskById(id)).runs[0]).toMatchObject({ result: null });
});

test('a large result of a stage is truncated in the list of runs', async () => {
  const id = await enqueueThroughStages();
  await completeRun(await claimNext('fetch'), { result: 'x'.repeat(5000) });
  expect((await taskById(id)).runs[0]).toMatchObject({ result: { shortened: true } });
});

test('a task waits at its concurrency key in each stage, by that queue’s settings', async () => {
  await putQueue(client, 'parse', { concurrency_limit: 2 });
  const tasks = numberedTasks(3, 0, { concurrency_key: 'user 7', pipeline: stages });
  const ids = await enqueue(client, 'fetch', tasks);
  const taken = async (queue: string) =>
    (await promoteAndClaim(client, queue)).map((run) => run.id);
  for (const id of ids) {
    const runs = await promoteAndClaim(client, 'fetch');
    expect(runs.map((run) => run.id)).toEqual([id]);
    await complete(client, leaseOf(runs));
  }
  expect(await taken('parse')).toEqual(ids.slice(0, 2));
  const waits = { state: 'waiting', queue: 'parse', result: null };
  expect(await taskById(ids[2] as string)).toMatchObject(waits);
  await expectInvariants(client);
});

test('the segment of the first stage may be dropped while the task is in a later one', async () => {
  const id = await enqueueThroughStages();
  await completeRun(await claimNext('fetch'), { result: 1 });
  await startNextSegment(client);
  await completeRun(await claimNext('parse'), { result: 2 });
  await startNextSegment(client);
  await closeSegments(client);
  await ageClosedSegments(client, '8 days');
  await dropExpiredSegments(client);
  expect((await segmentNumbers(client))[0]).toBe(2);
  expect(await taskById(id)).toMatchObject({ id, state: 'ready', queue: 'index', payload: 2 });
  await client.query('select * from tock.cancel(array[$1::bigint])', [id]);
  expect(await taskById(id)).toMatchObject({ id, state: 'cancelled' });
});

test('a task that advanced is listed in its queue, and each stage counts its own runs', async () => {
  const id = await enqueueThroughStages();
  await completeRun(await claimNext('fetch'));
  const listed = async (queue: string) =>
    (await listAll(client, { queue })).map((row) => [row.id, row.state]);
  expect([await listed('fetch'), await listed('parse')]).toEqual([[], [[id, 'ready']]]);
  await completeRun(await claimNext('parse'), { stage: null });
  expect([await listed('fetch'), await listed('parse')]).toEqual([[], [[id, 'done']]]);
  await client.query('select tock.collect_metrics()');
  for (const queue of ['fetch', 'parse']) {
    const counted =
      'select sum(done)::integer as done, sum(failed)::integer as failed from tock.series($1)';
    expect(await rows(client, counted, [queue])).toEqual([{ done: 1, failed: 0 }]);
  }
});
