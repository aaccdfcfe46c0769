import { expect, test } from 'vitest';
import { claim, enqueue, fail, leaseOf, numberedTasks, value } from '../sql/verbs.ts';
import { button, confirm, loseAnswer, shows, useDashboard, violations } from './browser.ts';

const made = useDashboard();

const counted = (sql: string) => value<number>(made.client, `select count(*)::int from ${sql}`);
const stats = (column: string, queue: string) =>
  value<number>(made.client, `select (${column})::int from tock.queue_stats('${queue}')`);

test('all tasks that match are counted by state before they are cancelled', async () => {
  await enqueue(made.client, 'many', numberedTasks(2200, 0, { tenant: 'acme' }));
  await enqueue(made.client, 'many', numberedTasks(14, 0, { tenant: 'acme', delay_seconds: 900 }));
  await enqueue(made.client, 'many', numberedTasks(3, 0, { tenant: 'other' }));
  const page = await made.at('tasks?queue=many&tenant=acme');
  await button(page, 'Change all that match').click();
  await page.getByText('2,214 tasks match').waitFor();
  await page.getByText('14 waiting, 2,200 ready').waitFor();
  expect(await stats('ready', 'many')).toBe(2203);
  expect(await violations(page)).toEqual([]);
  await button(page, 'Cancel 2,214').click();
  await page.getByRole('heading', { name: 'Cancel 2,214 tasks?' }).waitFor();
  await confirm(page, 'Cancel them');
  await shows(page, '2,214 tasks are cancelled');
  expect(await stats('ready + waiting', 'many')).toBe(3);
  const table = page.getByRole('table', { name: 'Tasks' });
  await table.getByText('cancelled').first().waitFor();
});

test('a change of many tasks is stopped between two calls, and continues', async () => {
  await enqueue(made.client, 'slow', numberedTasks(2500));
  const page = await made.at('queues/slow');
  await button(page, 'Change all that match').click();
  await page.getByText('2,500 tasks match').waitFor();
  // The first call answers after the stop.
  let release = () => {};
  const stopped = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(
    '**/v1/tasks/reprioritize',
    async (route) => {
      await stopped;
      await route.continue();
    },
    { times: 1 },
  );
  await button(page, 'Priority 2,500').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Priority').selectOption('2');
  await confirm(page, 'Change');
  await dialog.getByText('0 of 2,500 tasks').waitFor();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  release();
  await dialog.getByText('1,000 of 2,500 tasks: 1,000 tasks are given priority 2.').waitFor();
  const prior = `tock.tasks('{"queue": "slow"}', null, 1000) t, jsonb_array_elements(t.tasks) x
    where x ->> 'priority' = '2'`;
  expect(await counted(prior)).toBe(1000);
  await confirm(page, 'Continue');
  await shows(page, '2,500 tasks are given priority 2');
});

test('a rerun of many tasks whose answer was lost reruns none twice', async () => {
  await enqueue(made.client, 'lost', numberedTasks(1200, 0, { max_attempts: 1 }));
  const lease = leaseOf(await claim(made.client, 'lost', { limit: 1200 }));
  await fail(made.client, lease, { error: 'no', fatal: true });
  const page = await made.at('queues/lost?state=dead');
  await button(page, 'Change all that match').click();
  await page.getByText('1,200 tasks match').waitFor();
  await loseAnswer(page, '**/v1/tasks/rerun');
  await button(page, 'Rerun 1,200').click();
  await confirm(page, 'Rerun');
  await page.getByRole('alert').getByText('did not answer').waitFor();
  await confirm(page, 'Rerun');
  await shows(page, '1,200 tasks are rerun');
  expect(await stats('ready', 'lost')).toBe(1200);
  // Those that have a rerun have a button of their own.
  await enqueue(made.client, 'lost', [{}]);
  const tasks = await claim(made.client, 'lost', { limit: 1 });
  await fail(made.client, leaseOf(tasks), { error: 'again', fatal: true });
  await button(page, 'Change all that match').click();
  await page.getByText('1,201 tasks match').waitFor();
  await button(page, 'Rerun once more 1,200').waitFor();
  await button(page, 'Rerun 1').click();
  await confirm(page, 'Rerun');
  await shows(page, '1 task is rerun');
});
