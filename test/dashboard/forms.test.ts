import { expect, test } from 'vitest';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  value,
} from '../sql/verbs.ts';
import { button, confirm, loseAnswer, shows, useDashboard } from './browser.ts';

const made = useDashboard();

test('a setting is changed in place, and the message of the server is shown for an invalid one', async () => {
  await made.client.query("select tock.put_queue('dials', '{}')");
  const page = await made.at('queues/dials');
  await button(page, 'Edit lease_seconds').click();
  const field = page.getByRole('textbox', { name: 'lease_seconds', exact: true });
  const hasFocus = (element: typeof field) =>
    expect.poll(() => element.evaluate((node) => node === document.activeElement)).toBe(true);
  await hasFocus(field);
  await field.fill('0');
  await button(page, 'Save').click();
  await page.getByRole('alert').getByText('1 to 86').waitFor();
  await field.fill('90');
  await button(page, 'Save').click();
  await page.getByText('new queues: 1 min (60 s)').waitFor();
  await shows(page, 'lease_seconds of dials is 90.');
  await hasFocus(button(page, 'Edit lease_seconds'));
  expect(await value(made.client, "select lease_seconds from tock.queue('dials')")).toBe(90);
});

test('the hint about a limit opens its setting, and an emptied field is not set', async () => {
  await made.client.query(`select tock.put_queue('doors', '{"max_running": 1}')`);
  await enqueue(made.client, 'doors', numberedTasks(3));
  await claim(made.client, 'doors', { limit: 1 });
  const page = await made.at('queues/doors');
  const hint = page.getByRole('link', { name: 'raise max_running' });
  const field = page.getByRole('textbox', { name: 'max_running', exact: true });
  for (const [text, shown] of [
    ['2', 'max_running of doors is 2.'],
    ['', 'max_running of doors is not set.'],
  ] as const) {
    await hint.click();
    await expect
      .poll(() => field.evaluate((node) => node === document.activeElement).catch(() => false))
      .toBe(true);
    await page.getByText('Empty: not set').waitFor();
    await field.fill('many');
    await button(page, 'Save').click();
    const refusal = page.getByRole('alert').getByText(/^max_running: a whole number/);
    // The description of the API is not for people.
    expect(await refusal.innerText()).not.toMatch(/openapi/);
    await field.fill(text);
    await button(page, 'Save').click();
    await shows(page, shown);
    // The link works again.
    await expect.poll(() => new URL(page.url()).hash).toBe('#/queues/doors');
    await claim(made.client, 'doors', { limit: 1 });
  }
  const reader = await made.at('queues/doors', made.read);
  await reader.getByRole('heading', { name: 'Settings' }).waitFor();
  expect(await reader.getByRole('link', { name: 'raise max_running' }).count()).toBe(0);
});

test('the limits of a concurrency key are set, and emptied they follow the queue; it is paused', async () => {
  await made.client.query(`select tock.put_queue('rooms', '{"concurrency_limit": 3}')`);
  await enqueue(made.client, 'rooms', [{ concurrency_key: 'blue' }]);
  await promote(made.client);
  const page = await made.at('concurrency_keys?queue=rooms');
  const form = page.getByRole('dialog', { name: 'Limits of blue' });
  const field = form.getByLabel('Holders at a time');
  const save = async (limit: string, before: string) => {
    await button(page, 'Limits of concurrency key blue').click();
    // Only a value of the key itself stands in the field.
    expect(await field.inputValue()).toBe(before);
    expect(await field.getAttribute('placeholder')).toBe('3, as the queue');
    await field.fill(limit);
    await form.getByRole('button', { name: 'Save' }).click();
  };
  await save('1001', '');
  await form.getByText('1 to 1').waitFor();
  await form.getByRole('button', { name: 'Cancel' }).click();
  const limit = () =>
    value(made.client, "select concurrency_limit from tock.concurrency_keys('rooms')");
  await save('7', '');
  await page.getByText('of 7 held').waitFor();
  expect(await limit()).toBe(7);
  await save('', '7');
  await page.getByText('of 3 held').waitFor();
  expect(await limit()).toBe(3);
  // A limit of the key itself stays its own when it equals the queue's.
  await save('3', '');
  const own = "select own_settings from tock.concurrency_keys('rooms')";
  await expect.poll(() => value(made.client, own)).toEqual(['concurrency_limit']);
  await made.client.query(`select tock.put_queue('rooms', '{"concurrency_limit": 4}')`);
  expect(await limit()).toBe(3);
  await made.client.query(`select tock.put_queue('rooms', '{"concurrency_limit": 3}')`);
  await page.reload();
  await save('', '3');
  await expect.poll(() => value(made.client, own)).toEqual([]);
  await made.client.query(`select tock.put_queue('rooms', '{"concurrency_limit": 4}')`);
  expect(await limit()).toBe(4);
  await page.getByRole('row', { name: 'blue' }).getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('row', { name: 'blue' }).getByRole('button', { name: 'Resume' }).waitFor();
  const paused = "select paused from tock.concurrency_keys('rooms', 'blue')";
  expect(await value(made.client, paused)).toBe(true);
});

