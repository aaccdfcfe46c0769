import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { useDashboard } from './browser.ts';
import { addSampleData } from './sample_data.ts';

const made = useDashboard();

beforeAll(async () => {
  await addSampleData(made.client);
  await made.client.query('select tock.collect_metrics()');
});

test('the keyboard alone reaches all pages and controls dialogs', async () => {
  const page = await made.open();
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
  const page = await made.at('queues/emails');
  const chart = page.getByRole('figure', { name: 'Tasks per second' });
  // not a click: what loads above the chart moves it
  await chart.getByText('As a table').press('Enter');
  const table = chart.getByRole('table');
  await table.waitFor();
  expect(await table.getByRole('columnheader').allInnerTexts()).toEqual([
    'time',
    'enqueued',
    'done',
    'failed',
    'lost',
    'dead',
  ]);
  expect(await table.getByRole('row').count()).toBe(62);
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
  let compressed = 0;
  for (const name of names) {
    const file = await fetch(`${made.url}/dashboard/${name}`);
    expect(file.headers.get('cache-control')).toContain('immutable');
    const text = await file.text();
    compressed += gzipSync(text).length;
  }
  // docs/operating/dashboard.md has the size.
  expect(compressed).toBeLessThan(95_000);
  expect((await fetch(`${made.url}/dashboard/app.js`)).status).toBe(404);
  expect((await fetch(`${made.url}/dashboard/__proto__`)).status).toBe(404);
});
