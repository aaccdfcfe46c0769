import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { desktop, goTo, phone, useDashboard, violations } from './browser.ts';
import { addSampleData } from './sample_data.ts';

const made = useDashboard();
let dead: string;

beforeAll(async () => {
  await addSampleData(made.client);
  await made.client.query('select tock.collect_metrics()');
  const { rows } = await made.client.query(
    "select newest_id from tock.dead_groups('imports', 1, 10)",
  );
  dead = rows[0].newest_id;
});

const pagesToOpen = () => [
  '',
  'queues/emails',
  'queues/payments',
  'queues/imports',
  'queues/there-is-none',
  'tasks',
  `tasks/${dead}`,
  'groups',
  'workers',
  'workers?worker=mailer-1',
  'schedules',
  'schedules/heartbeat',
  'concurrency_keys?queue=payments',
  'pools',
  'pools/drivers',
  'bulk_changes',
  'system',
  'keys',
  'audit_log',
  'no-such-page',
];

/** True if the page is wider than its window, so that a reader must scroll sideways. */
const tooWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

test.each([
  ['light', 'desktop', desktop],
  ['dark', 'phone', phone],
] as const)('axe finds no violation on any page: %s, on a %s', async (theme, _, size) => {
  const page = await made.open(made.all, { theme, size });
  for (const place of pagesToOpen()) {
    await goTo(page, place);
    expect(await violations(page), place).toEqual([]);
    expect(await tooWide(page), place).toBe(false);
    const title = await page.locator('h1').innerText();
    expect(title, place).not.toBe('');
  }
  expect(made.complaints()).toEqual([]);
});

test.each([
  ['dark', desktop],
  ['light', phone],
] as const)('axe finds no violation with the theme chosen on the page: %s', async (theme, size) => {
  const page = await made.open(null, { theme: theme === 'dark' ? 'light' : 'dark', size });
  expect(await violations(page)).toEqual([]);
  await page.getByLabel('Colours').selectOption(theme);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red = 0] = (await ground()).match(/\d+/g)?.map(Number) ?? [];
  expect(red > 128 ? 'light' : 'dark').toBe(theme);
  expect(await violations(page)).toEqual([]);
  await page.getByLabel('Key', { exact: true }).fill(made.all);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  expect(await ground()).toMatch(new RegExp(`^rgb\\(${red},`));
});
