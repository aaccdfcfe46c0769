import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { button, desktop, goTo, phone, useDashboard, violations } from './browser.ts';
import { everyPage } from './every_page.ts';

const made = useDashboard();
let places: string[];

beforeAll(async () => {
  places = await everyPage(made.client);
});

const looks = [
  ['light', 'desktop', desktop],
  ['dark', 'desktop', desktop],
  ['light', 'phone', phone],
  ['dark', 'phone', phone],
] as const;

/** True if the page is wider than its window, so that a reader must scroll sideways. */
const tooWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

const waitForAll = (page: Page) =>
  page.waitForFunction(() => !/(Load|Look)ing/.test(document.body.innerText));

/** Shows what a page keeps closed: details, the form of a setting, and what may be done with a list of tasks. */
async function unfold(page: Page): Promise<void> {
  await waitForAll(page);
  const all = page.getByLabel('Select all that are shown');
  if (await all.count()) await all.check();
  const matching = button(page, 'Change all that match');
  if (await matching.count()) await matching.click();
  const edit = page.locator('button.edit');
  if (await edit.count()) await edit.first().click();
  await page.locator('main details').evaluateAll((all) => {
    for (const details of all as HTMLDetailsElement[]) details.open = true;
  });
  await waitForAll(page);
}

test.each(looks)('axe finds no violation on any page: %s, on a %s', async (theme, _, size) => {
  const page = await made.open(made.all, { theme, size });
  for (const place of places) {
    await goTo(page, place);
    await unfold(page);
    expect(await violations(page), place).toEqual([]);
    expect(await tooWide(page), place).toBe(false);
    const title = await page.locator('h1').innerText();
    expect(title, place).not.toBe('');
  }
  expect(made.complaints()).toEqual([]);
});

const dialog = (page: Page) => page.getByRole('dialog');

async function close(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
}

/** Opens a dialog, and returns its title without names of tasks and keys. */
async function check(page: Page, open: () => Promise<void>): Promise<string> {
  await open();
  const title = await dialog(page).getByRole('heading').innerText();
  expect(await violations(page), title).toEqual([]);
  expect(await dialog(page).evaluate((it) => it.scrollWidth > it.clientWidth), title).toBe(false);
  return title.replace(/\d+|tock_\w+/g, 'N');
}

test.each([
  ['light', 'desktop', desktop],
  ['dark', 'phone', phone],
] as const)('axe finds no violation in any dialog: %s, on a %s', async (theme, _, size) => {
  const page = await made.open(made.all, { theme, size });
  const titles = new Set<string>();
  const opened = new Set<string>();
  for (const place of places) {
    await goTo(page, place);
    await unfold(page);
    const openers = page.locator('[aria-haspopup="dialog"]');
    for (let n = 0; n < (await openers.count()); n++) {
      const opener = openers.nth(n);
      const label = await opener.evaluate((it) =>
        [...it.childNodes]
          .filter((node) => !(node as Element).classList?.contains('hidden'))
          .map(({ textContent }) => textContent?.replace(/\d+/g, 'N'))
          .join(''),
      );
      if (opened.has(label)) continue;
      opened.add(label);
      titles.add(await check(page, () => opener.click()));
      await close(page);
    }
  }
  titles.add(await check(page, () => page.keyboard.press('?')));
  await close(page);
  expect([...titles].sort()).toEqual([
    'Cancel N tasks?',
    'Cancel all ready tasks of emails?',
    'Cancel all waiting tasks of emails?',
    'Cancel this task?',
    'Change the priority of N tasks?',
    'Change the priority of all ready tasks of emails?',
    'Delete heartbeat?',
    'Edit heartbeat',
    'Enqueue a copy of N',
    'Enqueue to emails',
    'Erase the payload, result and errors?',
    'Go to',
    'Keyboard shortcuts',
    'Limits of acct-N',
    'Move N tasks to another queue?',
    'New key',
    'New schedule',
    'Pause N queues?',
    'Pause emails?',
    'Purge emails?',
    'Redrive N dead tasks?',
    'Redrive all dead tasks of imports?',
    'Rerun N tasks?',
    'Resume N queue?',
    'Revoke the key the browser?',
    'Rotate the key the browser?',
    'Signal orders/N/approved',
    'The payload of N',
  ]);
  expect(made.complaints()).toEqual([]);
});

test.each([
  ['dark', desktop],
  ['light', phone],
] as const)('axe finds no violation with the theme chosen on the page: %s', async (theme, size) => {
  const page = await made.open(null, { theme: theme === 'dark' ? 'light' : 'dark', size });
  expect(await violations(page)).toEqual([]);
  await page.getByLabel('Colours').selectOption(theme);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red = 0] = (await ground()).match(/\d+/g)?.map(Number) ?? [];
  expect(red > 128 ? 'light' : 'dark').toBe(theme);
  expect(await violations(page)).toEqual([]);
  await page.getByLabel('Key', { exact: true }).fill(made.all);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  expect(await ground()).toMatch(new RegExp(`^rgb\\(${red},`));
});

test('axe finds no violation in a refusal, a new secret and a message', async () => {
  const page = await made.at('keys');
  await button(page, 'New key').click();
  await dialog(page).getByLabel('Name').fill('worker');
  await button(page, 'Create').click();
  await dialog(page).getByRole('alert').getByText('Tick at least one.').waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog(page).getByLabel('read').check();
  await button(page, 'Create').click();
  await page.getByRole('dialog', { name: 'The new key' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await close(page);
  await goTo(page, 'schedules/heartbeat');
  await page.getByRole('button', { name: 'Fire now' }).click();
  await page.getByText('heartbeat has fired').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('no such thing');
  await dialog(page).getByText('Nothing has this name.').waitFor();
  expect(await violations(page)).toEqual([]);
});
