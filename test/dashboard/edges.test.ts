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
import { button, goTo, phone, useDashboard } from './browser.ts';

const made = useDashboard();

test('the group of dead tasks without an error cannot be rerun, which would rerun all', async () => {
  await enqueue(made.client, 'silent', numberedTasks(3, 0, { max_attempts: 1 }));
  const lease = leaseOf(await claim(made.client, 'silent', { limit: 1 }));
  await fail(made.client, lease, { error: { message: 'loud' } });
  await fail(made.client, leaseOf(await claim(made.client, 'silent', { limit: 2 })));
  const page = await made.at('queues/silent');
  const row = (name: RegExp) => page.getByRole('row', { name });
  await row(/^loud/).getByRole('button', { name: 'Redrive' }).waitFor();
  expect(
    await row(/^\(none\) .*2/)
      .getByRole('button')
      .count(),
  ).toBe(0);
});

test('different numbers of dead tasks are explained, and a list is filled up to a page', async () => {
  await enqueue(made.client, 'mixed', numberedTasks(4, 0, { max_attempts: 1 }));
  for (const message of ['a', 'a', 'b', 'b']) {
    const lease = leaseOf(await claim(made.client, 'mixed', { limit: 1 }));
    await fail(made.client, lease, { error: { message } });
  }
  await made.client.query(
    `select tock.redrive(p_queue => 'mixed', p_filter => '{"error": "b"}', p_limit => 1)`,
  );
  const page = await made.at('queues/mixed');
  await page.getByText('4 dead tasks are stored. 1 of them is not counted here').waitFor();

  await goTo(page, 'queues/mixed?state=dead');
  await page.getByText('4 shown', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'list only the others' }).click();
  await page.getByText('3 shown', { exact: true }).waitFor();
  await goTo(page, 'queues/mixed?state=dead');
  await button(page, 'Redrive those of one error').click();
  const heading = page.getByRole('heading', { name: 'Dead tasks by error' });
  await expect.poll(() => heading.evaluate((node) => node === document.activeElement)).toBe(true);

  // With a limit of 1 each call finds one task, like a call that scans many rows and finds few tasks.
  const rest: string[] = [];
  await page.route('**/v1/tasks?*', async (route) => {
    const url = new URL(route.request().url());
    rest.push(url.searchParams.get('limit') ?? '');
    url.searchParams.set('limit', '1');
    await route.fulfill({ response: await route.fetch({ url: url.href }) });
  });
  await goTo(page, 'tasks?queue=mixed&state=dead');
  await page.getByText('4 shown', { exact: true }).waitFor();
  expect(rest.slice(0, 4)).toEqual(['50', '49', '48', '47']);
});

test('waits on the overview and on the page of a queue count from readiness', async () => {
  const { client } = made;
  const [parent] = await enqueue(client, 'parents', numberedTasks(1));
  await enqueue(client, 'children', [{ depends_on: [parent] }, { depends_on: [parent] }]);
  await client.query(`update tock.waiting set created_at = now() - interval '2 hours',
    due_after_parents = due_after_parents - interval '2 hours' where queue = 'children'`);
  await complete(client, leaseOf(await claim(client, 'parents')));
  await promote(client);
  await complete(client, leaseOf(await claim(client, 'children', { limit: 1 })));
  const counted =
    "select count(*)::int from tock.queue_metrics where queue = 'children' and wait is not null";
  await expect
    .poll(() => client.query('select tock.collect_metrics()').then(() => value(client, counted)))
    .toBe(1);
  // The page shows only minutes that are over.
  await client.query(
    "update tock.queue_metrics set at = at - interval '3 minutes' where queue = 'children'",
  );
  const page = await made.open();
  const row = page.getByRole('table', { name: 'Queues' }).getByRole('row', { name: /^children/ });
  await row.waitFor();
  const shown = await row.getByRole('cell').allInnerTexts();
  const [, oldest, , , , , , wait_p95] = shown.map((text) => text.trim());
  for (const time of [oldest, wait_p95]) expect(time).toMatch(/^(≈\s)?[\d.]+\s(ms|s|min)/);
  await goTo(page, 'queues/children');
  await page.getByText(/^The oldest has been ready for \d+\s(s|min)/).waitFor();
});

