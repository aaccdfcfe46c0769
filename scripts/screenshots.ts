import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import sharp from 'sharp';
import { api, expectOk } from './demo/api.ts';
import { browserPath } from './stack/browser.ts';
import { readDevEnv } from './stack/files.ts';
import { checkout } from './stack/paths.ts';

// Takes screenshots of every page of a running `npm start`. Some minutes before, start the traffic that fills the pages:
// npm run screenshots:traffic
const wanted = process.argv.slice(2);
const { TOCK_URL, TOCK_KEY } = readDevEnv();
if (!TOCK_URL || !TOCK_KEY) {
  process.stderr.write('No stack is running. First run: npm start\n');
  process.exit(1);
}
const folder = join(checkout, 'docs/images/dashboard');
mkdirSync(folder, { recursive: true });

const desktop = { width: 1280, height: 900 };
const looks = {
  light: { viewport: desktop, colorScheme: 'light' },
  dark: { viewport: desktop, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
} as const;
const highest = 1600;
/** Bytes of an image; a larger one gets fewer colours. */
const most = 120_000;

/** The newest task of a queue with this in its payload. A call searches a part of the queue. */
async function find(queue: string, payload: object): Promise<string> {
  let cursor: string | null = '';
  while (cursor !== null) {
    const query = new URLSearchParams({ queue, payload: JSON.stringify(payload), limit: '1' });
    if (cursor) query.set('cursor', cursor);
    type Found = { tasks: { id: string }[]; cursor: string | null };
    const found: Found = await expectOk(api(`${TOCK_URL}`, `${TOCK_KEY}`)(`/v1/tasks?${query}`));
    if (found.tasks[0]) return found.tasks[0].id;
    cursor = found.cursor;
  }
  throw new Error('The traffic is missing. First run: npm run screenshots:traffic');
}
const pages = {
  overview: '',
  queue: 'queues/invoices',
  'queue-ready': 'queues/reports?state=ready',
  'queue-waiting': 'queues/payments?state=waiting',
  'queue-dead': 'queues/imports?state=dead',
  'task-with-retries': `tasks/${await find('emails', { broken: true })}`,
  'task-with-parents': `tasks/${await find('invoices', { send: 'month.pdf' })}`,
  'task-with-steps': `tasks/${await find('orders', { order: 2001 })}`,
  tasks: 'tasks?payload={"customer":"eve"}',
  groups: 'groups',
  workers: 'workers',
  worker: 'workers?worker=encoder',
  schedules: 'schedules',
  schedule: 'schedules/reminders',
  'concurrency-keys': 'concurrency_keys?queue=payments',
  pools: 'pools/drivers',
  'bulk-changes': 'bulk_changes',
  system: 'system',
  keys: 'keys',
  'audit-log': 'audit_log',
  palette: '',
  'sign-in': '',
};

/** Cuts the page and writes it with few colours, so that it stays small. */
async function write(page: Page, path: string): Promise<void> {
  const fullPage = (await page.getByRole('dialog').count()) === 0;
  const whole = await page.screenshot({ fullPage });
  const { width, height } = await sharp(whole).metadata();
  const cut = sharp(whole).extract({ left: 0, top: 0, width, height: Math.min(height, highest) });
  const png = (colours: number) => cut.png({ colours, dither: 0, effort: 10 }).toBuffer();
  const image = await png(48);
  writeFileSync(path, image.length > most ? await png(16) : image);
}

const browser = await chromium.launch({
  executablePath: browserPath(),
  args: ['--headless', '--no-sandbox', '--disable-background-networking'],
});
for (const [look, options] of Object.entries(looks)) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.addInitScript((key) => {
    if (location.search !== '?signed-out') sessionStorage.setItem('tock-key', key);
  }, TOCK_KEY);
  page.on('console', (message) =>
    process.stdout.write(`console: ${message.text()} ${message.location().url}\n`),
  );
  page.on('pageerror', (error) => process.stdout.write(`error: ${error.message}\n`));
  for (const [name, place] of Object.entries(pages)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    if (name === 'sign-in') await page.evaluate(() => sessionStorage.clear());
    await page.goto(`${TOCK_URL}/${name === 'sign-in' ? '?signed-out' : ''}#/${place}`);
    await page.reload();
    await page.waitForFunction(
      () => document.querySelector('h1') && !/(Load|Look)ing …/.test(document.body.innerText),
    );
    // Panels such as the parents of a task ask by themselves.
    await page.waitForLoadState('networkidle');
    if (name === 'palette') await page.locator('.to-palette').click();
    // The charts are drawn after the answer.
    await page.waitForTimeout(1000);
    await write(page, join(folder, `${name}-${look}.png`));
    if (name === 'overview' && look === 'light')
      await write(page, join(checkout, 'docs/dashboard.png'));
  }
  await context.close();
}
await browser.close();
process.stdout.write(`${folder}\n`);
