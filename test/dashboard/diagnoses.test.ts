import type pg from 'pg';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { type OwnCluster, ownCluster, stackInfo } from '../database.ts';
import { claim, enqueue, expire, fail, leaseOf, numberedTasks, reap } from '../sql/verbs.ts';
import { useDashboard } from './browser.ts';

// Each test breaks a real installation. It only dates rows back, so that the problem seems to last for a while.
const made = useDashboard({}, ownCluster);
let client: pg.Client;

beforeAll(() => {
  client = made.client;
});

// Without pg_cron, maintenance jobs are late two minutes after the last tick. Then why() would give another reason.
beforeEach(() => client.query('select tock.tick()'));

/** Dates the queue's tasks and the ends of their runs back by this time. */
async function age(queue: string, time: string): Promise<void> {
  for (const [table, column] of [
    ['runs', 'created_at'],
    ['results', 'ended_at'],
  ])
    await client.query(
      `update tock.${table} r set ${column} = r.${column} - $2::interval
       from tock.streams s where s.number = r.stream and s.queue = $1`,
      [queue, time],
    );
}

/** Follows the link `late: why?` beside the queue on the first page. Returns the reasons on the queue's page. */
async function whyOf(page: Page, queue: string): Promise<Locator> {
  const row = page.getByRole('table', { name: 'Queues' }).getByRole('row', { name: queue });
  await row.getByRole('link', { name: 'late: why?' }).click();
  await page.getByRole('heading', { name: queue, exact: true, level: 1 }).waitFor();
  return reasons(page);
}

/** Opens the line with the doctor's findings. */
async function openHealth(page: Page): Promise<Locator> {
  const health = page.getByRole('region', { name: 'Health' });
  await health.locator('summary').click();
  return health.getByRole('listitem');
}

const reasons = (page: Page) =>
  page.getByRole('region', { name: 'Why tasks are late' }).getByRole('listitem');

/** Expects exactly one reason whose text matches all patterns, which include what to do. */
async function expectReason(items: Locator, words: RegExp[]): Promise<void> {
  await items.first().waitFor();
  const texts = () => items.allInnerTexts();
  await expect
    .poll(async () => (await texts()).filter((text) => words.every((word) => word.test(text))))
    .toHaveLength(1);
}

test('the page of a late queue says that no worker claims', async () => {
  await enqueue(client, 'orders', numberedTasks(20));
  await age('orders', '5 minutes');
  const page = await made.open(made.read);
  const why = await whyOf(page, 'orders');
  await expectReason(why, [/no worker claims from this queue/, /20 tasks/, /start a worker/]);
  // Until the next poll another reason may be shown: on a slow machine a call of Tock may take over five seconds.
  await expect.poll(() => why.count()).toBe(1);
});

test('the page of a late queue names a task that kills its workers', async () => {
  const ids = await enqueue(client, 'images', numberedTasks(5));
  // The task kills its worker each time, so all runs of the worker's lease are lost.
  for (let n = 0; n < 3; n++) {
    await expire(client, leaseOf(await claim(client, 'images', { limit: 5 })));
    await reap(client);
  }
  await age('images', '10 minutes');
  const page = await made.open(made.read);
  const why = await whyOf(page, 'images');
  await expectReason(why, [/a task kills its workers/, /3 runs/, /memory/]);
  await why
    .filter({ hasText: 'a task kills its workers' })
    .getByRole('link', { name: /task \d+/ })
    .first()
    .click();
  await page.getByRole('heading', { name: /^Task/ }).waitFor();
  expect(ids).toContain(new URL(page.url()).hash.split('/').at(-1));
  const runs = page.getByRole('table', { name: 'Runs' });
  await expect.poll(() => runs.getByText('lost').count()).toBe(3);
});

test('the page of a late queue names a concurrency key that is stuck', async () => {
  await enqueue(client, 'payments', numberedTasks(8, 0, { concurrency_key: 'acct-17' }));
  await client.query('select tock.promote()');
  const [holders] = await claim(client, 'payments', { lease_seconds: 3600 });
  await client.query(
    `update tock.leases l set claimed_at = now() - interval '2 hours'
     from tock.streams s where s.number = l.stream and s.queue = 'payments'`,
  );
  const page = await made.open(made.read);
  const health = await openHealth(page);

  await expectReason(health, [/a concurrency key admits no task/, /acct-17/]);
  const manual = health.getByRole('link', { name: 'a concurrency key admits no task' });
  expect(await manual.getAttribute('href')).toBe('./findings/a-concurrency-key-admits-no-task');
  await health.getByRole('link', { name: 'queue payments' }).click();
  await expectReason(reasons(page), [
    /concurrency keys hold tasks back/,
    /concurrency key acct-17 admits 1 at a time/,
    new RegExp(`task ${holders?.id} holds it: running for 2 h`),
    /7 tasks wait at 1 concurrency key/,
    new RegExp(`tock cancel ${holders?.id}`),
  ]);
});

test('the hint about tasks that died leads to those of this error, and tells others the command', async () => {
  await enqueue(client, 'imports', numberedTasks(5));
  const runs = await claim(client, 'imports', { limit: 5 });
  const failures = runs.map(({ id }, n) => ({
    id,
    error: n < 3 ? "can't open" : 'reset',
    fatal: true,
  }));
  await fail(client, leaseOf(runs), failures);
  const reader = await made.at('queues/imports', made.read);
  const command = /run them again: tock redrive imports --error 'can'\\''t open'/;
  await expectReason(reasons(reader), [/tasks die/, /see task \d+/, command]);
  const page = await made.at('queues/imports');
  await reasons(page)
    .getByRole('link', { name: 'the dead tasks of imports with this error' })
    .click();
  const listed = page.getByRole('table', { name: 'Tasks', exact: true }).getByRole('rowheader');
  await expect.poll(() => listed.count()).toBe(3);
  expect(new URL(page.url()).hash).toBe(
    '#/queues/imports?state=dead&rerun=false&error=can%27t+open',
  );
});

test('the page of a queue without late tasks shows no reason', async () => {
  // One task runs and one is not due, so no task is late.
  await enqueue(client, 'fresh', [{ payload: 1 }, { payload: 2, delay_seconds: 3600 }]);
  await claim(client, 'fresh', { lease_seconds: 3600 });
  const page = await made.open(made.read);
  await page.getByRole('link', { name: 'fresh' }).click();
  await page.getByText('Nothing delays this queue').waitFor();
  expect(made.complaints()).toEqual([]);
});

// This test is the last one, because it restarts the server.
test('the page of a late queue says that pg_cron does not run', async ({ skip }) => {
  skip(!stackInfo().cron, 'there is no pg_cron here');
  await enqueue(client, 'reminders', numberedTasks(4, 0, { delay_seconds: 3600 }));
  const own = made.database as OwnCluster;
  const superuser = await own.connect(own.superUrl);
  await superuser.query("alter system set shared_preload_libraries = 'auto_explain'");
  await own.stop();
  await own.start();
  client = await own.connect();
  await client.query("update tock.waiting set due_at = now() - interval '10 minutes'");
  const page = await made.open(made.read);
  const health = await openHealth(page);
  await expectReason(health, [/Critical/, /pg_cron does not run/, /restart|shared_preload/]);
  await page.getByRole('link', { name: 'reminders' }).click();
  await expectReason(reasons(page), [
    /due tasks are not made ready/,
    /4 tasks wait although due/,
    /pg_cron runs/,
  ]);
  await expectReason(reasons(page), [/pg_cron does not run/]);
});
