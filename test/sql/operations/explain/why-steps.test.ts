import { test } from 'vitest';
import { begun, save, signal } from '../../features/steps/steps.ts';
import { client } from '../../test_database.ts';
import { expectWhy, queuesPerTest } from './why.ts';

queuesPerTest();

const age = (id: string, interval: string) =>
  client.query('update tock.steps set saved_at = saved_at - $2::interval where task_id = $1', [
    id,
    interval,
  ]);

test('tasks that sleep, wait for an event or wait for the next try of a step are a note each', async () => {
  const sleeper = await begun();
  await save(sleeper, { name: 'nap', sleep_seconds: 3600 });
  const [newer, older] = [await begun(), await begun()];
  for (const run of [newer, older]) await save(run, { name: 'approval', event: 'orders/17' });
  const retrier = await begun();
  const error = { message: 'the bank is closed' };
  await save(retrier, { name: 'pay', error, retry_in_seconds: 900 });
  await expectWhy();
  for (const { id } of [sleeper, newer, retrier]) await age(id, '10 s');
  await age(older.id, '3 minutes');
  const at = '20\\d\\d-[^ ]*Z';
  const sleeps = `^note: tasks sleep: 1 task sleeps; task ${sleeper.id} until ${at} \\(step nap\\) => .*tock steps ${sleeper.id} `;
  const tries = `^note: tasks wait for the next try of a step: 1 task waits; task ${retrier.id} tries step pay again at ${at}, after 1 failure: the bank is closed => `;
  await expectWhy(
    sleeps,
    tries,
    `^note: tasks wait for events: 2 tasks wait; task ${older.id} has waited for orders/17 since ${at} \\(step approval\\) => `,
  );
  await signal('orders/17');
  await expectWhy(sleeps, tries);
});
