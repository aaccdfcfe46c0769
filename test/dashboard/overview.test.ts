import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { enqueue, numberedTasks, rows } from '../sql/verbs.ts';
import { button, confirm, shows, useDashboard } from './browser.ts';

const made = useDashboard();

const MINUTE = 60;
const HOUR = 3600;
/** What the statistics have of minutes and of an hour: enough of each for a rate of two digits. */
const counted = [
  { ago: MINUTE, width: MINUTE, enqueued: 720, started: 540, done: 360, failed: 180, dead: 72 },
  { ago: 20 * HOUR, width: MINUTE, enqueued: 900, started: 600, done: 600, failed: 60, dead: 30 },
  { ago: 96 * HOUR, width: HOUR, enqueued: 7200, started: 0, done: 3600, failed: 1800, dead: 720 },
];

beforeAll(async () => {
  await enqueue(made.client, 'shop', numberedTasks(3));
  await made.client.query('select tock.collect_metrics()');
  await made.client.query('delete from tock.queue_metrics');
  await made.client.query(
    `insert into tock.queue_metrics (queue, at, width_seconds, enqueued, started, done, failed, dead, ready,
       wait_seconds, run_seconds, wait, run)
     select q.name, date_trunc(case c.width when 60 then 'minute' else 'hour' end,
       g.finished_at - c.ago * interval '1 second', 'UTC'), c.width, c.enqueued, c.started, c.done, c.failed, c.dead, 3,
       60, 420, tock.histogram(array[tock.bucket_of(0.6)], '{100}'),
       tock.histogram(array[tock.bucket_of(4), tock.bucket_of(6)], '{90, 10}')
     from jsonb_to_recordset($1) as c (ago integer, width integer, enqueued bigint, started bigint, done bigint,
       failed bigint, dead bigint), (values ('shop'), ('*')) as q (name), tock.metrics_progress g`,
    [JSON.stringify(counted)],
  );
});

/** The rows of a chart's table that have more than zeros and unknown values, without their times. */
async function valuesOf(page: Page, title: string): Promise<Record<string, string>[]> {
  const chart = page.getByRole('figure', { name: title });
  await chart.getByText('As a table').press('Enter');
  const table = chart.getByRole('table');
  await table.waitFor();
  const names = (await table.getByRole('columnheader').allInnerTexts()).slice(1);
  const rows = await table
    .locator('tbody tr')
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => textContent ?? '')),
    );
  await chart.getByText('As a table').press('Enter');
  return rows
    .filter((row) => row.some((value) => value !== '0' && value !== '–'))
    .map((row) => Object.fromEntries(row.map((value, n) => [names[n], value])));
}

test.each([
  [
    '1h',
    { enqueued: '12.0', done: '6.0', failed: '3.0', lost: '0', dead: '1.2' },
    'Last 1h: 720 enqueued, 360 done, 180 failed, 0 lost, 72 dead',
  ],
  [
    '24h',
    { enqueued: '3.0', done: '2.0', failed: '0.20', lost: '0', dead: '0.10' },
    'Last 24h: 1,620 enqueued, 960 done, 240 failed, 0 lost, 102 dead',
  ],
  [
    '7d',
    { enqueued: '2.0', done: '1.0', failed: '0.50', lost: '0', dead: '0.20' },
    'Last 7d: 8,820 enqueued, 4,560 done, 2,040 failed, 0 lost, 822 dead',
  ],
])('the throughput of the overview is that of the statistics: %s', async (range, oldest, total) => {
  const page = await made.at(`?range=${range}`);
  expect((await valuesOf(page, 'Tasks per second')).at(-1)).toEqual(oldest);
  await page.getByText(total).waitFor();
});

test('the overview has the percentiles of all waits and runs', async () => {
  const page = await made.open();
  expect(await valuesOf(page, 'Wait before start, and run')).toEqual([
    {
      'wait p50': '≈\u00a0590\u00a0ms',
      'wait p95': '≈\u00a0590\u00a0ms',
      'run p50': '≈\u00a04.2\u00a0s',
      'run p95': '≈\u00a05.9\u00a0s',
    },
  ]);
});

