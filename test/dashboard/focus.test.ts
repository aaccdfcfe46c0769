import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { enqueue, numberedTasks } from '../sql/verbs.ts';
import { button, goTo, useDashboard } from './browser.ts';

const made = useDashboard();

/** What Tab reaches, from the start of the page or dialog: each control, and whether it shows its focus in the window. */
async function tabStops(page: Page): Promise<[control: string, isShown: boolean][]> {
  const stops: [string, boolean][] = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => {
      const control = document.activeElement;
      if (!control || control === document.body || control.hasAttribute('data-reached'))
        return null;
      control.setAttribute('data-reached', '');
      const { outlineStyle, outlineWidth } = getComputedStyle(control);
      const { left, right, top, bottom } = control.getBoundingClientRect();
      const isInside = right > 0 && left < innerWidth && bottom > 0 && top < innerHeight;
      const isMarked = outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2;
      return [control.outerHTML.slice(0, 80), isInside && isMarked] as [string, boolean];
    });
    if (!stop) return stops;
    stops.push(stop);
  }
}

test.each(['light', 'dark'] as const)('each control shows its focus: %s', async (theme) => {
  await enqueue(made.client, 'stops', numberedTasks(3));
  const page = await made.open(made.all, { theme });
  for (const place of ['', 'queues/stops', 'keys']) {
    await goTo(page, place);
    await page.waitForFunction(() => !/(Load|Look)ing/.test(document.body.innerText));
    const stops = await tabStops(page);
    expect(stops.length, place).toBeGreaterThan(6);
    expect(stops.filter(([, isShown]) => !isShown)).toEqual([]);
  }
  await button(page, 'New key').click();
  const stops = await tabStops(page);
  expect(stops.length).toBeGreaterThan(6);
  expect(stops.filter(([, isShown]) => !isShown)).toEqual([]);
});

test('nothing moves for users who want less motion', async () => {
  const page = await made.open();
  const longest = () =>
    page.evaluate(() =>
      Math.max(
        ...[...document.querySelectorAll('*')].map((element) => {
          const { transitionDuration, animationDuration } = getComputedStyle(element);
          return parseFloat(transitionDuration) + parseFloat(animationDuration);
        }),
      ),
    );
  expect(await longest()).toBeGreaterThan(0);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  expect(await longest()).toBe(0);
});

test('the focus moves to the heading when its element goes away with the tasks that it was for', async () => {
  await enqueue(made.client, 'gone', numberedTasks(2));
  const page = await made.at('queues/gone');
  await page.getByRole('checkbox', { name: 'Select all that are shown' }).press('Space');
  await button(page, 'Cancel 2').press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel them' }).press('Enter');
  await page.getByText('No task is ready.').waitFor();
  await page.locator('h1:focus').waitFor();
});

test('what a word means opens by the keyboard', async () => {
  await enqueue(made.client, 'meant', [{}]);
  const page = await made.at('queues/meant');
  await button(page, 'max_wait_seconds').press('Enter');
  await page.getByText('A task that has not started so long after it is due expires').waitFor();
  await button(page, 'What is Tasks per second?').press('Enter');
  await page.getByText(/^A task is counted as enqueued when it is ready to run/).waitFor();
});
