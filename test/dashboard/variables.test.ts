import { createServer, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { claim, enqueue, fail, leaseOf } from '../sql/verbs.ts';
import { button, goTo, signIn, useDashboard } from './browser.ts';

const made = useDashboard({
  TOCK_NAME: 'production',
  TOCK_INSTALLATIONS: '[{ "name": "staging", "url": "http://127.0.0.1:1/tock/" }]',
  TOCK_HIDDEN_FIELDS: 'card, token',
});

const payload = { to: 'ann', card: '4111 "2222', more: [{ token: { a: 'secret-a' } }], shown: 1 };

test('the fields of TOCK_HIDDEN_FIELDS are hidden in lists, payloads and errors', async () => {
  const [id = ''] = await enqueue(made.client, 'cards', [{ payload, max_attempts: 1 }]);
  const error = { message: 'declined', token: 'secret-b' };
  await fail(made.client, leaseOf(await claim(made.client, 'cards')), { error });
  const page = await made.at('queues/cards?state=dead', made.read);
  const row = page.getByRole('row').filter({ hasText: id });
  await row.getByText('"to": "ann"').waitFor();
  await row.getByText('(hidden)').waitFor();
  expect(await page.content()).not.toMatch(/4111|secret/);
  await goTo(page, `tasks/${id}`);
  await page.getByText('declined').first().waitFor();
  await page.getByText('"shown"').or(page.getByText('shown:')).first().waitFor();
  expect(await page.content()).not.toMatch(/4111|secret/);
  // Without a message the whole error stands for it.
  const [other = ''] = await enqueue(made.client, 'cards', [{ max_attempts: 1 }]);
  const whole = { code: 'refused', card: '4111' };
  await fail(made.client, leaseOf(await claim(made.client, 'cards')), { error: whole });
  for (const place of ['queues/cards?state=dead', `tasks/${other}`, 'queues/cards']) {
    await goTo(page, place);
    await page.getByText('refused').first().waitFor();
    const groups = page.getByRole('table', { name: 'Dead tasks by error' });
    if (place.startsWith('queues')) await groups.getByText('refused').waitFor();
    expect(await page.content()).not.toMatch(/4111|secret/);
  }
  await goTo(page, `tasks/${id}`);
  await page.getByText('declined').first().waitFor();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button(page, 'Copy').last().click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toContain('(hidden)');
});

test('another installation is one choice away, on the same page', async () => {
  const page = await made.at('workers', made.read);
  const list = page.getByLabel('Installation', { exact: true });
  await expect
    .poll(() => list.locator('option').allTextContents())
    .toEqual(['production', 'staging']);
  await page.route('http://127.0.0.1:1/**', (route) => route.fulfill({ body: 'staging' }));
  await list.selectOption('staging');
  await page.waitForURL('http://127.0.0.1:1/tock/#/workers');
});

test('the page works below a path of another site', async () => {
  const { port: target } = new URL(made.url);
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers, url = '' } = incoming;
    if (!url.startsWith('/ops/tock/')) return outgoing.writeHead(404).end();
    const path = url.slice('/ops/tock'.length);
    const onward = request({ host: '127.0.0.1', port: target, method, headers, path }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port } = proxy.address() as { port: number };
  const page = await made.open(null);
  await page.goto(`http://127.0.0.1:${port}/ops/tock/`);
  await signIn(page, made.read);
  await goTo(page, 'system');
  await page.getByRole('row').filter({ hasText: 'promote' }).first().waitFor();
});
