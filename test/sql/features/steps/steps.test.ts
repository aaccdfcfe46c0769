import { expect, test } from 'vitest';
import { cancel } from '../../kernel/change/changes.ts';
import { expectDropped, startNextSegment } from '../../kernel/segment/segments.ts';
import { begin, blocked, invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, complete, enqueue, expire, expireTask, fail, task, value } from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';
import { begun, claimedSteps, next, save, saveAll, signal, stepsOf, wake } from './steps.ts';

databasePerTest();
invariantsAfterEach();

test('a saved step keeps its first result, also in the next attempts', async () => {
  const first = await begun();
  expect(await save(first, { name: 'a', result: { n: 1 } })).toMatchObject({ state: 'done' });
  expect(await save(first, { name: 'a', result: { n: 2 } })).toMatchObject({ result: { n: 1 } });
  await fail(client, first.lease, { retry_in_seconds: 0 });
  const second = await next();
  expect(second).toMatchObject({ id: first.id, attempt: 2 });
  expect(await save(second, { name: 'a', result: { n: 3 } })).toMatchObject({ result: { n: 1 } });
  expect(await save(second, { name: 'b', result: null })).toMatchObject({
    state: 'done',
    result: null,
  });
  expect(await stepsOf(first.id)).toEqual({ a: ['done', { n: 1 }], b: ['done', null] });
});

test('a lease that has ended saves nothing', async () => {
  const reaped = await begun();
  await expire(client, reaped.lease);
  await client.query('select tock.reap()');
  expect(await save(reaped, { name: 'a', result: 1 })).toMatchObject({ state: 'lost' });
  const completed = await next();
  await complete(client, completed.lease);
  expect(await save(completed, { name: 'a', result: 1 })).toMatchObject({ state: 'lost' });
  expect(await stepsOf(reaped.id)).toEqual({});
});

test.each([
  ['the end of a sleep', { sleep_seconds: 3600 }],
  ['the timeout of a wait', { event: 'e', timeout_seconds: 3600 }],
  ['the next try of a step', { error: 1, retry_in_seconds: 3600 }],
])('the next wake-up is %s', async (_, what) => {
  const { due_at } = await save(await begun(), { name: 'a', ...what });
  expect(await value(client, 'select tock.tick()')).toEqual(due_at);
});

test('a sleep ends the run and counts no attempt; its steps come with the next claim', async () => {
  const run = await begun({ max_attempts: 1 });
  await save(run, { name: 'a', result: 'kept' });
  const asleep = await save(run, { name: 'nap', sleep_seconds: 3600 });
  expect(asleep.state).toBe('waiting');
  expect(await save(run, { name: 'nap', sleep_seconds: 3600 })).toMatchObject({
    state: 'waiting',
    due_at: asleep.due_at,
  });
  expect(await complete(client, run.lease)).toBeUndefined();
  expect(await task(client, run.id)).toMatchObject({ state: 'waiting', run_at: asleep.due_at });
  await wake();
  const awake = await next();
  expect(awake).toMatchObject({ id: run.id, attempt: 1 });
  expect(await claimedSteps(awake)).toMatchObject([
    { name: 'a', state: 'done', result: 'kept' },
    { name: 'nap', state: 'done' },
  ]);
  expect(await save(awake, { name: 'nap', sleep_seconds: 3600 })).toMatchObject({ state: 'done' });
  expect(await complete(client, awake.lease)).toEqual({ completed: 1, refused: [] });
});

test('a step with its own retries waits for each, and its last failure is kept', async () => {
  let run = await begun();
  for (let failures = 1; failures <= 2; failures++) {
    const step = { name: 'pay', error: { message: 'no' }, retry_in_seconds: 60 };
    expect(await save(run, step)).toMatchObject({ state: 'retrying' });
    await wake();
    run = await next();
    expect(run.attempt).toBe(1);
    expect(await claimedSteps(run)).toMatchObject([{ name: 'pay', state: 'retrying', failures }]);
  }
  const failed = { state: 'failed', error: { message: 'never' } };
  expect(await save(run, { name: 'pay', error: { message: 'never' } })).toMatchObject(failed);
  expect(await save(run, { name: 'pay', result: 1 })).toMatchObject(failed);
});

test('a run hears of its cancel request with its next step', async () => {
  const run = await begun();
  await cancel(client, [run.id]);
  expect(await save(run, { name: 'a', result: 1 })).toMatchObject({ cancel_requested: true });
  expect(await save(run, { name: 'nap', sleep_seconds: 60 })).toMatchObject({ state: 'waiting' });
  expect(await task(client, run.id)).toMatchObject({ state: 'cancelled' });
});

test('a sleep keeps the concurrency key if it says so', async () => {
  await putQueue(client, 'q', { concurrency_limit: 1 });
  for (const keep of [true, false]) {
    const key = { concurrency_key: `k${keep}` };
    await enqueue(client, 'q', [key, key]);
    await client.query('select tock.promote()');
    const run = await next();
    await save(run, { name: 'nap', sleep_seconds: 60, keep_concurrency_key: keep });
    const others = await claim(client, 'q');
    expect(others).toHaveLength(keep ? 0 : 1);
    for (const other of others) await complete(client, other.lease);
    await wake();
    const awake = await next();
    expect(awake.id).toBe(run.id);
    await complete(client, awake.lease);
    for (const other of await claim(client, 'q')) await complete(client, other.lease);
  }
});

test('a unique key stays with a task that sleeps', async () => {
  const unique = { unique_key: 'u', on_conflict: 'replace', unique_policy: 'unfinished' };
  const run = await begun(unique);
  await save(run, { name: 'nap', sleep_seconds: 60 });
  expect(await enqueue(client, 'q', [{ ...unique, payload: 2 }])).toEqual([run.id]);
  expect(await task(client, run.id)).toMatchObject({ state: 'waiting', payload: null });
});

