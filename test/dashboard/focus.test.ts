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
