import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { die } from '../sql/features/bulk_changes/bulk_changes.ts';
import { enqueue, numberedTasks, value } from '../sql/verbs.ts';
import { button, confirm, goTo, shows, useDashboard, violations } from './browser.ts';

const made = useDashboard();

const stats = (column: string, queue: string) =>
  value<number>(made.client, `select (${column})::int from tock.queue_stats('${queue}')`);
const row = (page: Page, text: string) =>
  page.getByRole('table', { name: 'Bulk changes' }).getByRole('row').filter({ hasText: text });
const arrive = (page: Page) =>
  page.getByRole('heading', { name: 'Bulk changes', exact: true, level: 1 }).waitFor();

test('all that match are cancelled in the background, and the page shows how far it is', async () => {
  await enqueue(made.client, 'many', numberedTasks(30, 0, { tenant: 'acme' }));
  await enqueue(made.client, 'many', numberedTasks(4, 0, { tenant: 'other' }));
  const page = await made.at('tasks?queue=many&state=ready&tenant=acme');
  await button(page, 'Change all that match').click();
  await button(page, 'Cancel all in the background').click();
  await page.getByRole('heading', { name: 'Cancel all ready tasks of many?' }).waitFor();
  await page.getByRole('dialog').getByText('Only those of the tenant acme.').waitFor();
  expect(await violations(page)).toEqual([]);
  await confirm(page, 'Cancel them');
  await shows(page, /^Bulk change \d+ has started/);
  await arrive(page);
  await row(page, 'many').getByText('running').waitFor();
  await row(page, 'many').getByText('the browser').waitFor();
  expect(await violations(page)).toEqual([]);
  await made.client.query('select tock.run_bulk_changes(10)');
  await row(page, 'many').getByRole('cell', { name: '10', exact: true }).waitFor();
  await made.client.query('select tock.run_bulk_changes()');
  await row(page, 'many').getByText('done').waitFor();
  expect(await stats('ready', 'many')).toBe(4);
});

test('a bulk change is stopped on its page, and a list with another filter offers none', async () => {
  await enqueue(made.client, 'raised', numberedTasks(5));
  const page = await made.at('queues/raised');
  await button(page, 'Change all that match').click();
  await button(page, 'Change the priority of all in the background').click();
  await page.getByRole('dialog').getByLabel('Priority').selectOption('1');
  await confirm(page, 'Change');
  await arrive(page);
  await row(page, 'raised').getByText('state ready, priority 1', { exact: true }).waitFor();
  await row(page, 'raised').getByRole('button', { name: 'Stop' }).click();
  await row(page, 'raised').getByText('stopped').waitFor();
  expect(await row(page, 'raised').getByRole('button').count()).toBe(0);
  await goTo(page, 'tasks?queue=raised');
  await button(page, 'Change all that match').click();
  await page.getByText('5 tasks match').waitFor();
  expect(await page.getByRole('button', { name: /in the background/ }).count()).toBe(0);
});

test('a group of dead tasks is redriven in the background if its box is set', async () => {
  await die(made.client, 'bills', ['timeout', 'timeout', 'no user']);
  const page = await made.at('queues/bills');
  const group = page.getByRole('row').filter({ hasText: 'timeout' });
  await group.getByRole('button', { name: 'Redrive' }).click();
  await page.getByLabel(/^In the background/).check();
  await confirm(page, 'Redrive');
  await arrive(page);
  await row(page, 'bills').getByText('error timeout').waitFor();
  await made.client.query('select tock.run_bulk_changes()');
  await row(page, 'bills').getByText('done').waitFor();
  expect(await stats('ready', 'bills')).toBe(2);
});
