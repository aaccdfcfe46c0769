import { expect, test } from 'vitest';
import { cancel } from '../../kernel/change/changes.ts';
import { expectDropped, startNextSegment } from '../../kernel/segment/segments.ts';
import { begin, invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, fail, type Run, rows, task, value } from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';
import { begun, claimedSteps, next, save, saveAll, signal, stepsOf, sweep, wake } from './steps.ts';

databasePerTest();
invariantsAfterEach();

const invoke = (name: string, options: object = {}) => ({
  name,
  invoke: { queue: 'child', payload: name, ...options },
});

async function endChild(result: unknown): Promise<Run> {
  const child = await next('child');
  await complete(client, child.lease, [{ id: child.id, result }]);
  return child;
}

test('a task waits for the child of a step, and gets its result with the next claim', async () => {
  const run = await begun({ max_attempts: 1 });
  expect(await save(run, invoke('a'))).toMatchObject({ state: 'waiting' });
  expect(await task(client, run.id)).toMatchObject({ state: 'waiting' });
  expect(await claim(client, 'q')).toEqual([]);
  const child = await endChild({ n: 1 });
  expect(child).toMatchObject({ payload: 'a', attempt: 1 });
  const again = await next();
  expect(again).toMatchObject({ id: run.id, attempt: 1 });
  const step = { name: 'a', kind: 'child', state: 'done', result: { n: 1 }, child_id: child.id };
  expect(await claimedSteps(again)).toMatchObject([step]);
  expect(await save(again, invoke('a'))).toMatchObject({ state: 'done', result: { n: 1 } });
  expect(await claim(client, 'child')).toEqual([]);
  const children = 'select id, state from tock.children(p_id => $1)';
  expect(await rows(client, children, [run.id])).toEqual([{ id: child.id, state: 'done' }]);
});

test('a repeated call invokes the child once', async () => {
  const run = await begun();
  const [first, again] = [await save(run, invoke('a')), await save(run, invoke('a'))];
  expect(again).toEqual(first);
  expect(await claim(client, 'child', { limit: 9 })).toHaveLength(1);
});

test('a task with several children continues when all have ended, also in vain', async () => {
  const run = await begun();
  await saveAll(
    run.lease,
    [invoke('a'), invoke('b', { max_attempts: 1 }), invoke('c')].map((step) => ({
      id: run.id,
      ...step,
    })),
  );
  const [a, b, c] = (await claim(client, 'child', { limit: 3 })) as [Run, Run, Run];
  await complete(client, a.lease, [{ id: a.id, result: 1 }]);
  await fail(client, b.lease, [{ id: b.id, error: { message: 'no' } }]);
  expect(await claim(client, 'q')).toEqual([]);
  await cancel(client, [c.id]);
  await client.query('select tock.release($1)', [c.lease]);
  await sweep();
  const steps = await claimedSteps(await next());
  const error = { name: 'ChildFailed', id: b.id, state: 'dead', error: { message: 'no' } };
  expect(steps).toMatchObject([
    { name: 'a', state: 'done', result: 1 },
    { name: 'b', state: 'failed', error },
    { name: 'c', state: 'failed', error: { state: 'cancelled' } },
  ]);
});

test('a child that has ended before its invoker waits for it again is found', async () => {
  const run = await begun();
  await saveAll(run.lease, [
    { id: run.id, ...invoke('a') },
    { id: run.id, name: 'nap', sleep_seconds: 60 },
  ]);
  await wake();
  const awake = await next();
  expect(await claimedSteps(awake)).toMatchObject([{ state: 'waiting' }, { state: 'done' }]);
  await endChild('in time');
  expect(await save(awake, invoke('a'))).toMatchObject({ state: 'done', result: 'in time' });
});

test('a task that also sleeps continues when the sleep is over, and waits for its child again', async () => {
  const run = await begun();
  const steps = [invoke('a'), { name: 'nap', sleep_seconds: 60 }];
  await saveAll(
    run.lease,
    steps.map((step) => ({ id: run.id, ...step })),
  );
  const due = await value<Date>(client, 'select due_at from tock.waiting where task_id = $1', [
    run.id,
  ]);
  expect(due.getTime()).toBeLessThan(Date.now() + 61_000);
  await wake();
  const awake = await next();
  expect(await save(awake, invoke('a'))).toMatchObject({ state: 'waiting' });
  await endChild(2);
  expect(await stepsOf(run.id)).toEqual({ a: ['done', 2], nap: ['done', null] });
  expect(await next()).toMatchObject({ id: run.id, attempt: 1 });
});