test('a key is created, rotated and revoked, the old one too, and its secret is shown once', async () => {
  const page = await made.at('keys');
  await button(page, 'New key').click();
  const form = page.getByRole('dialog', { name: 'New key' });
  await form.getByLabel('Name').fill('the shop');
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByRole('group', { name: 'It may' }).getByText('Tick at least one.').waitFor();
  await form.getByRole('checkbox', { name: 'enqueue' }).check();
  await form.getByLabel('Queues').fill('orders, mail');
  await form.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'The new key' });
  const secretShown = async () => {
    const secret = (await shown.locator('.secret').textContent()) ?? '';
    await shown.getByRole('button', { name: 'Close' }).click();
    return secret;
  };
  const secret = await secretShown();
  const allowed = async (key: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ payload: 1 });
    const url = `${made.url}/v1/queues/orders/tasks`;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  expect(await allowed(secret)).toBe(201);
  const rotate = async (prefix: string, ends: string) => {
    await button(page, `Rotate ${prefix}`).click();
    await page.getByLabel('The old key ends').selectOption(ends);
    await confirm(page, 'Rotate');
    return secretShown();
  };
  const next = await rotate(secret.slice(0, 13), 'in 7 days');
  await shows(page, 'The old one ends in 7 days.');
  expect([await allowed(secret), await allowed(next)]).toEqual([201, 201]);
  // The key that was replaced can be ended before its time.
  for (const key of [secret, next]) {
    await button(page, `Revoke ${key.slice(0, 13)}`).click();
    await confirm(page, 'Revoke', key.slice(0, 13));
    await shows(page, `${key.slice(0, 13)} is revoked`);
    await expect.poll(() => allowed(key)).toBe(401);
  }
  expect(await page.content()).not.toContain(secret);
});

test('the key of the tab is named, and its rotation and revocation warn of it', async () => {
  const page = await made.at('keys');
  const own = page.getByRole('row').filter({ hasText: 'the key of this tab' });
  await own.filter({ hasText: made.all.slice(0, 13) }).waitFor();
  expect(await own.count()).toBe(1);
  for (const [prefix, warnings] of [
    [made.all.slice(0, 13), 1],
    [made.read.slice(0, 13), 0],
  ] as const)
    for (const name of ['Rotate', 'Revoke']) {
      await button(page, `${name} ${prefix}`).click();
      const dialog = page.getByRole('dialog');
      expect(await dialog.getByText('This tab is signed in').count()).toBe(warnings);
      // The tab would be signed out before it has shown the new key.
      if (name === 'Rotate')
        expect(await dialog.getByRole('option', { name: 'at once' }).count()).toBe(1 - warnings);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    }
});

test('a schedule is created with a preview of its fires', async () => {
  const page = await made.at('schedules');
  await button(page, 'New schedule').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('weekly');
  await dialog.getByLabel('Queue').fill('reports');
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('61 * * * *');
  await dialog.locator('.problem').first().waitFor();
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('0 8 * * 1');
  await dialog.getByLabel('Time zone').fill('Europe/Vienna');
  const fires = dialog.getByRole('listitem').filter({ hasText: /^Mon .* 08:00/ });
  await expect.poll(() => fires.count()).toBe(10);
  const payload = '{"id": 12345678901234567890}';
  const save = () => dialog.getByRole('button', { name: 'Save' }).click();
  // An error stands at its field.
  const errorAt = (label: string, text: string) =>
    dialog.locator('.field', { hasText: label }).locator('.problem', { hasText: text }).waitFor();
  await dialog.getByLabel('Payload').fill('{id: 7}');
  await save();
  await errorAt('Payload', 'The payload is not JSON');
  await dialog.getByLabel('Payload').fill(payload);
  await dialog.getByLabel('Name').fill('every week');
  await save();
  await errorAt('Name', 'letters, digits');
  await dialog.getByLabel('Name').fill('weekly');
  await save();
  await shows(page, 'The schedule weekly is saved.');
  const { rows } = await made.client.query(
    "select cron, time_zone, payload::text from tock.schedule('weekly')",
  );
  expect(rows).toEqual([{ cron: '0 8 * * 1', time_zone: 'Europe/Vienna', payload }]);
});

