import { expect, test } from 'vitest';
import { save } from '../sql/features/steps/steps.ts';
import { claim, complete, type Run } from '../sql/verbs.ts';
import { transports } from './transports.ts';

const { cli, connect, json, out } = transports('enqueue,claim,read');

test('the steps of a task are listed, and a signal wakes the tasks that wait', async () => {
  const id = (await cli('enqueue', 'flow')).out.trim();
  expect((await cli('steps', id)).err).toBe(`Task ${id} has saved no step.\n`);
  expect(await cli('steps', '99999999')).toMatchObject({ code: 3 });
  const client = await connect();
  const [run] = await claim(client, 'flow');
  await save(run as Run, { name: 'approval', event: 'flow/1' }, client);
  await client.end();
  expect((await cli('signal', 'flow/1', '{"by": "ann"}')).out).toBe('1 task continues\n');
  expect((await cli('signal', 'flow/0', '1')).out).toBe('0 tasks continue\n');
  expect((await cli('signal', 'flow/1', '1')).out).toBe(
    'The event had a payload before, which stays.\n',
  );
  expect(await cli('signal', 'flow/2', 'no JSON')).toMatchObject({ code: 2 });
});

test('a rerun from a step keeps the steps before it', async () => {
  const id = (await out('enqueue', 'forks')).trim();
  const client = await connect();
  const [run] = await claim(client, 'forks');
  for (const name of ['a', 'b']) await save(run as Run, { name, result: name }, client);
  await complete(client, (run as Run).lease);
  await client.end();
  expect(await cli('rerun', id, '--from-step', 'c')).toMatchObject({
    code: 2,
    err: expect.stringContaining('the task has no step of this name'),
  });
  const { tasks } = await json('rerun', id, '--from-step', 'b');
  expect((await json('steps', tasks[0].rerun_id)).steps).toMatchObject([
    { name: 'a', result: 'a' },
  ]);
});

test('a task is shown with its steps below its runs', async () => {
  const id = (await out('enqueue', 'orders')).trim();
  expect(await cli('task', id, '--steps')).toMatchObject({
    code: 0,
    err: `Task ${id} has saved no step.\n`,
  });
  const client = await connect();
  const [run] = await claim(client, 'orders');
  await save(run as Run, { name: 'charge', result: { receipt: 7 } }, client);
  await save(run as Run, { name: 'approval', event: 'orders/17' }, client);
  await client.end();
  const shown = await out('task', id, '--steps');
  expect(shown).toMatch(
    /^run .*\n.* superseded .*\n\nstep .*\ncharge +step +done +- +{"receipt":7} .*\n/m,
  );
  expect(shown).toMatch(/^approval +event +waiting +- +for orders\/17 /m);
  expect(await json('task', id, '--steps')).toMatchObject({
    id,
    steps: [{ name: 'charge' }, { name: 'approval', event: 'orders/17' }],
  });
  expect(await out('change', id, '--delay', '0')).toBe(`${id} is changed\n`);
  expect(await json('task', id, '--steps')).toMatchObject({
    state: 'ready',
    steps: [{ name: 'charge' }, { name: 'approval', state: 'waiting' }],
  });
  expect(await out('task', id)).not.toContain('charge');
  expect(await json('task', id)).not.toHaveProperty('steps');
});