test('rates of the overview are those of the last minute, and say so', async () => {
  const page = await made.open();
  const cells = page.getByRole('row', { name: /shop/ });
  const cell = async (name: string) =>
    (await cells.locator(`[data-name="${name}"]`).innerText()).trim();
  expect(await Promise.all(['Done/s', 'Failed/s', 'Wait p95', 'Run p95'].map(cell))).toEqual([
    '6.0',
    '3.0',
    '≈\u00a0590\u00a0ms',
    '≈\u00a05.9\u00a0s',
  ]);
  const tiles = await page.locator('.tiles div').allInnerTexts();
  expect(tiles.slice(-2).map((text) => text.split('\n'))).toEqual([
    ['Started/s, 1\u00a0min', '9.0'],
    ['Done/s, 1\u00a0min', '6.0'],
  ]);
  await page.getByText('Rates cover the last whole minute, p95 the last five').waitFor();
});

test("a queue's sparklines have its ready and done tasks of half an hour, and gaps where none were counted", async () => {
  // A round that counted no ready task, two minutes before the newest one.
  await made.client.query(
    `insert into tock.queue_metrics (queue, at, width_seconds, ready)
     select '*', date_trunc('minute', finished_at) - interval '3 minutes', 60, 0 from tock.metrics_progress`,
  );
  const page = await made.open();
  const row = page.getByRole('row', { name: /shop/ });
  await row.waitFor();
  // The newest minute is the highest, so at the top. The last point of a line is there twice.
  for (const [name, expected] of [
    ['Ready', ['19.0 19.0', '2.0 2.0']],
    ['Done/s', [`${'19.0 '.repeat(29)}2.0 2.0`]],
  ] as const) {
    const lines = row.locator(`[data-name="${name}"] polyline`);
    const heights = await lines.evaluateAll((all) =>
      all.map((line) => line.getAttribute('points')?.replace(/\S+,/g, '')),
    );
    expect(heights, name).toEqual(expected);
  }
});

test('the queues that the filter leaves are paused and resumed together', async () => {
  for (const queue of ['mail-a', 'mail-b']) await enqueue(made.client, queue, numberedTasks(1));
  const paused = () =>
    rows(made.client, 'select queue from tock.queue_stats() where paused order by queue');
  const page = await made.open();
  await page.getByLabel('Filter by name').fill('mail-');
  await button(page, 'Pause 2 queues').click();
  await page.getByRole('dialog').getByText('mail-a, mail-b').waitFor();
  // A queue that appears meanwhile is not among those that were asked for.
  await enqueue(made.client, 'mail-c', [{}]);
  await page
    .getByRole('row', { name: 'mail-c', includeHidden: true })
    .waitFor({ state: 'attached' });
  await confirm(page, 'Pause');
  await shows(page, '2 queues are paused.');
  expect(await paused()).toEqual([{ queue: 'mail-a' }, { queue: 'mail-b' }]);
  await button(page, 'Resume 2 queues').click();
  await confirm(page, 'Resume');
  await shows(page, '2 queues are resumed.');
  expect(await paused()).toEqual([]);
});

test('what is loaded later moves nothing that the user may be reading', async () => {
  const page = await made.open();
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        shifts.push((entry as unknown as { value: number }).value);
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.reload();
  await page.getByRole('figure', { name: 'Tasks per second' }).waitFor();
  await page.getByRole('row', { name: /shop/ }).waitFor();
  await page.waitForFunction(() => !/Loading/.test(document.body.innerText));
  const all = await page.evaluate(() => (globalThis as unknown as { shifts: number[] }).shifts);
  // Chrome calls 0.1 good.
  expect(all.reduce((sum, shift) => sum + shift, 0)).toBeLessThan(0.1);
});
