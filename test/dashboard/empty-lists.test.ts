import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { execute } from '../cli/tock.ts';
import { useDashboard } from './browser.ts';

const made = useDashboard();

test.each([
  ['', 'Queues', 'Overview'],
  ['groups', 'Tasks', 'Groups'],
  ['schedules', 'Schedules', 'Schedules'],
  ['concurrency_keys?queue=mail', 'Concurrency keys', 'Concurrency keys'],
  ['pools', 'Pools', 'Pools'],
  ['workers', 'Workers', 'Workers'],
  ['bulk_changes', 'Bulk changes', 'Bulk changes'],
  ['audit_log', 'Audit log', 'Audit log'],
  ['keys', 'Keys', 'Keys'],
])('the command of an empty list fills it: #/%s', async (place, table, title) => {
  if (/^(concurrency|bulk_changes)/.test(place))
    await made.client.query("select tock.put_queue('mail', '{}')");
  if (place === 'audit_log') await made.client.query('delete from tock.audit_log');
  if (place === 'keys') {
    const others = "delete from tock.keys where hash <> sha256(convert_to($1, 'UTF8'))";
    await made.client.query('delete from tock.key_uses');
    await made.client.query(others, [made.all]);
  }
  const page = await made.at(place);
  await page.getByRole('heading', { name: title, exact: true, level: 1 }).waitFor();
  const command = await page.locator('main .empty code').first().innerText();
  const rows = page.getByRole('table', { name: table }).locator('tbody tr');
  const before = await rows.count();
  expect(before).toBe(place === 'keys' ? 1 : 0);
  const shell = `tock() { node '${checkout}/cli/main.ts' "$@"; }\n${command}`;
  const env = { TOCK_URL: made.url, TOCK_KEY: made.all };
  expect(await execute(['sh', '-c', shell], { env })).toMatchObject({ code: 0 });
  await made.client.query('select tock.tick(), tock.promote(), tock.collect_metrics()');
  await page.reload();
  await expect.poll(() => rows.count()).toBe(before + 1);
});