test('unset settings are shown, and rates name their period', async () => {
  await made.client.query(`select tock.put_queue('burst', '{"rate_burst": 5}')`);
  const page = await made.open();
  await page.getByText('Started/s, 1 min').waitFor();
  await goTo(page, 'queues/burst');
  const fact = (name: string) => page.locator('dt', { hasText: new RegExp(`^${name}$`) });
  await fact('rate_burst').waitFor();
  expect(await fact('rate_limit').locator('xpath=..').innerText()).toMatch(/not set/);
});

test('the concurrency keys page opens on a queue that has concurrency keys', async () => {
  await enqueue(made.client, 'aa-none', numberedTasks(1));
  await enqueue(made.client, 'zz-limited', numberedTasks(2, 0, { concurrency_key: 'acct' }));
  await made.client.query('select tock.promote()');
  await made.client.query('select tock.collect_metrics()');
  const page = await made.at('concurrency_keys');
  const row = page.getByRole('row', { name: /^acct/ });
  // A holder that is only ready is told from one that runs.
  await row.getByText('1 of 1 held').waitFor();
  await row.getByText('not running').waitFor();
  await claim(made.client, 'zz-limited');
  await row.getByText('running', { exact: true }).waitFor();
});

test('on a phone the overview and the workers show every column without scrolling to the side', async () => {
  const queue = `long-${'name-'.repeat(8)}`;
  await enqueue(made.client, queue, numberedTasks(1));
  await enqueue(made.client, 'short', numberedTasks(1));
  await claim(made.client, 'short', { worker: 'ann', lease_seconds: 3600 });
  await made.client.query('select tock.collect_metrics()');
  for (const [place, name, text] of [
    ['', 'Queues', queue],
    ['workers', 'Workers', 'ann'],
  ] as const) {
    const page = await made.at(place, made.all, { size: phone });
    const table = page.getByRole('table', { name });
    await table.getByText(text).first().waitFor();
    const beyond = await table.evaluate((element) => {
      const cells = [...element.querySelectorAll('th, td')];
      return cells.filter((cell) => cell.getBoundingClientRect().right > innerWidth).length;
    });
    expect(beyond, place).toBe(0);
    if (!place) expect(await table.getByRole('columnheader').count()).toBe(10);
  }
});

test('after a reload without a server the page signs in when the server answers', async () => {
  const page = await made.open(made.read);
  await page.route('**/v1/**', (route) =>
    route.fulfill({ status: 503, json: { detail: 'Away.' } }),
  );
  await page.reload();
  await page.getByText('Away.').waitFor();
  await page.unroute('**/v1/**');
  await page.getByRole('table', { name: 'Queues' }).waitFor();
  expect(made.complaints().every((complaint) => complaint.includes('503'))).toBe(true);
});

test('a list and the health of the overview name the nodes that their answers lack', async () => {
  const page = await made.open(made.read);
  await page.route(/\/v1\/(pools|doctor)/, async (route) => {
    const response = await route.fetch();
    const answer = (await response.json()) as object;
    await route.fulfill({ response, json: { ...answer, missing_nodes: [2] } });
  });
  const notice = 'Incomplete Node 2 does not answer. What it has is left out.';
  await goTo(page, 'pools');
  await page.locator('main').getByText(notice).waitFor();
  await goTo(page, '');
  await page.getByRole('region', { name: 'Health' }).getByText(notice).waitFor();
  await page.unrouteAll({ behavior: 'wait' });
});

test('the archive is searched by the filters that it supports', async () => {
  const page = await made.at('tasks?archive=1', made.read);
  await page.getByText('Give a queue').waitFor();
  await goTo(page, 'tasks?archive=1&queue=shop&concurrency_key=g');
  await page.getByText('cannot be searched by concurrency key').waitFor();
  await goTo(page, 'tasks?archive=1&queue=shop&payload={}');
  await page.getByText('cannot be searched by payload').waitFor();
});

