import { beforeAll, expect, test } from 'vitest';
import { value } from '../sql/verbs.ts';
import { button, goTo, useDashboard } from './browser.ts';

const made = useDashboard();

beforeAll(() => made.client.query('delete from tock.audit_log'));

test('the filters of the audit log stay in the address, over a reload and pages', async () => {
  await made.client.query(
    `select tock.put_queue('audited', jsonb_build_object('max_attempts', 1 + n % 9))
     from generate_series(1, 60) n`,
  );
  await made.client.query(`select tock.put_queue('other', '{"max_attempts": 2}')`);
  const entries = await value<number>(
    made.client,
    "select count(*)::int from tock.audit_log where object = 'audited'",
  );
  const page = await made.at('audit_log');
  const rows = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr');
  await rows.filter({ hasText: 'other' }).waitFor();
  const field = (name: string) => page.getByRole('search').getByLabel(name);
  await field('Object').fill('audited');
  await field('Verb').fill('put_queue');
  await button(page, 'Search').click();
  await expect.poll(() => rows.filter({ hasText: 'audited' }).count()).toBe(50);
  expect(await rows.count()).toBe(50);
  expect(new URL(page.url()).hash).toBe('#/audit_log?verb=put_queue&object=audited');
  await page.reload();
  await expect.poll(() => rows.filter({ hasText: 'audited' }).count()).toBe(50);
  expect(await field('Object').inputValue()).toBe('audited');
  await page.getByRole('link', { name: 'Next page' }).click();
  await expect.poll(() => rows.count()).toBe((entries ?? 0) - 50);
  await page.getByRole('link', { name: 'First page' }).click();
  await expect.poll(() => rows.count()).toBe(50);
  const put = await fetch(`${made.url}/v1/queues/by-key`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${made.all}`, 'content-type': 'application/json' },
    body: '{"max_attempts": 3}',
  });
  expect(put.ok).toBe(true);
  await page.getByRole('link', { name: 'Clear' }).click();
  await field('Key, as its prefix').fill(made.all.slice(0, 13));
  await button(page, 'Search').click();
  await rows.filter({ hasText: 'by-key' }).waitFor();
  expect(await rows.filter({ hasText: 'audited' }).count()).toBe(0);
  expect(new URL(page.url()).hash).toBe(`#/audit_log?key=${made.all.slice(0, 13)}`);
  await goTo(page, 'audit_log?key=nonsense');
  await page.getByText(/\(422\).*key/).waitFor();
});

test('a key that may only read is offered neither keys nor the audit log', async () => {
  const page = await made.open(made.read);
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  expect(await links.allInnerTexts()).toEqual([
    'Overview',
    'Tasks',
    'Groups',
    'Bulk changes',
    'Workers',
    'Schedules',
    'Concurrency keys',
    'Pools',
    'System',
  ]);
  await page.keyboard.press('g');
  await page.keyboard.press('k');
  expect(new URL(page.url()).hash).toMatch(/^(#\/)?$/);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('audit log');
  await page.getByText('Nothing has this name.').waitFor();
  await page.keyboard.press('Escape');
  for (const place of ['keys', 'audit_log']) {
    await goTo(page, place);
    await page.getByText('Refused (403)').waitFor();
    expect(await page.locator('main table').count(), place).toBe(0);
    expect(await button(page, 'New key').count(), place).toBe(0);
  }
});