test('a signal wakes a task that waits for a child too', async () => {
  const run = await begun();
  const steps = [invoke('a'), { name: 'w', event: 'e' }];
  await saveAll(
    run.lease,
    steps.map((step) => ({ id: run.id, ...step })),
  );
  expect(await signal('e', 7)).toEqual({ accepted: true, woken: 1 });
  const awake = await next();
  expect(await claimedSteps(awake)).toMatchObject([{ state: 'waiting' }, { result: 7 }]);
  await endChild(1);
  await complete(client, awake.lease);
  expect(await value(client, 'select count(*)::integer from tock.dependency_waits')).toBe(0);
});

test('a child that ends in an open transaction wakes its invoker with the commit', async () => {
  const run = await begun();
  await save(run, invoke('a'));
  const child = await next('child');
  const holder = await begin();
  await complete(holder, child.lease, [{ id: child.id, result: 1 }]);
  await client.query('select tock.promote(p_sweep => true)');
  expect(await claim(client, 'q')).toEqual([]);
  await holder.query('commit');
  await sweep();
  expect((await next()).id).toBe(run.id);
});

test('a child whose segment is gone has its result with its invoker', async () => {
  const run = await begun();
  await save(run, invoke('a'));
  await endChild('kept');
  await startNextSegment(client);
  const again = await next();
  expect(await claimedSteps(again)).toMatchObject([{ state: 'done', result: 'kept' }]);
  await complete(client, again.lease);
  await startNextSegment(client);
  await expectDropped(client, 1);
});

test('an invoker keeps its payload, its own parents notwithstanding, and no longer expires', async () => {
  await putQueue(client, 'q', { max_wait_seconds: 60 });
  const parent = await begun({}, 'parent');
  await client.query('select tock.enqueue($1, $2)', [
    'q',
    JSON.stringify([{ payload: 1, depends_on: [parent.id], include_results: true }]),
  ]);
  await complete(client, parent.lease, [{ id: parent.id, result: 'p' }]);
  const run = await next();
  await save(run, invoke('a'));
  await endChild(1);
  const again = await next();
  expect(again.payload).toEqual(run.payload);
  expect(await task(client, run.id)).toMatchObject({ options: { include_results: true } });
  expect((await task(client, run.id))?.options).not.toHaveProperty('expires_at');
});

test('the steps of an invoker that goes on outlive their segment, and so does an early result', async () => {
  const run = await begun();
  await saveAll(
    run.lease,
    [invoke('quick'), invoke('slow'), { name: 'nap', sleep_seconds: 60 }].map((step) => ({
      id: run.id,
      version: 2,
      ...step,
    })),
  );
  await endChild('early');
  await sweep();
  expect(await stepsOf(run.id)).toMatchObject({
    quick: ['done', 'early'],
    slow: ['waiting', null],
  });
  await startNextSegment(client);
  const slow = await next('child');
  await client.query('select tock.fail($1)', [slow.lease]);
  await wake();
  const awake = await next();
  expect(await claimedSteps(awake)).toMatchObject([
    { name: 'quick', state: 'done', result: 'early', version: 2 },
    { name: 'slow', state: 'waiting', version: 2 },
    { name: 'nap', state: 'done' },
  ]);
});

test('a call that comes after its run has ended commits no effect', async () => {
  const run = await begun();
  await save(run, { name: 'a', error: 'no', retry_in_seconds: 60 });
  expect(await save(run, { name: 'a', result: 1 })).toMatchObject({ state: 'lost' });
  expect(await save(run, { name: 'a', error: 'no', retry_in_seconds: 60 })).toMatchObject({
    state: 'waiting',
  });
});

test('a cancelled invoker does not continue; its child does', async () => {
  const run = await begun();
  await save(run, invoke('a'));
  await cancel(client, [run.id]);
  expect(await task(client, run.id)).toMatchObject({ state: 'cancelled' });
  await endChild(1);
  await sweep();
  expect(await claim(client, 'q')).toEqual([]);
});

test.each([
  [{ invoke: 5 }, 'steps[0].invoke'],
  [{ invoke: { payload: 1 } }, 'steps[0].invoke'],
  [{ invoke: { queue: 'child', priority: 99 } }, 'steps[0].invoke.priority'],
  [{ invoke: { queue: 'child', more: 1 } }, 'steps[0].invoke.more'],
  [{ invoke: { queue: 'child', unique_key: 'u' } }, 'steps[0].invoke'],
  [{ invoke: { queue: 'child', depends_on: ['1'] } }, 'steps[0].invoke'],
  [{ invoke: { queue: '' } }, 'steps[0].invoke.queue'],
  [{ invoke: { queue: 'child' }, result: 1 }, 'steps[0]'],
  [{ result: 1, version: 0 }, 'steps[0].version'],
  [{ result: 1, version: 'x' }, 'steps[0].version'],
  [{ unused: false }, 'steps[0].unused'],
])('%j is refused', async (step, detail) => {
  const run = await begun();
  await expect(save(run, { name: 'a', ...step })).rejects.toMatchObject({ code: 'TK422', detail });
  await complete(client, run.lease);
});