test('the steps of a stage of a pipeline do not count in the next', async () => {
  const run = await begun({ pipeline: ['q', 'then'] });
  await save(run, { name: 'a', result: 1 });
  await save(run, { name: 'nap', sleep_seconds: 60 });
  await wake();
  const awake = await next();
  await complete(client, awake.lease, [{ id: run.id, result: 'out' }]);
  const then = await next('then');
  expect(await claimedSteps(then)).toEqual([]);
  expect(await save(then, { name: 'a', result: 2 })).toMatchObject({ result: 2 });
  expect(await stepsOf(run.id)).toEqual({ a: ['done', 2] });
});

test('steps of a task that goes on outlive the segment in which they were saved', async () => {
  const run = await begun();
  await save(run, { name: 'a', result: 1 });
  await save(run, { name: 'w', event: 'e' });
  await startNextSegment(client);
  await expectDropped(client, 1);
  expect(await stepsOf(run.id)).toEqual({ a: ['done', 1], w: ['waiting', null] });
  expect(await signal('e', 2)).toEqual({ accepted: true, woken: 1 });
  const awake = await next();
  expect(await claimedSteps(awake)).toMatchObject([{ result: 1 }, { result: 2 }]);
  await complete(client, awake.lease);
  await startNextSegment(client);
  await expectDropped(client, 2);
  expect(await value(client, 'select count(*)::integer from tock.steps')).toBe(0);
});

test('tasks of one lease save steps at once, and each ends by itself', async () => {
  const ids = await enqueue(client, 'q', [{}, {}]);
  const [one, two] = await claim(client, 'q', { limit: 2 });
  if (!one || !two) throw new Error('two tasks');
  const holder = await begin();
  await save(one, { name: 'nap', sleep_seconds: 60 }, holder);
  const late = await blocked(await db.connect(), (on) => save(two, { name: 'a', result: 1 }, on));
  await holder.query('commit');
  expect((await late()).state).toBe('done');
  expect(await complete(client, two.lease)).toEqual({ completed: 1, refused: [] });
  expect(await task(client, ids[1] as string)).toMatchObject({ state: 'done' });
});

test('a task that sleeps no longer expires', async () => {
  await putQueue(client, 'q', { max_wait_seconds: 60 });
  const run = await begun();
  await save(run, { name: 'nap', sleep_seconds: 3600 });
  await client.query("update tock.waiting set created_at = created_at - interval '2 minutes'");
  await expireTask(client, run.id);
  await wake();
  expect((await next()).id).toBe(run.id);
});

test('a step that is tried again keeps the concurrency key as its queue says', async () => {
  for (const concurrency_retry of ['keep', 'yield']) {
    const queue = `retry-${concurrency_retry}`;
    await putQueue(client, queue, { concurrency_limit: 1, concurrency_retry });
    await enqueue(client, queue, [{ concurrency_key: 'k' }, { concurrency_key: 'k' }]);
    await client.query('select tock.promote()');
    await save(await next(queue), { name: 'a', error: 'no', retry_in_seconds: 60 });
    expect(await claim(client, queue)).toHaveLength(concurrency_retry === 'keep' ? 0 : 1);
  }
});

test('an erasure removes the steps of a task, and its rerun begins without any', async () => {
  const run = await begun();
  await save(run, { name: 'a', result: 'secret' });
  await complete(client, run.lease);
  await client.query('select tock.rerun($1)', [[run.id]]);
  const again = await next();
  expect(await claimedSteps(again)).toEqual([]);
  expect(await save(again, { name: 'a', result: 'new' })).toMatchObject({ result: 'new' });
  await client.query('select tock.erase($1)', [run.id]);
  expect(await stepsOf(run.id)).toEqual({});
  expect(await stepsOf(again.id)).toEqual({ a: ['done', 'new'] });
});

test('two items of one name in one call have one outcome', async () => {
  const run = await begun();
  const saved = await saveAll(run.lease, [
    { id: run.id, name: 'a', error: 'no', retry_in_seconds: 60 },
    { id: run.id, name: 'a', result: 1 },
  ]);
  expect(saved.map(({ state }) => state)).toEqual(['retrying', 'retrying']);
});

test.each([
  [{ name: 'a' }, 'steps[0]'],
  [{ name: '', result: 1 }, 'steps[0].name'],
  [{ result: 1 }, 'steps[0].name'],
  [{ name: 'a', result: 1, error: 1 }, 'steps[0]'],
  [{ name: 'a', sleep_seconds: -1 }, 'steps[0].sleep_seconds'],
  [{ name: 'a', sleep_until: 'tomorrow' }, 'steps[0].sleep_until'],
  [{ name: 'a', event: 5 }, 'steps[0].event'],
  [{ name: 'a', event: 'e', timeout_seconds: 'soon' }, 'steps[0].timeout_seconds'],
  [{ name: 'a', result: 1, retry_in_seconds: 1 }, 'steps[0].retry_in_seconds'],
  [{ name: 'a', sleep_seconds: 1, keep_concurrency_key: 1 }, 'steps[0].keep_concurrency_key'],
  [{ name: 'a', result: 1, more: 1 }, 'steps[0]'],
  [{ name: 'a', result: 'x'.repeat(262_144 + 64) }, 'steps[0].result'],
  [{ id: 'x', name: 'a', result: 1 }, 'steps[0].id'],
])('%.60j is refused', async (step, detail) => {
  const run = await begun();
  await expect(save(run, step)).rejects.toMatchObject({ code: 'TK422', detail });
  await complete(client, run.lease);
});
