import { expect, test } from 'vitest';
import { invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { complete, fail, rows, value } from '../../verbs.ts';
import { begun, claimedSteps, next, save, stepsOf, wake } from './steps.ts';

databasePerTest();
invariantsAfterEach();

const fork = (id: string, from_step: string | null, ids = [id]) =>
  value<string>(client, 'select rerun_id from tock.rerun(p_ids => $1, p_from_step => $2)', [
    ids,
    from_step,
  ]);

test('a fork has the steps that were saved before the step it starts from', async () => {
  const run = await begun({ payload: 'p' });
  await save(run, { name: 'a', result: 1, version: 3 });
  await save(run, { name: 'nap', sleep_seconds: 60 });
  await wake();
  const awake = await next();
  for (const name of ['b', 'c']) await save(awake, { name, result: name });
  await complete(client, awake.lease);
  const id = await fork(run.id, 'b');
  const forked = await next();
  expect(forked).toMatchObject({ id, payload: 'p', attempt: 1 });
  expect(await claimedSteps(forked)).toMatchObject([
    { name: 'a', state: 'done', result: 1, version: 3 },
    { name: 'nap', state: 'done' },
  ]);
  await save(forked, { name: 'b', result: 'new' });
  await complete(client, forked.lease);
  expect(await stepsOf(run.id)).toMatchObject({ b: ['done', 'b'] });
  expect(await rows(client, 'select kind from tock.reruns')).toEqual([{ kind: 'fork' }]);
  await fork(id, null);
  expect(await claimedSteps(await next())).toEqual([]);
});

test('a fork needs a step of the task, and one task', async () => {
  const run = await begun();
  await save(run, { name: 'a', result: 1 });
  await complete(client, run.lease);
  const refused = { code: 'TK422', detail: 'from_step' };
  await expect(fork(run.id, 'other')).rejects.toMatchObject(refused);
  await expect(fork(run.id, 'a', [run.id, '1'])).rejects.toMatchObject(refused);
  expect(await value(client, 'select count(*)::integer from tock.reruns')).toBe(0);
});

test('a step for which a later handler did not ask is unused', async () => {
  const run = await begun();
  for (const name of ['a', 'b']) await save(run, { name, result: name });
  await fail(client, run.lease, { retry_in_seconds: 0 });
  const again = await next();
  await save(again, { name: 'a', unused: true });
  const steps = await rows(client, 'select name, result, unused from tock.task_steps($1)', [
    run.id,
  ]);
  expect(steps).toEqual([
    { name: 'a', result: 'a', unused: true },
    { name: 'b', result: 'b', unused: false },
  ]);
  expect(await save(again, { name: 'a', result: 2 })).toMatchObject({ result: 'a' });
  expect(await save(again, { name: 'none', unused: true })).toMatchObject({ state: 'lost' });
});

test('a wait that is marked as unused does not end the run', async () => {
  const run = await begun();
  await save(run, { name: 'w', event: 'e' });
  await wake();
  const awake = await next();
  await save(awake, { name: 'w', unused: true });
  expect(await complete(client, awake.lease)).toEqual({ completed: 1, refused: [] });
});

test('steps that are too large for a claim are left to the worker to read', async () => {
  const run = await begun();
  const names = ['a', 'b', 'c'];
  for (const name of names) await save(run, { name, result: 'x'.repeat(200_000) });
  await save(run, { name: 'nap', sleep_seconds: 3600 });
  await wake();
  const awake = await next();
  const { [awake.run_id]: headers } = await value<Record<string, object>>(
    client,
    'select tock.lease_headers(p_lease => $1)',
    [awake.lease],
  );
  expect(headers).toMatchObject({ steps: null });
  await complete(client, awake.lease);
  await fork(run.id, 'nap');
  const forked = await next();
  expect(await claimedSteps(forked)).toEqual([]);
  const read = [forked.lease, forked.id];
  expect(
    await value(client, 'select tock.lease_steps(p_lease => $1, p_id => $2)', read),
  ).toMatchObject(names.map((name) => ({ name, state: 'done' })));
});
