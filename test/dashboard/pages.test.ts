import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Dashboard, dashboard, desktop, goTo, phone, violations } from './browser.ts';
import { addSampleData } from './sample_data.ts';

let made: Dashboard;
let all: string;
let dead: string;

beforeAll(async () => {
  made = await dashboard();
  await addSampleData(made.client);
  await made.client.query('select tock.collect_metrics()');
  all = await made.makeKey(['enqueue', 'claim', 'read', 'admin']);
  const { rows } = await made.client.query(
    "select newest_id from tock.dead_groups('imports', 1, 10)",
  );
  dead = rows[0].newest_id;
});

afterAll(() => made?.close());

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
  const page = await made.open(all, { theme, size });
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
  await page.getByLabel('Key', { exact: true }).fill(all);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  expect(await ground()).toMatch(new RegExp(`^rgb\\(${red},`));
});

test('the keyboard alone reaches all pages and controls dialogs', async () => {
  const page = await made.open(all);
  const focus = () => page.evaluate(() => document.activeElement?.textContent?.trim());
  await page.reload();
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  await page.keyboard.press('Tab');
  await expect.poll(focus).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  await expect.poll(focus).toBe('Overview');
  // Moves the focus to the first queue of the table.
  for (let n = 0; n < 60 && (await focus()) !== 'emails'; n++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'emails' }).waitFor();
  await expect.poll(focus).toBe('emails');
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
  for (let n = 0; n < 60 && (await focus()) !== 'Pause'; n++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Pause emails?' });
  await dialog.waitFor();
  for (let n = 0; n < 5; n++) {
    await page.keyboard.press('Tab');
    const holders = await page.evaluate(
      () => document.activeElement === document.body || !!document.activeElement?.closest('dialog'),
    );
    expect(holders).toBe(true);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(focus).toBe('Pause');
});

test('a chart has a table for screen readers, and a time has its instant', async () => {
  const page = await made.open(all);
  await goTo(page, 'queues/emails');
  const chart = page.getByRole('figure', { name: 'Tasks per second' });
  await chart.getByText('As a table').click();
  const table = chart.getByRole('table');
  expect(await table.getByRole('columnheader').allInnerTexts()).toEqual([
    'time',
    'enqueued',
    'done',
    'failed',
    'lost',
    'dead',
  ]);
  expect(await table.getByRole('row').count()).toBeGreaterThan(10);
  expect(await page.locator('time').first().getAttribute('datetime')).toMatch(/^\d{4}-/);
});

test("the page's policy blocks other scripts, and frames by other sites", async () => {
  const answer = await fetch(made.url);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  const html = await answer.text();
  expect(html).not.toMatch(/<script(?![^>]*src=)/);
  const names = [...html.matchAll(/dashboard\/(app\.\w+\.(?:js|css))/g)].map(([, name]) => name);
  expect(names).toHaveLength(2);
  let bytes = 0;
  let compressed = 0;
  for (const name of names) {
    const file = await fetch(`${made.url}/dashboard/${name}`);
    expect(file.headers.get('cache-control')).toContain('immutable');
    const text = await file.text();
    bytes += Buffer.byteLength(text);
    compressed += gzipSync(text).length;
  }
  // The size was 173 kB on 2026-11-26, or 64 kB compressed.
  expect(bytes).toBeLessThan(250_000);
  expect(compressed).toBeLessThan(150_000);
  expect((await fetch(`${made.url}/dashboard/app.js`)).status).toBe(404);
  expect((await fetch(`${made.url}/dashboard/__proto__`)).status).toBe(404);
});
