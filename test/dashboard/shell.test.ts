import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { enqueue, numberedTasks } from '../sql/verbs.ts';
import { button, goTo, signIn, useDashboard } from './browser.ts';

const made = useDashboard();

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
const placeOf = (page: Page) => new URL(page.url()).hash || '#/';
const palette = (page: Page) => page.getByRole('dialog', { name: 'Go to' });
/** Text of the focused element. */
const focus = (page: Page) =>
  page.evaluate(() => {
    const { activeElement } = document;
    return activeElement === document.body ? '' : activeElement?.textContent?.trim();
  });

test('each letter after g goes to its page', async () => {
  const page = await made.open();
  const pages = `t Tasks, g Groups, w Workers, s Schedules, c Concurrency keys, p Pools, y System, k Keys, a Audit log,
    o Overview`;
  for (const entry of pages.split(/,\s+/)) {
    const [letter = '', name] = [entry[0], entry.slice(2)];
    // The second key must come within 1.5 s, which a busy machine may miss.
    const pressed = async () => {
      await page.keyboard.press('g');
      await page.keyboard.press(letter);
      return page.getByRole('heading', { name, exact: true, level: 1 }).count();
    };
    await expect.poll(pressed).toBe(1);
    await expect.poll(() => focus(page)).toBe(name);
  }
  await page.keyboard.press('g');
  await page.keyboard.press('z');
  await page.keyboard.press('t');
  expect(placeOf(page)).toBe('#/');
});

test('j and k move between rows with visible focus, x selects and Enter opens', async () => {
  const ids = await enqueue(made.client, 'rows', numberedTasks(3));
  const page = await made.at('queues/rows');
  const boxes = page.getByRole('checkbox', { name: /^Select task/ });
  await expect.poll(() => boxes.count()).toBe(3);
  const rowOf = (n: number) => page.locator('main .scroll').first().locator('tbody tr').nth(n);
  const focused = (n: number) =>
    rowOf(n).evaluate(
      (row) => row.matches(':focus-visible') && getComputedStyle(row).outlineStyle === 'solid',
    );
  for (const move of ['j0', 'j1', 'j2', 'j2', 'k1']) {
    const [key = '', n] = [move[0], Number(move[1])];
    await page.keyboard.press(key);
    expect(await focused(n), `${key} to ${n}`).toBe(true);
  }
  await page.keyboard.press('x');
  expect(await boxes.nth(1).isChecked()).toBe(true);
  await button(page, 'Cancel 1').waitFor();
  expect(await focused(1)).toBe(true);
  await page.keyboard.press('x');
  expect(await boxes.nth(1).isChecked()).toBe(false);
  const id = (await rowOf(1).getByRole('link').first().innerText()).trim();
  expect(ids).toContain(id);
  await page.keyboard.press('Enter');
  await heading(page, `Task ${id}`);
});

test('/ focuses the search of a page, and opens the palette on a page without one', async () => {
  const page = await made.open();
  await page.getByLabel('Filter by name').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('rows/j');
  expect(await page.getByLabel('Filter by name').inputValue()).toBe('rows/j');
  await page.keyboard.press('Escape');
  expect(await focus(page)).toBe('');
  for (const place of ['tasks', 'workers', 'audit_log']) {
    await goTo(page, place);
    await page.getByRole('search').waitFor();
    await page.keyboard.press('/');
    const inSearch = await page.evaluate(() => !!document.activeElement?.closest('search'));
    expect(inSearch, place).toBe(true);
    await page.keyboard.press('Escape');
  }
  await goTo(page, 'system');
  await heading(page, 'System');
  await page.keyboard.press('/');
  await palette(page).waitFor();
});

test('no key works while typing, with a modifier or in a dialog', async () => {
  const page = await made.open();
  const typed = '?gtjkx/';
  for (const [place, label] of [
    ['', 'Filter by name'],
    ['tasks', 'Queue'],
    ['audit_log', 'Key, as its prefix'],
  ] as const) {
    await goTo(page, place);
    const field = page.getByRole('main').getByLabel(label, { exact: true });
    await field.click();
    await page.keyboard.type(typed);
    expect(await field.inputValue()).toBe(typed);
    expect(await page.getByRole('dialog').count()).toBe(0);
  }
  await goTo(page, '');
  await page.getByLabel('Colours').focus();
  await page.keyboard.type('gy');
  expect(placeOf(page)).toBe('#/');
  await page.locator('h1').focus();
  for (const modifier of ['Control', 'Alt', 'Meta']) {
    await page.keyboard.down(modifier);
    // Letters that a browser takes itself with a modifier are left out.
    for (const key of ['j', 'x', '?']) await page.keyboard.press(key);
    await page.keyboard.up(modifier);
  }
  expect(await focus(page)).toBe('Overview');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.type('gy');
  expect(placeOf(page)).toBe('#/');
});

