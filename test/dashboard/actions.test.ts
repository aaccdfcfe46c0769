import { expect, test } from 'vitest';
import { claim, enqueue, fail, leaseOf, numberedTasks, task, value } from '../sql/verbs.ts';
import { button, confirm, goTo, shows, signIn, useDashboard } from './browser.ts';

const made = useDashboard();

test('a wrong key is refused with a message, and a valid one is kept until the tab closes', async () => {
  const page = await made.open(null);
  for (const [wrong, words] of [
    ['tock_00000000_0', /does not know this key/],
    ['ключ', /does not know this key/],
  ] as const) {
    await page.getByLabel('Key', { exact: true }).fill(wrong);
    await button(page, 'Sign in').click();
    await page.getByRole('alert').filter({ hasText: words }).waitFor();
  }
  await signIn(page, made.all);
  await page.reload();
  await button(page, 'Sign out').waitFor();
  expect(page.url()).not.toContain('tock_');
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('tock_');
  await button(page, 'Sign out').click();
  await page.getByLabel('Key', { exact: true }).waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
});

test('a page whose key is revoked signs out and says why', async () => {
  const key = await made.makeKey(['read']);
  const page = await made.open(key);
  await made.client.query('select tock.revoke_key($1)', [key.slice(0, 13)]);
  await page.getByText('The key is no longer valid').waitFor();
});

test('a queue is paused, resumed and purged, and other changes appear without a reload', async () => {
  const page = await made.at('queues/shop');
  await page.locator('.problem').getByText('There is no queue with this name').waitFor();
  await enqueue(made.client, 'shop', numberedTasks(7));
  await page.reload();
  await button(page, 'Pause').click();
  await confirm(page, 'Pause');
  await shows(page, 'shop is paused');
  expect(await value(made.client, "select paused from tock.queue('shop')")).toBe(true);
  await button(page, 'Resume').click();
  await shows(page, 'shop is resumed');
  await enqueue(made.client, 'shop', numberedTasks(3));
  // The page shows the new tasks without a reload.
  await page.locator('.tabs').getByText('10', { exact: true }).waitFor();
  await button(page, 'Purge').click();
  await confirm(page, 'Purge', 'shop');
  await shows(page, '10 tasks of shop are purged');
  expect(await claim(made.client, 'shop')).toEqual([]);
});

test('one dead task is rerun, and all dead tasks with one error', async () => {
  const ids = await enqueue(made.client, 'bills', numberedTasks(6, 0, { max_attempts: 1 }));
  const lease = leaseOf(await claim(made.client, 'bills', { limit: 6 }));
  await fail(made.client, lease, [{ id: ids[5], error: { message: 'no such account' } }]);
  await fail(made.client, lease, { error: { message: 'the bank is closed' } });
  const page = await made.at(`tasks/${ids[0]}`);
  await page.getByText('the bank is closed').first().waitFor();
  await button(page, 'Rerun').click();
  await page.getByText('rerun of').waitFor();
  const again = new URL(page.url()).hash.split('/').at(-1) ?? '';
  expect(await task(made.client, again)).toMatchObject({ state: 'ready', payload: 0 });
  await goTo(page, 'queues/bills');
  const groups = page.getByRole('table', { name: 'Dead tasks by error' });
  const group = (error: string) => groups.getByRole('row', { name: error });
  // A list of the group has as many tasks as the group counts. The list of all dead tasks marks the one with a rerun.
  await group('the bank is closed').getByRole('link', { name: 'List them' }).click();
  await page.getByText('4 shown').waitFor();
  await goTo(page, 'queues/bills?state=dead');
  await page.getByRole('row', { name: new RegExp(`${ids[0]} run again`) }).waitFor();
  await group('the bank is closed').getByRole('button', { name: 'Redrive' }).click();
  await confirm(page, 'Redrive');
  await shows(page, '4 dead tasks of bills are redriven');
  await group('the bank is closed').waitFor({ state: 'detached' });
  await group('no such account').waitFor();
  expect(await claim(made.client, 'bills', { limit: 100 })).toHaveLength(5);
});

test('a task is cancelled, made due, reprioritized and erased', async () => {
  const [id = ''] = await enqueue(made.client, 'later', [
    { payload: 'secret words', delay_seconds: 3600 },
  ]);
  const page = await made.at(`tasks/${id}`);
  await page.getByLabel('Priority').selectOption('1');
  await button(page, 'Change').click();
  await shows(page, 'The priority is 1');
  await button(page, 'Run now').click();
  await shows(page, 'The task is due now');
  await button(page, 'Cancel').click();
  await confirm(page, 'Cancel it');
  await shows(page, 'The task is cancelled');
  expect(await task(made.client, id)).toMatchObject({ state: 'cancelled', priority: 1 });
  await button(page, 'Erase payload').click();
  await confirm(page, 'Erase', 'erase');
  await shows(page, 'are erased');
  expect(await task(made.client, id)).toMatchObject({ payload: null });
});

