import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { save } from '../sql/features/steps/steps.ts';
import {
  claim,
  enqueue,
  fail,
  leaseOf,
  promote,
  type Run,
  release,
  rows,
  task,
  value,
} from '../sql/verbs.ts';
import { button, goTo, shows, useDashboard, violations } from './browser.ts';

const hostile = `"><img src=x onerror=alert(1)>\u202e`;

const links = [
  { name: 'Logs', url: 'https://logs.example/{queue}?task={id}&tenant={tenant}' },
  { name: 'Trace', url: 'https://traces.example/{trace_id}' },
  { name: 'Customer', url: 'http://crm.example/#/{payload.customer}' },
  { name: 'Order', url: 'https://shop.example/?key={unique_key}' },
];

const made = useDashboard({ TOCK_TASK_LINKS: JSON.stringify(links) });

/** Lets the next attempt of a task fail, without its backoff. */
async function failNext(queue: string, error: unknown): Promise<void> {
  await made.client.query('update tock.waiting set due_at = now() where queue = $1', [queue]);
  await made.client.query('select tock.promote()');
  await fail(made.client, leaseOf(await claim(made.client, queue)), { error });
}

const attempt = (page: Page, n: number) =>
  page.locator('details.failure').filter({ hasText: `Attempt ${n} ` });