test('selected tasks are moved, cancelled and rerun', async () => {
  await enqueue(made.client, 'basket', numberedTasks(5));
  const page = await made.at('queues/basket');
  const boxes = page.getByRole('checkbox', { name: /^Select task/ });
  await expect.poll(() => boxes.count()).toBe(5);
  await boxes.first().check();
  await button(page, 'Move 1').click();
  await page.getByRole('dialog').getByLabel('Queue').fill('other-basket');
  await confirm(page, 'Move');
  await shows(page, '1 task is moved to other-basket');
  await expect.poll(() => boxes.count()).toBe(4);
  await page.getByLabel('Select all that are shown').check();
  await button(page, 'Cancel 4').click();
  await confirm(page, 'Cancel them');
  await shows(page, '4 tasks are cancelled');
  await page.getByRole('link', { name: 'cancelled' }).click();
  await expect.poll(() => boxes.count()).toBe(4);
  await page.getByLabel('Select all that are shown').check();
  const rerunWithoutAnswer = async (name: string) => {
    await loseAnswer(page, '**/v1/tasks/rerun');
    await button(page, `${name} 4`).click();
    await confirm(page, name);
    await page.getByRole('alert').getByText('did not answer').waitFor();
    await button(page, 'Cancel').click();
  };
  await rerunWithoutAnswer('Rerun');
  // The list shows that the tasks were rerun. A repeat of the next change is the same call.
  await rerunWithoutAnswer('Rerun once more');
  await button(page, 'Rerun once more 4').click();
  await confirm(page, 'Rerun once more');
  await shows(page, '4 tasks are rerun');
  expect(await claim(made.client, 'basket', { limit: 20 })).toHaveLength(8);
  expect(await claim(made.client, 'other-basket', { limit: 10 })).toHaveLength(1);
});

test('a task that waits for many others shows how many are done, and which failed', async () => {
  const ids = await enqueue(made.client, 'parts', numberedTasks(40, 0, { max_attempts: 1 }));
  const [child = ''] = await enqueue(made.client, 'whole', [
    { payload: 'sum', depends_on: ids, on_parent_failure: 'run' },
  ]);
  await complete(made.client, leaseOf(await claim(made.client, 'parts', { limit: 30 })));
  await fail(made.client, leaseOf(await claim(made.client, 'parts', { limit: 1 })));
  const page = await made.at(`tasks/${child}`);
  await page.getByText('30 of 40 done, 1 dead, 9 ready').waitFor();
  const table = page.getByRole('table', { name: 'Parents: dead' });
  await expect.poll(() => table.getByRole('row').count()).toBe(2);
});

test('a task shows the tree of its children, each of which opens to show its own', async () => {
  const [root = ''] = await enqueue(made.client, 'roots', [{}]);
  const [child = '', part = ''] = await enqueue(made.client, 'branches', [
    { depends_on: [root] },
    { parent: root },
  ]);
  const [leaf = ''] = await enqueue(made.client, 'leaves', [{ depends_on: [child] }]);
  const page = await made.at(`tasks/${root}`);
  const tree = page.locator('section', { has: page.getByRole('heading', { name: 'Children' }) });
  await tree.getByRole('link', { name: part }).waitFor();
  await button(page, `Children of ${child}`).click();
  await tree.getByRole('link', { name: leaf }).waitFor();
  await button(page, `Children of ${leaf}`).click();
  await tree.getByText('It has no children.').waitFor();
  await tree.getByRole('link', { name: part }).click();
  await page.getByText('part of').waitFor();
  await page.getByRole('link', { name: root }).waitFor();
});