test('a key that may only read sees all data and no action', async () => {
  const [id] = await enqueue(made.client, 'seen', [
    { payload: 'to be seen', delay_seconds: 60 },
    { concurrency_key: 'front' },
    {},
  ]);
  await made.client.query('select tock.promote()');
  await made.client.query(
    `select tock.put_schedule('seen', '{"queue": "x", "every_seconds": 60}')`,
  );
  await made.client.query("select tock.start_bulk_change('untouched', 'cancel')");
  const page = await made.open(made.read);
  const pages = [
    'queues/seen',
    'queues/bills',
    `tasks/${id}`,
    'schedules',
    'schedules/seen',
    'concurrency_keys?queue=seen',
  ];
  for (const place of [...pages, 'workers', 'pools', 'system', 'tasks', 'bulk_changes']) {
    await goTo(page, place);
    await page.locator('h1').waitFor();
    // The buttons that go to a part of the page change nothing.
    const parts = page.locator('main > :not(nav.sections)');
    const names = await parts.getByRole('button').allInnerTexts();
    const touching = names.filter((name) =>
      /^(?!Search|Continue|Next page|Copy|History|.*[▲▼]$)/.test(name.trim()),
    );
    const others = await page.locator('main :is(th button, .explained)').allInnerTexts();
    expect(
      touching.filter((name) => !others.includes(name)),
      place,
    ).toEqual([]);
  }
  await goTo(page, `tasks/${id}`);
  await page.getByText('to be seen').waitFor();
  await page.getByText('(read only)').waitFor();
  // This call bypasses the page, so the server itself must refuse it.
  const status = await page.evaluate(
    ([key, task]) =>
      fetch(`/v1/tasks/${task}/cancel`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
      }).then((answer) => answer.status),
    [made.read, id] as const,
  );
  expect(status).toBe(403);
});

test('hostile text in data is shown as text', async () => {
  const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\u202e`;
  const [id] = await enqueue(made.client, 'x.y', [
    { payload: { [hostile]: hostile }, tenant: hostile, concurrency_key: hostile, max_attempts: 1 },
  ]);
  await made.client.query('select tock.promote()');
  const lease = leaseOf(await claim(made.client, 'x.y', { worker: hostile }));
  await enqueue(made.client, 'x.y', [{ payload: 1, concurrency_key: hostile }]);
  const page = await made.open();
  const addresses = [
    'queues/x.y',
    'tasks',
    'workers',
    `tasks/${id}`,
    'concurrency_keys?queue=x.y',
    '',
  ];
  const look = async () => {
    for (const place of addresses) {
      await goTo(page, place);
      await page.locator('h1').waitFor();
      expect(await page.locator('img, main script').count(), place).toBe(0);
    }
  };
  await look();
  await fail(made.client, lease, { error: { message: hostile } });
  await look();
  await goTo(page, `tasks/${id}`);
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  await goTo(page, `queues/${encodeURIComponent(hostile)}`);
  await page.locator('.problem').first().waitFor();
  expect(made.complaints()).toEqual([]);
});

test('tasks are found by filters, one page after another', async () => {
  await enqueue(made.client, 'found', numberedTasks(120, 0, { tenant: 'acme' }));
  const [keyed = ''] = await enqueue(made.client, 'found', [
    { payload: 1, unique_key: 'order-7', tenant: 'b' },
  ]);
  const page = await made.at('tasks', made.read);
  const field = (name: string) => page.getByRole('search').getByLabel(name, { exact: true });
  await field('Queue').fill('found');
  await field('Tenant').fill('acme');
  await button(page, 'Search').click();
  await page.getByText('50 shown').waitFor();
  await button(page, 'Continue').click();
  await page.getByText('100 shown').waitFor();
  await button(page, 'Continue').click();
  await page.getByText('120 shown').waitFor();
  await field('Tenant').fill('');
  await field('Unique key').fill('order-7');
  await button(page, 'Search').click();
  await page.getByText('1 shown').waitFor();
  await page.getByRole('link', { name: keyed }).click();
  await page.getByRole('heading', { name: `Task ${keyed}` }).waitFor();
  await goTo(page, 'tasks?state=cancelled&queue=later');
  await page.getByText('1 shown').waitFor();
  await field('Created from').fill('2099-01-01T00:00');
  await button(page, 'Search').click();
  await page.getByText('There are no such tasks.').waitFor();
  await goTo(page, 'tasks');
  await field('Id').fill(keyed);
  await button(page, 'Search').click();
  await page.getByRole('heading', { name: `Task ${keyed}` }).waitFor();
  await goTo(page, 'tasks/1');
  await page.locator('.problem').waitFor();
});

test('an unreachable server is reported, and the last data stays', async () => {
  const page = await made.at('queues/found', made.read);
  await page.locator('.tabs').getByText('121', { exact: true }).waitFor();
  await page.context().setOffline(true);
  await page
    .getByText(/cannot be reached|Offline/)
    .first()
    .waitFor();
  await page.locator('.tabs').getByText('121', { exact: true }).waitFor();
  await page.context().setOffline(false);
  made.complaints();
});
