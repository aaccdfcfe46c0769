import type { Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { payloadFilter } from '../../dashboard/search.ts';
import { save } from '../sql/features/steps/steps.ts';
import { claim, enqueue, fail, leaseOf, numberedTasks, promote, type Run } from '../sql/verbs.ts';
import { button, confirm, goTo, shows, useDashboard, violations } from './browser.ts';

const made = useDashboard();

const headers = (page: Page) => page.getByRole('table', { name: 'Tasks' }).getByRole('rowheader');
/** The number of tasks in the table. */
const listed = (page: Page) => headers(page).count();
const expectListed = (page: Page, count: number) => expect.poll(() => listed(page)).toBe(count);

test('tasks of a queue are filtered by a part of their payload, and the address keeps the filter', async () => {
  const tasks = [7, 8, 9].map((customer) => ({ payload: { customer }, tenant: 't' }));
  await enqueue(made.client, 'orders', tasks);
  const page = await made.at('queues/orders?range=6h');
  await expectListed(page, 3);
  await page.getByText('Search these tasks').click();
  await page.getByLabel('Payload contains').fill('{"customer": 7}');
  await button(page, 'Search').click();
  await expectListed(page, 1);
  expect(decodeURIComponent(page.url())).toMatch(/range=6h.*payload=\{"customer":\+7\}/);
  await page.reload();
  await expectListed(page, 1);
  // The filter stays when the state changes.
  await page.getByRole('link', { name: /^dead/ }).click();
  await page.getByText('There are no such tasks.').waitFor();
  await page.goBack();
  await expectListed(page, 1);
  // The short form of a filter becomes JSON.
  await page.getByLabel('Payload contains').fill('customer=8');
  await button(page, 'Search').click();
  await page.getByText('{"customer": 8}', { exact: true }).waitFor();
  expect(await page.getByLabel('Payload contains').inputValue()).toBe('{"customer": 8}');
  await expectListed(page, 1);
  await page.getByLabel('Payload contains').fill('7');
  await button(page, 'Search').click();
  await page.locator('.problem').getByText('payload must be a JSON object').waitFor();
  await page.getByRole('link', { name: 'Clear' }).click();
  await expectListed(page, 3);
  await goTo(page, 'tasks?payload=%7B%22customer%22%3A8%7D');
  await expectListed(page, 1);
  expect(await violations(page)).toEqual([]);
});

test('a list goes on, and its first page shows new tasks without a reload', async () => {
  const ids = await enqueue(made.client, 'long', numberedTasks(45));
  const page = await made.at('queues/long');
  await expectListed(page, 45);
  ids.push(...(await enqueue(made.client, 'long', numberedTasks(25))));
  await expectListed(page, 50);
  await button(page, 'Continue').click();
  await expectListed(page, 70);
  await page.getByText('newest run first').waitFor();
  expect(await headers(page).allInnerTexts()).toEqual(ids.reverse());
});

test('the tab of waiting tasks counts and lists them by what they wait for', async () => {
  const [parent] = await enqueue(made.client, 'w', [{}]);
  await enqueue(made.client, 'w', numberedTasks(3, 0, { delay_seconds: 900 }));
  const keyed = await enqueue(made.client, 'w', numberedTasks(3, 0, { concurrency_key: 'x' }));
  await enqueue(made.client, 'w', [{ depends_on: [parent] }]);
  await enqueue(made.client, 'w', numberedTasks(3, 0, { priority: 0 }));
  const waits = [{ event: 'paid' }, { event: 'sent' }, { invoke: { queue: 'child' } }];
  for (const wait of waits) {
    const [run] = (await claim(made.client, 'w')) as [Run];
    await save(run, { name: 'wait', ...wait }, made.client);
  }
  await promote(made.client);
  const page = await made.at('queues/w?state=waiting');
  await expectListed(page, 9);
  const tabs = page.getByRole('navigation', { name: 'Waiting tasks by reason' });
  for (const [name, count] of [
    ['for their time', 3],
    ['for a concurrency key', 2],
    ['for parents', 1],
    ['for a child', 1],
    ['for an event', 2],
  ] as const) {
    const tab = tabs.getByRole('link', { name });
    expect(await tab.innerText()).toMatch(new RegExp(`${count}$`));
    await tab.click();
    await expectListed(page, count);
  }
  await goTo(page, 'queues/w?state=waiting');
  const rowsWith = (text: string) =>
    page
      .locator('tbody tr')
      .filter({ has: page.locator('[data-name="Waits for"]', { hasText: text }) });
  for (const [text, count] of [
    ['its time', 3],
    ['the concurrency key x', 2],
    ['parents', 1],
    ['a child', 1],
    ['an event', 2],
  ] as const)
    await expect.poll(() => rowsWith(text).count()).toBe(count);
  // A due time says nothing where a task waits for something else.
  expect(await rowsWith('its time').filter({ hasText: 'in 14 min' }).count()).toBe(3);
  expect(await rowsWith('parents').locator('[data-name="Due or ended"]').innerText()).toBe('–');
  await page.getByText('newest wait first').waitFor();
  await goTo(page, 'tasks?queue=w&concurrency_key=x');
  await page.getByText('holders first, then the longest wait').waitFor();
  expect(await headers(page).allInnerTexts()).toEqual(keyed);
  await goTo(page, 'queues/w?state=waiting');
  // The counts are no settings.
  expect(await page.getByText('waiting_for').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
});

test('the short form of a filter by payload keeps the digits of numbers, and other text is a string', () => {
  for (const [text, json] of [
    ['customer: ann', '{"customer":"ann"}'],
    ['order = 12345678901234567890', '{"order": 12345678901234567890}'],
    ['"zip"="0123"', '{"zip": "0123"}'],
    ['zip=0123', '{"zip":"0123"}'],
    ['{"a": {"b": 1}}', '{"a": {"b": 1}}'],
    ['ann', 'ann'],
  ] as const)
    expect(payloadFilter(text)).toBe(json);
});

test('a task that waits for its retry is told from one that waits for its time', async () => {
  await enqueue(made.client, 'again', [{ delay_seconds: 900, priority: 9 }, { priority: 0 }]);
  await fail(made.client, leaseOf(await claim(made.client, 'again')), { error: 'busy' });
  const page = await made.at('tasks?queue=again&state=waiting');
  await expectListed(page, 2);
  const cells = page.locator('[data-name="Waits for"]');
  expect((await cells.allInnerTexts()).map((text) => text.trim()).sort()).toEqual([
    'its retry',
    'its time',
  ]);
});

test('the tab of ready tasks says how many a pause or a limit holds', async () => {
  await enqueue(made.client, 'held', numberedTasks(5));
  await made.client.query(`select tock.put_queue('held', '{"max_running": 2}')`);
  const page = await made.at('queues/held');
  await claim(made.client, 'held', { limit: 2 });
  await page.getByText('3 ready tasks are held by max_running.').waitFor();
  await button(page, 'Edit max_running').click();
  await page.getByRole('textbox', { name: 'max_running', exact: true }).fill('9');
  await button(page, 'Save').click();
  await page.getByText('held by max_running').waitFor({ state: 'hidden' });
  await made.client.query(`select tock.put_queue('held', '{"paused": true}')`);
  await page.getByText('3 ready tasks are held: the queue is paused.').waitFor();
});

test('a key that may only read filters lists and counts what matches, and gets no button that changes it', async () => {
  const page = await made.open(made.read);
  for (const place of ['queues/orders', 'tasks?queue=orders']) {
    await goTo(page, place);
    await expectListed(page, 3);
    expect(await button(page, 'Change all that match').count()).toBe(0);
    expect(await page.getByRole('checkbox', { name: /Select/ }).count()).toBe(0);
  }
  await page.getByLabel('Payload contains').fill('{"customer": 9}');
  await button(page, 'Search').click();
  await expectListed(page, 1);
  await enqueue(made.client, 'crowd', numberedTasks(60));
  await goTo(page, 'tasks?queue=crowd');
  await button(page, 'Count all that match').click();
  await page.getByText('60 tasks match').waitFor();
  expect(await button(page, 'Cancel').count()).toBe(0);
});

/** Opens a page whose clock can be moved on. */
async function withClock(place: string): Promise<Page> {
  const page = await made.open();
  await page.clock.install();
  await goTo(page, place);
  return page;
}

/** The requests of the page while its clock goes a minute on. */
async function requestsOfMinute(page: Page): Promise<string[]> {
  const sent: string[] = [];
  const listener = (request: Request) => void sent.push(request.url());
  page.on('request', listener);
  await page.clock.runFor(60_000);
  page.off('request', listener);
  return sent;
}

test('after a change by the user all parts of the page show it, also while live updates are paused', async () => {
  await enqueue(made.client, 'parts', numberedTasks(3));
  const page = await made.at('queues/parts');
  await expectListed(page, 3);
  await button(page, 'Pause live updates').click();
  await button(page, 'Pause').click();
  await confirm(page, 'Pause');
  const reason = page.getByRole('listitem').filter({ hasText: 'the queue is paused' });
  await reason.waitFor();
  await enqueue(made.client, 'parts', numberedTasks(2));
  await button(page, 'Resume').click();
  await expectListed(page, 5);
  await page.getByRole('link', { name: /^ready ?5$/ }).waitFor();
  await reason.waitFor({ state: 'hidden' });
});

test('a hidden tab asks for nothing until it is shown again', async () => {
  await enqueue(made.client, 'hidden', numberedTasks(1));
  const page = await withClock('queues/hidden');
  await expectListed(page, 1);
  const hide = (hidden: boolean) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { value, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  expect(await requestsOfMinute(page)).not.toEqual([]);
  await hide(true);
  expect(await requestsOfMinute(page)).toEqual([]);
  const asked = page.waitForRequest(/\/v1\//);
  await hide(false);
  await asked;
});

test('Shift selects a range, and paused updates leave the rows where they are', async () => {
  await enqueue(made.client, 'ranges', numberedTasks(6));
  const page = await withClock('queues/ranges');
  await expectListed(page, 6);
  await button(page, 'Pause live updates').click();
  const boxes = page.getByRole('checkbox', { name: /^Select task/ });
  await boxes.nth(1).click();
  await boxes.nth(4).click({ modifiers: ['Shift'] });
  await shows(page, '4 tasks selected');
  await enqueue(made.client, 'ranges', numberedTasks(1));
  // The page asks again once the updates are resumed, and not before.
  expect(await requestsOfMinute(page)).toEqual([]);
  expect(await listed(page)).toBe(6);
  await button(page, 'Pause live updates').click();
  await expectListed(page, 7);
  await shows(page, '4 tasks selected');
});

test('a dialog over selected tasks keeps them, also when others take their place in the list', async () => {
  const ids = await enqueue(made.client, 'pushed', numberedTasks(2));
  const page = await made.at('queues/pushed');
  await expectListed(page, 2);
  await page.getByLabel('Select all that are shown').check();
  await button(page, 'Cancel 2').click();
  const dialog = page.getByRole('dialog', { name: 'Cancel 2 tasks?' });
  await dialog.waitFor();
  // A page has 50 tasks.
  await enqueue(made.client, 'pushed', numberedTasks(50));
  await page
    .getByRole('checkbox', { name: `Select task ${ids[0]}` })
    .waitFor({ state: 'detached' });
  await button(page, 'Cancel them').click();
  await shows(page, '2 tasks are cancelled');
  const states = 'select state from unnest($1::bigint[]) i cross join lateral tock.task(i)';
  expect((await made.client.query(states, [ids])).rows).toEqual([
    { state: 'cancelled' },
    { state: 'cancelled' },
  ]);
});

test('the user hides columns of a list, and the browser keeps the choice', async () => {
  await enqueue(made.client, 'wide', [{ payload: 1 }]);
  const page = await made.at('queues/wide');
  await expectListed(page, 1);
  const header = page
    .getByRole('table', { name: 'Tasks' })
    .getByRole('columnheader', { name: 'Attempt' });
  await header.waitFor();
  const choose = async (on: boolean) => {
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Column Attempt' }).setChecked(on);
    await header.waitFor({ state: on ? 'attached' : 'detached' });
  };
  await choose(false);
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await expectListed(page, 1);
  expect(await header.count()).toBe(0);
  await choose(true);
});

test('the tiles of the overview open their lists, and a search suggests queues', async () => {
  await enqueue(made.client, 'suggested', numberedTasks(1));
  const page = await made.at('');
  await page.locator('.tiles a').first().click();
  await expect.poll(() => page.url()).toMatch(/#\/tasks\?state=ready$/);
  const suggestion = page.locator('datalist option[value=suggested]');
  await suggestion.waitFor({ state: 'attached' });
});
