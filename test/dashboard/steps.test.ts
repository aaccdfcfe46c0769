import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { save, saveAll, wake } from '../sql/features/steps/steps.ts';
import { claim, complete, enqueue, type Run, value } from '../sql/verbs.ts';
import { button, goTo, phone, shows, useDashboard, violations } from './browser.ts';

const hostile = `"><img src=x onerror=alert(1)>\u202e`;

const made = useDashboard();

/** A task that has saved two steps, sleeps, and waits for an event of its own queue and for another. */
async function taskWithSteps(queue: string): Promise<string> {
  const [id = ''] = await enqueue(made.client, queue, [{}]);
  const [run] = (await claim(made.client, queue)) as [Run];
  await save(run, { name: 'charge', result: { receipt: { no: hostile } } }, made.client);
  const error = { name: 'SMTPError', message: '421 try later', stack: 'at mail.js:7' };
  await save(run, { name: 'bill', error }, made.client);
  const waits = [
    { name: 'nap', sleep_seconds: 3600 },
    { name: 'approval', event: `${queue}/17/approved`, timeout_seconds: 7200 },
    { name: hostile, event: 'elsewhere' },
  ].map((step) => ({ id, ...step }));
  await saveAll(run.lease, waits, made.client);
  return id;
}

const table = (page: Page) => page.getByRole('table', { name: 'Steps' });
const row = (page: Page, name: string) =>
  table(page)
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name, exact: true }) });

/** The texts of a step in the list, after its name: kind, state, failures, saved, due, outcome. */
const cells = async (page: Page, name: string) =>
  (await row(page, name).getByRole('cell').allInnerTexts()).map((text) => text.trim());

test('the steps of a task are listed in the order of saving, each with its outcome', async () => {
  const id = await taskWithSteps('flows');
  const page = await made.at(`tasks/${id}`, made.read);
  const names = table(page).getByRole('rowheader');
  await expect
    .poll(() => names.allInnerTexts())
    .toEqual(['charge', 'bill', 'nap', 'approval', hostile]);
  expect((await cells(page, 'bill')).slice(0, 3)).toEqual(['step', 'failed', '–']);
  const [saved, due] = [/^now$|ago$/, /^in (59\smin|1\sh)/].map((text) =>
    expect.stringMatching(text),
  );
  expect(await cells(page, 'nap')).toEqual(['sleep', 'waiting', '–', saved, due, '–']);
  expect((await cells(page, 'approval'))[0]).toBe('wait for flows/17/approved');
  await row(page, 'bill').getByText('SMTPError: 421 try later').click();
  await row(page, 'bill').getByText('"at mail.js:7"').waitFor();
  await row(page, 'charge').locator('summary').first().click();
  await row(page, 'charge').getByText(JSON.stringify(hostile), { exact: true }).waitFor();
  expect(await button(page, 'Signal').count()).toBe(0);
  expect(await page.locator('img').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  expect(made.complaints()).toEqual([]);
});

test('the event of a step is signalled, by a key with this right', async () => {
  const id = await taskWithSteps('orders');
  const key = await made.makeKey(['read', 'enqueue'], { queues: ['orders'] });
  const page = await made.at(`tasks/${id}`, key, { size: phone });
  await row(page, 'approval').waitFor();
  expect(await button(page, 'Signal').count()).toBe(1);
  expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
  await button(page, 'Signal').click();
  const dialog = page.getByRole('dialog', { name: 'Signal orders/17/approved' });
  const send = (payload: string) =>
    dialog
      .getByLabel('Payload, as JSON')
      .fill(payload)
      .then(() => dialog.getByRole('button', { name: 'Signal' }).click());
  await send('{');
  await dialog.getByRole('alert').getByText('is not JSON').waitFor();
  expect(await violations(page)).toEqual([]);
  await send('{"amount": 12345678901234567890}');
  await shows(page, '1 task continues');
  await row(page, 'approval').getByText('done').waitFor();
  const result = "select result::text from tock.task_steps($1) where name = 'approval'";
  expect(await value(made.client, result, [id])).toBe('{"amount": 12345678901234567890}');
});

test('an ended task is rerun from a step, and its life shows what it slept', async () => {
  const id = await taskWithSteps('forks');
  await wake(made.client);
  const [run] = (await claim(made.client, 'forks')) as [Run];
  await save(run, { name: 'end', result: 1 }, made.client);
  await complete(made.client, run.lease);
  const page = await made.at(`tasks/${id}`, await made.makeKey(['read', 'enqueue']));
  await row(page, 'end').waitFor();
  const marks = page.locator('svg.timeline rect');
  await expect.poll(() => marks.and(page.locator('.step')).count()).toBe(6);
  expect(await marks.and(page.locator('.asleep')).count()).toBe(1);
  await row(page, 'nap').getByRole('button', { name: 'Rerun from here' }).click();
  await shows(page, 'The task is rerun as');
  await page.getByText('rerun of').waitFor();
  const names = table(page).getByRole('rowheader');
  await expect.poll(() => names.allInnerTexts()).toEqual(['charge', 'bill']);
  expect(await button(page, 'Rerun from here').count()).toBe(0);
});

test('a task without steps has no list of them', async () => {
  const [id = ''] = await enqueue(made.client, 'plain', [{}]);
  const page = await made.open(made.read);
  const answered = page.waitForResponse(/\/steps$/);
  await goTo(page, `tasks/${id}`);
  await (await answered).finished();
  await page.getByRole('heading', { name: 'Details' }).waitFor();
  expect(await page.getByRole('heading', { name: 'Steps' }).count()).toBe(0);
});