test('the error of every attempt is shown with the lines of its stack', async () => {
  const [id = ''] = await enqueue(made.client, 'broken', [{ payload: 1, max_attempts: 3 }]);
  const stack = `TypeError: first\n    at pay (/app/pay.js:7:3)\n    at ${hostile}`;
  await failNext('broken', { name: 'TypeError', message: 'first', stack });
  const long = {
    name: 'Error',
    message: hostile,
    stack: `Error: ${hostile}\n  at x${'y'.repeat(5000)}`,
  };
  await failNext('broken', long);
  await failNext('broken', { message: 'third', code: 'E_THIRD' });
  const page = await made.open(made.read);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await goTo(page, `tasks/${id}`);
  await attempt(page, 3).getByText('"code": "E_THIRD"').waitFor();
  expect(await attempt(page, 1).locator('pre').isVisible()).toBe(false);
  await attempt(page, 1).locator('summary').click();
  expect(await attempt(page, 1).locator('pre').innerText()).toBe(stack);
  await attempt(page, 1).getByRole('button', { name: 'Copy' }).click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toBe(stack);
  await attempt(page, 2).locator('summary').click();
  await attempt(page, 2).getByText('only for the newest attempt').waitFor();
  expect(await attempt(page, 2).locator('pre').innerText()).toContain(`${hostile}\n  at xyyy`);
  expect(await page.locator('img').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  expect(made.complaints()).toEqual([]);
});

test('a copy of a task is enqueued with another payload, without the unique key of the first', async () => {
  const [id = ''] = await enqueue(made.client, 'originals', [
    {
      payload: { order: 7 },
      priority: 2,
      tenant: 'acme',
      max_attempts: 5,
      concurrency_key: 'acct-1',
      unique_key: 'order-7',
      timeout_seconds: 33,
    },
  ]);
  const page = await made.at(`tasks/${id}`);
  await button(page, 'Enqueue a copy').click();
  const dialog = page.getByRole('dialog', { name: `Enqueue a copy of ${id}` });
  expect(await dialog.getByLabel('Payload, as JSON').inputValue()).toBe('{\n  "order": 7\n}');
  await dialog.getByLabel('Payload, as JSON').fill('{"order": 12345678901234567890}');
  await dialog.getByLabel('Queue').fill('copies');
  await dialog.getByRole('button', { name: 'Enqueue' }).click();
  await dialog.getByRole('status').getByRole('link').click();
  await page.getByText('12345678901234567890').waitFor();
  const copy = decodeURIComponent(new URL(page.url()).hash.split('/').at(-1) ?? '');
  expect(await task(made.client, copy)).toMatchObject({
    queue: 'copies',
    priority: 2,
    tenant: 'acme',
    max_attempts: 5,
    options: { concurrency_key: 'acct-1', timeout_seconds: 33 },
  });
  expect((await task(made.client, copy))?.options).not.toHaveProperty('unique_key');
});

test('the fields of the form are options, and an error stands at the field that it names', async () => {
  await made.client.query("select tock.put_queue('forms', '{}')");
  const page = await made.at('queues/forms');
  await button(page, 'Enqueue a task').click();
  const dialog = page.getByRole('dialog');
  const field = (name: string) => dialog.getByLabel(name, { exact: true });
  const enqueueIt = () => dialog.getByRole('button', { name: 'Enqueue' }).click();
  const errorAt = async (name: string) => {
    const id = await field(name).getAttribute('aria-describedby');
    return id === null ? null : dialog.locator(`[id="${id}"]`).innerText();
  };
  await field('Payload, as JSON').fill('{"a": }');
  await enqueueIt();
  await expect.poll(() => errorAt('Payload, as JSON')).toContain('The payload is not JSON');
  await field('Payload, as JSON').fill('{"a": 1}');
  await field('Maximum of attempts').fill('0');
  await field('Further options, as JSON').fill('{"timeout_seconds": -1}');
  await field('Tenant').fill('t'.repeat(201));
  await enqueueIt();
  await expect.poll(() => errorAt('Maximum of attempts')).toContain('from 1 to 1000');
  expect(await errorAt('Tenant')).not.toBe(null);
  expect(await errorAt('Further options, as JSON')).not.toBe(null);
  expect(await errorAt('Payload, as JSON')).toBe(null);
  await dialog.getByRole('alert').getByText('max_attempts').waitFor();
  expect(await violations(page)).toEqual([]);
  await field('Maximum of attempts').fill('2');
  await field('Tenant').fill('acme');
  await field('Further options, as JSON').fill('{"timeout_seconds": 30}');
  await field('Unique key').fill('one');
  await field('Priority').selectOption('3');
  await field('Due').selectOption('after some seconds');
  await field('Seconds').fill('3600');
  await enqueueIt();
  await dialog.getByText('Enqueued:').waitFor();
  const [stored] = await rows<{ id: string }>(
    made.client,
    "select tock.id_at(position, 0) as id from tock.waiting where queue = 'forms'",
  );
  expect(await task(made.client, stored?.id ?? '')).toMatchObject({
    state: 'waiting',
    payload: { a: 1 },
    priority: 3,
    tenant: 'acme',
    max_attempts: 2,
    options: { unique_key: 'one', timeout_seconds: 30 },
  });
});

test('the payload of a task that waits is changed, and an invalid one is refused with a reason', async () => {
  const [id = ''] = await enqueue(made.client, 'edits', [
    { payload: { n: 1 }, delay_seconds: 3600 },
  ]);
  await made.client.query(`select tock.put_queue('edits', '{"max_payload_bytes": 1024}')`);
  const page = await made.at(`tasks/${id}`);
  await button(page, 'Edit payload').click();
  const dialog = page.getByRole('dialog');
  const save = () => dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByLabel('Payload, as JSON').fill('{');
  await save();
  await dialog.getByRole('alert').getByText('is not JSON').waitFor();
  await dialog.getByLabel('Payload, as JSON').fill(JSON.stringify('x'.repeat(2000)));
  await save();
  await dialog.getByRole('alert').getByText('up to 1024 bytes').waitFor();
  await dialog.getByLabel('Payload, as JSON').fill('{"n": 12345678901234567890}');
  await save();
  await shows(page, 'The payload is changed');
  expect(await value(made.client, 'select payload::text from tock.task($1)', [id])).toBe(
    '{"n": 12345678901234567890}',
  );
});

test('a run that was changed before it started is told from one that its worker released', async () => {
  const [id = ''] = await enqueue(made.client, 'kept', [{ payload: 1 }]);
  await release(made.client, leaseOf(await claim(made.client, 'kept')));
  await made.client.query('select tock.change(array[$1]::bigint[], \'{"priority": 2}\')', [id]);
  const page = await made.at(`tasks/${id}`);
  const states = page.getByRole('table', { name: 'Runs' }).locator('[data-name="State"]');
  await expect
    .poll(async () => (await states.allInnerTexts()).map((text) => text.trim()))
    .toEqual(['released', 'changed', 'ready']);
});

test('a task links to other systems, with its data in the URL', async () => {
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const [id = ''] = await enqueue(made.client, 'linked', [
    {
      payload: { customer: 'a/b?c' },
      tenant: '../../&x=1',
      headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` },
    },
  ]);
  const page = await made.at(`tasks/${id}`, made.read);
  const shown = page.getByRole('navigation', { name: 'Links' }).getByRole('link');
  await expect
    .poll(() => shown.evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href)))
    .toEqual([
      `https://logs.example/linked?task=${id}&tenant=..%2F..%2F%26x%3D1`,
      `https://traces.example/${trace}`,
      'http://crm.example/#/a%2Fb%3Fc',
    ]);
  expect(await shown.first().getAttribute('rel')).toBe('noopener noreferrer');
});

test('a task in a pipeline links to the queues of its other stages', async () => {
  const pipeline = ['scan', 'resize', 'publish'];
  const [id = ''] = await enqueue(made.client, 'resize', [{ pipeline }]);
  const page = await made.at(`tasks/${id}`);
  const stages = page.locator('dd', { hasText: 'scan → resize → publish' });
  await stages.waitFor();
  expect(await stages.getByRole('link').allInnerTexts()).toEqual(['scan', 'publish']);
  expect(await stages.locator('[aria-current=step]').innerText()).toBe('resize');
  await stages.getByRole('link', { name: 'publish' }).click();
  await page.getByRole('heading', { name: 'publish' }).waitFor();
  expect(await violations(page)).toEqual([]);
});

test('the title of a waiting task says what it waits for, and only one that waits for its time runs now', async () => {
  const waiting = async (options: object) =>
    (await enqueue(made.client, 'titles', [options])).at(-1) ?? '';
  const holder = await waiting({ concurrency_key: 'account-17' });
  const behind = await waiting({ concurrency_key: 'account-17' });
  await promote(made.client);
  const child = await waiting({ depends_on: [holder, behind] });
  const later = await waiting({ delay_seconds: 900 });
  const waiter = await waiting({ priority: 0 });
  const [run] = (await claim(made.client, 'titles')) as [Run];
  expect(run.id).toBe(waiter);
  await save(run, { name: 'wait', event: 'titles/paid' }, made.client);
  const page = await made.open();
  for (const [id, title, runsNow] of [
    [behind, `waiting for the concurrency key account-17, held by task ${holder}`, 0],
    [child, 'waiting for 2 parents', 0],
    [waiter, 'waiting for the event titles/paid', 0],
    [later, /waiting until \d+ \w+ \d+, \d\d:\d\d/, 1],
  ] as const) {
    await goTo(page, `tasks/${id}`);
    const heading = page.locator('.heading').filter({ hasText: title });
    await heading.getByText('live').waitFor();
    expect(await button(page, 'Run now').count()).toBe(runsNow);
    expect(await page.locator('dt', { hasText: /^due$/ }).count()).toBe(runsNow);
  }
  await goTo(page, `tasks/${behind}`);
  await page.locator('.heading').getByRole('link', { name: holder }).click();
  await page.getByRole('heading', { name: `Task ${holder}` }).waitFor();
  expect(made.complaints()).toEqual([]);
});
