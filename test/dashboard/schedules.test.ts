import { expect, test } from 'vitest';
import { cronInWords } from '../../dashboard/cron_words.ts';
import { rows, value } from '../sql/verbs.ts';
import {
  button,
  confirm,
  goTo,
  loseAnswer,
  phone,
  shows,
  useDashboard,
  violations,
} from './browser.ts';

const hostile = `<img src=x onerror=alert(1)>\u202e`;

const made = useDashboard();

const put = (name: string, settings: object) =>
  made.client.query('select tock.put_schedule($1, $2)', [name, JSON.stringify(settings)]);

test('expressions are described in words, and Tock accepts each of them', async () => {
  const words: Record<string, string> = {
    '0 9 * * 1-5': 'At 09:00, Monday through Friday',
    '*/15 * * * *': 'Every 15 minutes',
    '*/10 * * * * *': 'Every 10 seconds',
    '@daily': 'At 00:00',
    '0 0 L * *': 'At 00:00, on the last day of the month',
    '0 0 LW * ?': 'At 00:00, on the last weekday of the month',
    '0 0 15W * *': 'At 00:00, on the weekday nearest day 15 of the month',
    '0 9 * * fri#2': 'At 09:00, on the second Friday of the month',
    '0 9 * * FRIL': 'At 09:00, on the last Friday of the month',
    '0 9 13 * +FRI': 'At 09:00, on day 13 of the month, only on Friday',
    '0 9 13 * FRI':
      'At 09:00, on day 13 of the month, and on Friday (one of the two days is enough)',
  };
  for (const [cron, text] of Object.entries(words)) {
    expect(cronInWords(cron)).toBe(text);
    expect(await rows(made.client, 'select tock.next_fires(p_cron => $1)', [cron])).toHaveLength(5);
  }
  expect(cronInWords('61 * * * *')).toBe(null);
  expect(cronInWords('')).toBe(null);
});

test('the page of a schedule shows its settings, its next fires in its zone, and its fires', async () => {
  await put('month-end', {
    queue: 'reports',
    cron: '30 8 L * *',
    time_zone: 'Asia/Tokyo',
    overlap: 'skip',
    jitter_seconds: 90,
    payload: { id: 12345678901234567n.toString(), note: hostile },
    options: { priority: 1 },
  });
  const page = await made.at('schedules');
  await page.getByText('At 08:30, on the last day of the month').waitFor();
  await page.getByRole('link', { name: 'month-end', exact: true }).click();
  await page.getByRole('heading', { name: 'Schedule month-end' }).waitFor();
  const times = page.locator('.fires').getByRole('listitem').filter({ hasText: '08:30' });
  await expect.poll(() => times.count()).toBe(10);
  await page.getByText('in Asia/Tokyo').waitFor();
  await page.getByText('up to 1 min 30 s').waitFor();
  await page.getByText('skip the fire').waitFor();
  await page.getByText('12345678901234567').waitFor();
  await button(page, 'Fire now month-end').click();
  await shows(page, /month-end has fired: task \d+/);
  const fires = page.getByRole('table', { name: 'Fires of month-end' });
  await fires.getByRole('row', { name: 'fired by hand' }).getByRole('link').waitFor();
  await page.getByRole('status').getByRole('link').click();
  await page.getByRole('heading', { name: /^Task \d+/ }).waitFor();
  await page.getByRole('link', { name: 'month-end', exact: true }).click();
  await page.getByRole('heading', { name: 'Schedule month-end' }).waitFor();
  await button(page, 'Pause month-end').click();
  await page.getByText('Without the pause it would fire').waitFor();
  await button(page, 'Resume month-end').click();
  await shows(page, 'month-end is resumed');
  expect(await page.locator('img').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.setViewportSize(phone);
  expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
  expect(made.complaints()).toEqual([]);
});

test('an edit of the queue leaves the other settings of a schedule alone', async () => {
  await put('daily', { queue: 'a', every_seconds: 86_400, time_zone: 'Europe/Berlin' });
  await put('once', {
    queue: 'a',
    run_at: '2099-01-01T00:00:00.123456Z',
    overlap: 'skip',
    jitter_seconds: 90,
    payload: { id: 7 },
    options: { priority: 1 },
  });
  const times = () =>
    rows(
      made.client,
      `select name, every_seconds, run_at::text, time_zone, anchor_at::text, overlap, jitter_seconds, payload, options
       from tock.schedules where name in ('daily', 'once') order by name`,
    );
  const before = await times();
  const page = await made.open();
  for (const name of ['daily', 'once']) {
    await goTo(page, `schedules/${name}`);
    await button(page, `Edit ${name}`).click();
    await page.getByRole('dialog').getByLabel('Queue').fill('b');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  expect(await times()).toEqual(before);
  const moved = "select count(*)::int from tock.schedules where queue = 'b'";
  expect(await value(made.client, moved)).toBe(2);
});

test('schedules are found by a part of their name, queue or expression, and the address keeps it', async () => {
  await put('search-night', { queue: 'sums', cron: '0 3 * * *' });
  await put('search-noon', { queue: 'sums', cron: '0 12 * * *' });
  await put('search-pulse', { queue: 'beats', every_seconds: 60 });
  const page = await made.at('schedules');
  const names = () => page.getByRole('rowheader').allInnerTexts();
  for (const [text, found] of [
    ['search-N', ['search-night', 'search-noon']],
    ['sums', ['search-night', 'search-noon']],
    ['0 12', ['search-noon']],
    ['beat', ['search-pulse']],
  ] as const) {
    await page.getByRole('search').getByRole('textbox').fill(text);
    await button(page, 'Search').click();
    await expect.poll(names).toEqual(found);
  }
  await page.reload();
  await expect.poll(names).toEqual(['search-pulse']);
  await page.getByRole('search').getByRole('textbox').fill('nothing');
  await button(page, 'Search').click();
  await page.getByText('No schedule matches.').waitFor();
  await page.getByRole('link', { name: 'Clear' }).click();
  await expect.poll(async () => (await names()).length).toBeGreaterThan(2);
});

test('a message leaves when the page changes', async () => {
  await put('restful', { queue: 'reports', every_seconds: 60 });
  const page = await made.at('schedules/restful');
  // Unlike others, an error has no time after which it leaves.
  await loseAnswer(page, '**/restful/pause');
  await button(page, 'Pause restful').click();
  const message = page.getByRole('alert').getByText('did not answer');
  await message.waitFor();
  await goTo(page, 'schedules');
  await message.waitFor({ state: 'detached' });
});

test('a schedule is deleted after a confirmation', async () => {
  await put('old', { queue: 'reports', every_seconds: 60 });
  const page = await made.at('schedules/old');
  await button(page, 'Delete old').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect(await value(made.client, "select count(*)::int from tock.schedule('old')")).toBe(1);
  await button(page, 'Delete old').click();
  await confirm(page, 'Delete');
  await shows(page, 'old is deleted');
  await page.getByRole('heading', { name: 'Schedules' }).waitFor();
  expect(await value(made.client, "select count(*)::int from tock.schedule('old')")).toBe(0);
  await goTo(page, 'schedules/old');
  await page.getByText('There is no schedule with this name').waitFor();
});
