import { expect, test } from 'vitest';
import { change } from '../../kernel/change/changes.ts';
import { invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, value } from '../../verbs.ts';
import { begun, claimedSteps, next, save, signal, sweep, wake } from './steps.ts';

databasePerTest();
invariantsAfterEach();

const invoke = (options: object = {}) => ({
  name: 'child',
  invoke: { queue: 'child', payload: 1, ...options },
});
const wait = { name: 'call', event: 'call', timeout_seconds: 3600 };

/** Moves a task to a time as `tock change ID --delay` does. */
const delay = (id: string, delay_seconds: number) => change(client, [id], { delay_seconds });

async function endChild(): Promise<void> {
  const child = await next('child');
  await complete(client, child.lease, [{ id: child.id, result: 7 }]);
  await sweep();
}

async function expectContinued(id: string): Promise<void> {
  const awake = await next();
  expect(awake).toMatchObject({ id, attempt: 1 });
  expect(await claimedSteps(awake)).toMatchObject([{ state: 'done', result: 7 }]);
}

test('a child that is due later is waited for, and its change to now counts', async () => {
  const run = await begun();
  expect(await save(run, invoke({ delay_seconds: 86_400 }))).toMatchObject({ state: 'waiting' });
  await sweep();
  expect(await claim(client, 'child')).toEqual([]);
  const child = await value<string>(client, 'select child_id from tock.task_steps(p_id => $1)', [
    run.id,
  ]);
  await delay(child, 0);
  expect(await claim(client, 'q')).toEqual([]);
  await endChild();
  await expectContinued(run.id);
});

test('a change to now leaves a task that waits for a child as it is', async () => {
  const run = await begun();
  await save(run, invoke());
  await delay(run.id, 0);
  await sweep();
  expect(await claim(client, 'q')).toEqual([]);
  await endChild();
  await expectContinued(run.id);
});

test('a task that is moved to later while it waits for a child continues then', async () => {
  const run = await begun();
  await save(run, invoke());
  await delay(run.id, 3600);
  await endChild();
  expect(await claim(client, 'q')).toEqual([]);
  await wake();
  await expectContinued(run.id);
});

test('a task that waits for an event and is moved to now waits on until the time that it had first', async () => {
  const run = await begun();
  const { due_at } = await save(run, wait);
  await delay(run.id, 0);
  expect(await save(await next(), wait)).toMatchObject({ state: 'waiting', due_at });
  await delay(run.id, 0);
  const awake = await next();
  expect(await signal('call', 7)).toEqual({ accepted: true, woken: 0 });
  expect(await save(awake, wait)).toMatchObject({ state: 'done', result: 7 });
});

test('a signal wakes a task before the time to which it was moved', async () => {
  const run = await begun();
  await save(run, wait);
  await delay(run.id, 7200);
  expect(await signal('call', 7)).toEqual({ accepted: true, woken: 1 });
  await expectContinued(run.id);
});

test('a step that is to be tried again is tried when its task is moved to now', async () => {
  const run = await begun();
  await save(run, { name: 'pay', error: 'no', retry_in_seconds: 3600 });
  await delay(run.id, 0);
  const awake = await next();
  expect(await save(awake, { name: 'pay', result: 7 })).toMatchObject({ state: 'done' });
  await complete(client, awake.lease);
});
