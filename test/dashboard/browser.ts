import { createRequire } from 'node:module';
import type pg from 'pg';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest';
import { bundle } from '../../scripts/bundle.ts';
import { browserPath } from '../../scripts/stack/browser.ts';
import { type Database, freshDatabase } from '../database.ts';
import { conditionTimeout } from '../timeout.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export const desktop = { width: 1280, height: 900 };
export const phone = { width: 390, height: 844 };

type Look = { theme?: 'light' | 'dark'; size?: typeof desktop };

/** The deployed bundle in workerd, and a browser that opens its dashboard. */
export type Dashboard = {
  url: string;
  database: Database;
  client: pg.Client;
  /** A key with all scopes, and one that may only read. */
  all: string;
  read: string;
  makeKey(scopes: string[], more?: { queues?: string[]; tenants?: string[] }): Promise<string>;
  /** Opens a new tab until the end of the test, signed in with the key, or with `all` if none is given. */
  open(key?: string | null, look?: Look): Promise<Page>;
  /** Opens a tab at a place of the dashboard. */
  at(place: string, key?: string, look?: Look): Promise<Page>;
  /** The errors and warnings of pages since the last call, without refusals. */
  complaints(): string[];
  close(): Promise<void>;
};

async function launch(): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];
  return chromium.launch({
    executablePath: browserPath(),
    args: [...args, '--disable-component-update', '--disable-sync', '--no-first-run'],
  });
}

/** Collects a page's errors, dialogs, console errors and requests to other hosts. None of them is expected. */
function listen(page: Page, collected: string[]): void {
  page.on('pageerror', (error) => collected.push(error.message));
  page.on('dialog', (dialog) => collected.push(`dialog: ${dialog.message()}`));
  page.on('console', (message) => {
    const text = message.text();
    // The browser logs a refused call as an error, but the page handles it.
    if (message.type() === 'error' && !/status of 4\d\d/.test(text)) collected.push(text);
  });
  page.on('request', (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url()))
      collected.push(`asked ${request.url()}`);
  });
}

type Bindings = Record<string, string>;

async function dashboard(bindings: Bindings, made: Promise<Database>): Promise<Dashboard> {
  const [{ code }, database, browser] = await Promise.all([bundle(), made, launch()]);
  const served: Served = await serveBundle(code, {
    // Through the pooler a connection is there at once, also on a busy machine.
    DATABASE_URL: database.poolUrl ?? database.edgeUrl,
    ...bindings,
  });
  const client = await database.connect();
  let collected: string[] = [];
  const health = () => fetch(`${served.url}/v1/health`).then((response) => response.ok);
  try {
    await vi.waitUntil(() => health().catch(() => false), { timeout: conditionTimeout });
  } catch (error) {
    await Promise.all([browser.close(), served.stop()]);
    throw error;
  }
  const makeKey: Dashboard['makeKey'] = async (scopes, { queues, tenants } = {}) => {
    const { rows } = await client.query(
      `select key from tock.create_key(p_name => 'the browser', p_scopes => $1, p_queues => $2, p_tenants => $3)`,
      [scopes, queues ?? null, tenants ?? null],
    );
    return rows[0].key;
  };
  const all = await makeKey(['enqueue', 'claim', 'read', 'admin']);
  const open: Dashboard['open'] = async (key = all, { theme = 'light', size = desktop } = {}) => {
    const context = await browser.newContext({ viewport: size, colorScheme: theme });
    // An open page keeps polling, and every renderer takes time from the next test.
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(conditionTimeout);
    listen(page, collected);
    await page.goto(served.url);
    if (key) await signIn(page, key);
    return page;
  };
  return {
    url: served.url,
    database,
    client,
    all,
    read: await makeKey(['read']),
    makeKey,
    open,
    async at(place, key, look) {
      const page = await open(key, look);
      await goTo(page, place);
      return page;
    },
    complaints: () => collected.splice(0),
    async close() {
      collected = [];
      await browser.close();
      await served.stop();
      await database.drop();
    },
  };
}

/** The dashboard of a test file, from before its first test until after its last. */
export function useDashboard(
  bindings: Bindings = {},
  database: () => Promise<Database> = freshDatabase,
): Dashboard {
  const made = {} as Dashboard;
  beforeAll(async () => {
    Object.assign(made, await dashboard(bindings, database()));
  });
  afterAll(() => made.close?.());
  return made;
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Goes to a page by its address, without a reload. */
export async function goTo(page: Page, place: string): Promise<void> {
  // Only the next picture shows the new page. Until then the old one looks loaded.
  await page.evaluate(
    (hash) =>
      new Promise<void>((shown) => {
        if (location.hash === hash) return shown();
        const next = () => requestAnimationFrame(() => requestAnimationFrame(() => shown()));
        addEventListener('hashchange', next, { once: true });
        location.hash = hash;
      }),
    `#/${place}`,
  );
  await waitUntilLoaded(page);
}

/** Waits until every part of the page has loaded its first answer. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.waitForFunction(
    () => !document.querySelector('[aria-busy="true"]') && document.querySelector('h1'),
  );
}

type Violation = { id: string; impact: string; nodes: { html: string }[] };

/** The violations that axe finds in the open dialog, else on the page, one line each. */
export async function violations(page: Page): Promise<string[]> {
  // evaluate() works through the debugger. The page's own policy would block another script.
  const loaded = await page.evaluate('typeof axe');
  if (loaded === 'undefined') {
    const { readFileSync } = await import('node:fs');
    await page.evaluate(readFileSync(axePath, 'utf8'));
  }
  const results = (await page.evaluate(
    `axe.run(document.querySelector('dialog[open]') ?? document, { resultTypes: ['violations'] })
      .then((r) => r.violations)`,
  )) as Violation[];
  return results.map(
    ({ id, impact, nodes }) =>
      `${id} (${impact}): ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
  );
}

/** The button with exactly this name. */
export const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true });
/** Waits for the notification of an action, which a screen reader reads too. */
export const shows = (page: Page, text: string | RegExp) =>
  page.getByRole('status').filter({ hasText: text }).first().waitFor();

/** Lets the next call to this route do its work, and loses the answer. */
export const loseAnswer = (page: Page, route: string) =>
  page.route(
    route,
    async (call) => {
      await call.fetch();
      await call.abort();
    },
    { times: 1 },
  );

/** Confirms in the open dialog, after typing the word that it asks for. */
export async function confirm(page: Page, name: string, word?: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  const go = dialog.getByRole('button', { name, exact: true });
  if (word) {
    expect(await go.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill(word);
  }
  await go.click();
}