test('a key limited to a queue or a tenant finds the tasks of these', async () => {
  await enqueue(made.client, 'mine', [{ payload: 1 }, { payload: 2, tenant: 'acme' }]);
  const queueKey = await made.makeKey(['read', 'enqueue'], { queues: ['mine'] });
  const page = await made.open(queueKey);
  await page.getByRole('link', { name: 'mine' }).click();
  await page.getByRole('heading', { name: 'mine' }).waitFor();
  await page.locator('.tabs').getByText('2', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByText('2 shown').waitFor();
  await page.getByRole('link', { name: 'Concurrency keys' }).click();
  await page.getByText('No task of this queue has used a concurrency key.').waitFor();
  // The navigation has no links to pages that the key may not see.
  const offered = await page.getByRole('navigation').getByRole('link').allInnerTexts();
  expect(offered).toEqual(['Overview', 'Tasks', 'Groups', 'Bulk changes', 'Concurrency keys']);
  await goTo(page, 'workers');
  await page.getByText(/\(403\).*\. .*\.$/).waitFor();
  const tenantKey = await made.makeKey(['read'], { tenants: ['acme'] });
  const other = await made.at('tasks', tenantKey);
  await other.getByText('1 shown').waitFor();
  const pages = other.getByRole('navigation').getByRole('link');
  expect(await pages.allInnerTexts()).not.toContain('Bulk changes');
});

test('an invalid time is refused by name, and the error of one page leaves the others intact', async () => {
  const page = await made.at('tasks?from=abc', made.read);
  await page.getByText(/\(422\).*from:/).waitFor();
  await page.route('**/v1/leases*', (route) => route.fulfill({ json: { leases: 'none' } }));
  await goTo(page, 'workers');
  await page.getByRole('heading', { name: 'This page failed' }).waitFor();
  await goTo(page, 'concurrency_keys');
  await page.getByRole('heading', { name: 'Concurrency keys' }).waitFor();
  await goTo(page, 'workers');
  await page.getByRole('heading', { name: 'This page failed' }).waitFor();
  await goTo(page, '');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(made.complaints().length).toBeGreaterThan(0);
});

test('one long word does not make a table too wide, even on a phone', async () => {
  const word = 'w'.repeat(180);
  await enqueue(made.client, 'long', [{ payload: 1, tenant: word, max_attempts: 1 }]);
  const lease = leaseOf(await claim(made.client, 'long', { worker: word }));
  await fail(made.client, lease, { error: { message: `${word} and ${'some words '.repeat(9)}` } });
  for (const look of [{}, { size: phone }]) {
    const page = await made.open(made.all, look);
    await goTo(page, 'tasks?queue=long');
    const row = page.getByRole('row').filter({ hasText: 'dead' });
    await row.waitFor();
    const box = await row.boundingBox();
    // On a phone a row is a block, as high as its words need.
    if (look.size) expect(box?.width).toBeLessThan(phone.width);
    else expect(box?.height).toBeLessThan(300);
  }
});

test('a pool shows its workers, and the tasks that wait for one', async () => {
  const { client } = made;
  await client.query("select tock.join_pool('crew', 'ann', 86400)");
  for (const name of ['first', 'second'])
    await client.query("select tock.assign_task('crew', $1, p_wait => true)", [name]);
  const page = await made.at('pools/crew', made.read);
  await page.getByRole('row', { name: /ann .*held .*first/ }).waitFor();
  await page.getByRole('table', { name: 'Waiting tasks of crew' }).getByText('second').waitFor();
});

test('long lists have further pages: schedules, pool members, leases of a queue', async () => {
  const { client } = made;
  await client.query(
    `select tock.put_schedule('s' || lpad(n::text, 3, '0'), '{"queue": "timed", "every_seconds": 9000}'),
       tock.join_pool('crowd', 'w' || lpad(n::text, 3, '0'), 86400) from generate_series(1, 101) n`,
  );
  await enqueue(client, 'crowded', numberedTasks(21));
  for (let n = 0; n < 21; n++)
    await claim(client, 'crowded', { worker: `w${n}`, lease_seconds: 86_400 });
  const page = await made.at('schedules', made.read);
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByRole('rowheader', { name: 's101' }).waitFor();
  await page.getByRole('button', { name: 'First page' }).click();
  await page.getByRole('rowheader', { name: 's001' }).waitFor();
  await goTo(page, 'pools/crowd');
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText('w101').waitFor();
  await goTo(page, 'queues/crowded');
  await page.getByRole('link', { name: 'List all leases' }).click();
  await page.getByRole('heading', { name: 'Workers of crowded' }).waitFor();
  const rows = page.getByRole('table', { name: 'Leases' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(21);
});
