import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { browserPath } from './stack/browser.ts';
import { readDevEnv } from './stack/files.ts';
import { home } from './stack/paths.ts';

// Takes screenshots of the dashboard of a running `npm start`: in both themes, at the sizes of a desktop and a phone.
const { TOCK_URL, TOCK_KEY } = readDevEnv();
if (!TOCK_URL || !TOCK_KEY) {
  process.stderr.write('No stack is running. First run: npm start\n');
  process.exit(1);
}
const folder = join(home(), 'screenshots');
mkdirSync(folder, { recursive: true });

const requestedPages = process.argv.slice(2);
const pages =
  requestedPages.length > 0
    ? requestedPages
    : [
        '',
        'queues/emails',
        'queues/imports',
        'queues/payments',
        'queues/images',
        'tasks',
        'workers',
        'schedules',
        'concurrency_keys',
        'pools',
        'system',
        'keys',
        'audit_log',
      ];
const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

const browser = await chromium.launch({
  executablePath: browserPath(),
  args: ['--headless', '--no-sandbox', '--disable-background-networking'],
});
for (const [size, viewport] of Object.entries(sizes)) {
  for (const theme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ viewport, colorScheme: theme });
    await context.addInitScript((key) => sessionStorage.setItem('tock-key', key), TOCK_KEY);
    const page = await context.newPage();
    page.on('console', (message) =>
      process.stdout.write(`console: ${message.text()} ${message.location().url}\n`),
    );
    page.on('pageerror', (error) => process.stdout.write(`error: ${error.message}\n`));
    for (const place of pages) {
      await page.goto(`${TOCK_URL}/#/${place}`);
      await page.waitForTimeout(1500);
      const name = `${size}-${theme}-${place.replaceAll('/', '-') || 'overview'}.png`;
      await page.screenshot({ path: join(folder, name), fullPage: true });
    }
    await context.close();
  }
}
await browser.close();
process.stdout.write(`${folder}\n`);