test('? lists the keys, Escape closes it, and a switch turns single keys off', async () => {
  const page = await made.open();
  await heading(page, 'Overview');
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await help.getByText('go to Concurrency keys').waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await help.getByRole('checkbox', { name: 'Single letters are keys' }).uncheck();
  await help.getByRole('button', { name: 'Close' }).click();
  await help.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  expect(placeOf(page)).toBe('#/');
  expect(await help.count()).toBe(0);
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.type('shortcuts');
  await page.keyboard.press('Enter');
  await help.getByRole('checkbox', { name: 'Single letters are keys' }).check();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await heading(page, 'Tasks');
});

test('a removed dialog whose "close" comes late does not close the one that is open by then', async () => {
  const page = await made.open();
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await page.keyboard.press('?');
  const removed = await help.elementHandle();
  await help.getByRole('button', { name: 'Close' }).click();
  await help.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await help.waitFor();
  await removed?.evaluate((dialog) => dialog.dispatchEvent(new Event('close')));
  // The dialog is gone only with the picture after the event.
  await page.evaluate(() => new Promise(requestAnimationFrame));
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await help.count()).toBe(1);
});

test('after Escape the next key works at once, also if the browser says late that the dialog was closed', async () => {
  const page = await made.open();
  await page.evaluate(() => {
    const late = (event: Event) => event.stopImmediatePropagation();
    addEventListener('close', late, { capture: true });
  });
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
});

test('a key that comes as soon as the page is there works', async () => {
  const page = await made.open(null);
  // Effects of the page that run after its first picture would come after this key.
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.to-palette')) return;
      observer.disconnect();
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
    }).observe(document, { subtree: true, childList: true });
  });
  await signIn(page, made.all);
  await palette(page).getByRole('combobox').waitFor();
});

test('the palette goes everywhere by keyboard alone', async () => {
  const [id = ''] = await enqueue(made.client, 'aim', numberedTasks(1));
  await made.client.query(
    `select tock.put_schedule('sunday', '{"queue": "aim", "cron": "0 9 * * 0"}')`,
  );
  const page = await made.open();
  const open = async (text: string) => {
    await page.keyboard.press('Control+k');
    await palette(page).getByRole('combobox').waitFor();
    await page.keyboard.type(text);
  };
  const chosen = () => palette(page).getByRole('option', { selected: true });
  const choose = async (text: string, option: string | RegExp) => {
    await open(text);
    await chosen().filter({ hasText: option }).waitFor();
    await page.keyboard.press('Enter');
    await palette(page).waitFor({ state: 'detached' });
  };
  await choose('audit', 'Audit log');
  await heading(page, 'Audit log');
  await choose('queue aim', 'aim');
  await heading(page, 'aim');
  await choose(id, `Task ${id}`);
  await heading(page, `Task ${id}`);
  await choose('sund', 'sunday');
  await heading(page, 'Schedule sunday');
  await page.getByText('It has not fired yet').waitFor();
  await choose('theme dark', 'Dark');
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  expect(await page.getByLabel('Colours').inputValue()).toBe('dark');

  // The field names the chosen option, and arrows go round.
  await open('');
  const field = palette(page).getByRole('combobox');
  const named = async () => (await field.getAttribute('aria-activedescendant')) ?? '';
  expect(await chosen().getAttribute('id')).toBe(await named());
  const first = await chosen().innerText();
  await page.keyboard.press('ArrowUp');
  await chosen().filter({ hasText: 'Sign out' }).waitFor();
  await page.keyboard.press('ArrowDown');
  expect(await chosen().innerText()).toBe(first);
  await page.keyboard.press('ArrowDown');
  await chosen().filter({ hasText: 'Tasks' }).waitFor();
  expect(await chosen().getAttribute('id')).toBe(await named());
  await page.keyboard.type('no such thing');
  await palette(page).getByText('Nothing has this name.').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  // A closed dialog has no role any more, but it is unmounted a moment later, and only then the focus is back.
  await expect.poll(() => focus(page)).toBe('Schedule sunday');

  await button(page, /^Go to …/).focus();
  await page.keyboard.press('Enter');
  await palette(page).waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => focus(page)).toMatch(/^Go to …/);
  await choose('sign', 'Sign out');
  await page.getByLabel('Key', { exact: true }).waitFor();
  expect(made.complaints()).toEqual([]);
});
