import { chromium } from 'playwright-core';
import { api, expectOk } from '../scripts/demo/api.ts';
import { browserPath } from '../scripts/stack/browser.ts';
import { readDevEnv } from '../scripts/stack/files.ts';

/**
 * Measures how smoothly the dashboard of a running `npm start` scrolls through a list of 1,000 tasks. It adds a paused
 * queue with them. The frames need a machine without other work. The CPU time that the page's thread takes for a frame
 * does not, and 60 frames a second leave it 16.7 ms. Usage: npm run measure:frames [-- <seconds>]
 */
const seconds = Number(process.argv[2] ?? 10);
const ROWS = 1000;
const QUEUE = 'frames';

const { TOCK_URL, TOCK_KEY } = readDevEnv();
if (!TOCK_URL || !TOCK_KEY) {
  process.stderr.write('No stack is running. First run: npm start\n');
  process.exit(1);
}
const call = api(TOCK_URL, TOCK_KEY);
await expectOk(call(`/v1/queues/${QUEUE}`, { paused: true }, 'PUT'));
const tasks = Array.from({ length: ROWS }, (_, order) => ({
  payload: { order, note: 'x'.repeat(80) },
}));
await expectOk(call(`/v1/queues/${QUEUE}/tasks`, { tasks, request_id: 'frames' }));

const browser = await chromium.launch({
  executablePath: browserPath(),
  args: ['--headless', '--no-sandbox', '--disable-background-networking'],
});
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addInitScript((key) => sessionStorage.setItem('tock-key', key), TOCK_KEY);
  const page = await context.newPage();
  await page.goto(`${TOCK_URL}/#/queues/${QUEUE}?state=ready`);
  const rows = page.locator('table[aria-label="Tasks"] tbody tr');
  await rows.first().waitFor();
  for (let shown = await rows.count(); shown < ROWS; ) {
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForFunction(
      (before) => document.querySelectorAll('table[aria-label="Tasks"] tbody tr').length > before,
      shown,
    );
    shown = await rows.count();
  }
  const debug = await context.newCDPSession(page);
  await debug.send('Performance.enable', { timeDomain: 'threadTicks' });
  const cpuSeconds = async () => {
    const { metrics } = await debug.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  const cpuBefore = await cpuSeconds();
  const { frames, ...result } = await page.evaluate(async (ms) => {
    const gaps: number[] = [];
    const from = performance.now();
    let last = await new Promise<number>(requestAnimationFrame);
    for (let direction = 1; last - from < ms; ) {
      scrollBy(0, direction * 40);
      const { scrollTop, scrollHeight, clientHeight } = document.documentElement;
      if (scrollTop + clientHeight >= scrollHeight - 1) direction = -1;
      if (scrollTop <= 0) direction = 1;
      const now = await new Promise<number>(requestAnimationFrame);
      gaps.push(now - last);
      last = now;
    }
    gaps.sort((a, b) => a - b);
    const at = (share: number) => gaps[Math.floor((gaps.length - 1) * share)] ?? 0;
    return {
      frames: gaps.length,
      frames_per_second: (gaps.length * 1000) / (last - from),
      median_ms: at(0.5),
      p99_ms: at(0.99),
      longest_ms: at(1),
    };
  }, seconds * 1000);
  const cpu_ms = (((await cpuSeconds()) - cpuBefore) * 1000) / frames;
  const figures = Object.entries({ ...result, cpu_ms }).map(
    ([name, figure]) => `${name} ${figure.toFixed(1)}`,
  );
  process.stdout.write(`${await rows.count()} rows: ${figures.join(', ')}\n`);
} finally {
  await browser.close();
}
