import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks } from '../sql/verbs.ts';
import { button, goTo, phone, useDashboard, violations } from './browser.ts';

const made = useDashboard();
/** A batch of 2,000 with a callback, and a task that waits for one other. */
let large: string;
let small: string;

async function group(queue: string, parts: number, options: object = {}): Promise<string> {
  const callback = { depends_on: ['*'], on_parent_failure: 'wait', ...options };
  return (await enqueue(made.client, queue, [...numberedTasks(parts), callback])).at(-1) as string;
}

beforeAll(async () => {
  large = await group('books', 2000);
  small = await group('mails', 1);
  const dead = leaseOf(await claim(made.client, 'books', { limit: 3 }));
  await fail(made.client, dead, { error: 'no', fatal: true });
  await complete(made.client, leaseOf(await claim(made.client, 'books', { limit: 1372 })));
});

const rowOf = (page: Page, id: string) =>
  page.getByRole('table', { name: 'Tasks' }).locator('tbody tr').filter({ hasText: id });

test('the groups of all queues are listed with how far they are, in one request', async () => {
  const page = await made.open();
  const requests: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/tasks/.test(pathname)) requests.push(pathname);
  });
  await page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: 'Groups' })
    .click();
  const row = rowOf(page, large);
  await row.getByText('1,372 of 2,000 done, 3 dead', { exact: true }).waitFor();
  await rowOf(page, small).getByText('0 of 1 done, none dead', { exact: true }).waitFor();
  expect(requests).toEqual(['/v1/tasks']);
  // The bar is 1,372 and 3 of 2,000 wide.
  const bars = row.locator('.progress span');
  const widths = await bars.evaluateAll((spans) =>
    spans.map((span) => `${span.className} ${(span as HTMLElement).style.width}`),
  );
  expect(widths).toEqual(['done 68.6%', 'dead 0.15%', 'ready 31.25%']);
  expect(await violations(page)).toEqual([]);
  expect(made.complaints()).toEqual([]);
});

test('the list of a queue shows the same, and only where tasks wait for others', async () => {
  const page = await made.at('queues/books?state=waiting&waiting_for=dependency');
  await rowOf(page, large).getByText('1,372 of 2,000 done, 3 dead').waitFor();
  await goTo(page, 'queues/books?state=waiting');
  await rowOf(page, large).waitFor();
  const shown = rowOf(page, large).getByText('of 2,000 done');
  await expect.poll(() => shown.count()).toBe(0);
});

test('the page of a group says how long it takes, and why the tasks of its parents are late', async () => {
  await made.client.query(`select tock.put_queue('books', '{"paused": true}')`);
  const page = await made.open(made.all, { size: phone });
  // Without an answer the page does not look as if nothing delayed the tasks.
  await page.route('**/why', (route) => route.fulfill({ status: 429, json: {} }), { times: 1 });
  await goTo(page, `tasks/${large}`);
  await page.getByRole('table', { name: 'Parents: ready' }).waitFor();
  await page.getByText('Refused (429)').waitFor();
  await page.getByText(/^At the pace so far the other 625 take ≈\s[\d.]+\s\w+$/).waitFor();
  await page.locator('.findings').getByText('the queue is paused').waitFor();
  await made.client.query(`select tock.put_queue('books', '{"paused": false}')`);
  const hint = page.getByText(/^Task \d+ is of the queue books/);
  await hint.getByRole('link', { name: 'books' }).click();
  await page.getByRole('heading', { name: 'books', level: 1 }).waitFor();
});

test('a group goes on without a reload, and one that is done leaves the list', async () => {
  const id = await group('moving', 2);
  const page = await made.at('groups?queue=moving');
  await rowOf(page, id).getByText('0 of 2 done').waitFor();
  await complete(made.client, leaseOf(await claim(made.client, 'moving')));
  await rowOf(page, id).getByText('1 of 2 done').waitFor();
  await complete(made.client, leaseOf(await claim(made.client, 'moving')));
  await page.getByText('No task waits for others here.').waitFor();
});

test('of groups beyond the bound of a call the number of their parents is shown', async () => {
  const page = await made.open();
  await page.route('**/v1/tasks?*', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { tasks: { id: string; parent_counts: unknown }[] };
    for (const listed of body.tasks) if (listed.id === large) listed.parent_counts = null;
    await route.fulfill({ json: body });
  });
  await goTo(page, 'groups');
  await rowOf(page, large).getByText('2,000, not counted').waitFor();
  await rowOf(page, small).getByText('0 of 1 done').waitFor();
});

test('each part of the progress leads to exactly those tasks, page by page', async () => {
  const page = await made.at('groups');
  await rowOf(page, large).getByRole('link', { name: '3 dead' }).click();
  await page.getByRole('heading', { name: `Task ${large}` }).waitFor();
  const listed = (state: string) =>
    page.getByRole('table', { name: `Parents: ${state}` }).getByRole('rowheader');
  await expect.poll(() => listed('dead').count()).toBe(3);
  expect(await page.getByRole('table', { name: 'Parents: ready' }).count()).toBe(0);
  const progress = page.locator('.progress-text');
  expect(await progress.innerText()).toBe('1,372 of 2,000 done, 3 dead, 625 ready');
  await progress.getByRole('link', { name: '625 ready' }).click();
  await expect.poll(() => listed('ready').count()).toBe(100);
  const first = await listed('ready').allInnerTexts();
  await button(page, 'Next page').click();
  await expect
    .poll(async () => first.includes((await listed('ready').allInnerTexts())[0] ?? ''))
    .toBe(false);
  await expect.poll(() => listed('ready').count()).toBe(100);
  expect(await violations(page)).toEqual([]);
  await progress.getByRole('link', { name: '1,372' }).click();
  await expect.poll(() => listed('done').count()).toBe(100);
  await page.getByRole('link', { name: 'Show others' }).click();
  await expect.poll(() => listed('ready').count()).toBe(20);
  expect(made.complaints()).toEqual([]);
});
