import { beforeAll, expect, test } from 'vitest';
import { claim, complete, enqueue, leaseOf, numberedTasks, task } from '../sql/verbs.ts';
import { button, confirm, goTo, shows, useDashboard } from './browser.ts';

const made = useDashboard();

type Lease = {
  worker: string | null;
  queue: string;
  unfinished: number;
  late: boolean;
  tasks: string[];
};

beforeAll(async () => {
  await enqueue(made.client, 'mail', numberedTasks(30));
  await enqueue(made.client, 'images', numberedTasks(10));
  for (const [queue, worker, limit] of [
    ['mail', 'ann', 3],
    ['mail', 'ann', 2],
    ['images', 'ann', 1],
    ['mail', 'ben', 4],
    ['images', 'cy', 2],
    ['images', null, 1],
  ] as const)
    await claim(made.client, queue, { worker: worker ?? undefined, limit, lease_seconds: 3600 });
  await made.client.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where worker = 'cy'",
  );
});

const openLeases = async (query = ''): Promise<Lease[]> => {
  const headers = { authorization: `Bearer ${made.all}` };
  const answer = await fetch(`${made.url}/v1/leases?limit=1000${query}`, { headers });
  return ((await answer.json()) as { leases: Lease[] }).leases;
};

test('the workers are the groups of the open leases', async () => {
  const page = await made.at('workers');
  const rows = page.getByRole('table', { name: 'Workers' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(4);
  expect(await page.getByRole('heading', { level: 2 }).first().innerText()).toBe(
    'With open leases',
  );
  const shown = await rows.evaluateAll((trs) =>
    trs.map((tr) => [...tr.querySelectorAll('th, td')].map((cell) => cell.textContent ?? '')),
  );
  const leases = await openLeases();
  expect(leases.length).toBeGreaterThanOrEqual(6);
  for (const [worker, state, queues, count, , , , deadline] of shown) {
    const own = leases.filter((lease) => (lease.worker ?? '(no name)') === worker);
    expect(own.length, worker).toBe(Number(count));
    expect(new Set(own.map(({ queue }) => queue))).toEqual(new Set(queues?.trim().split(' ')));
    const unfinished = own.reduce((sum, lease) => sum + lease.unfinished, 0);
    expect(state?.trim()).toBe(`running ${unfinished}`);
    expect(own.some(({ late }) => late)).toBe(deadline?.includes('overdue'));
  }
  // The one with an overdue lease is first, then the one that has been busy for longest.
  expect(shown.map(([worker]) => worker)).toEqual(['cy', 'ann', 'ben', '(no name)']);
});

test('a worker that has ended its tasks is listed as idle, however short they were', async () => {
  const claimed = await claim(made.client, 'images', { worker: 'dan', limit: 1 });
  await complete(made.client, leaseOf(claimed));
  // The average is then about 5e-07, which JavaScript writes as 0.0000005.
  await made.client.query(
    `update tock.leases set claimed_at = closed_at - interval '1 ms' - interval '30 minutes',
       closed_at = closed_at - interval '30 minutes' where worker = 'dan'`,
  );
  const page = await made.at('workers');
  const rows = page.getByRole('table', { name: 'Activity of the last hour' }).locator('tbody tr');
  await rows.filter({ hasText: 'dan' }).getByText('idle').waitFor();
  await rows.filter({ hasText: 'ben' }).getByText('running').waitFor();
  expect(await rows.count()).toBe(4);
});

test('a worker opens to its leases and tasks, and a task of it is cancelled', async () => {
  const page = await made.at('workers');
  await page.getByRole('row', { name: /^ben/ }).getByRole('link', { name: 'ben' }).first().click();
  await page.getByRole('heading', { name: 'Worker ben' }).waitFor();
  expect(await page.title()).toBe('Worker ben · Tock');
  const leases = page.getByRole('table', { name: 'Leases' }).locator('tbody tr');
  const own = await openLeases('&worker=ben');
  await expect.poll(() => leases.count()).toBe(own.length);
  const tasks = page.getByRole('table', { name: 'Tasks' }).locator('tbody tr');
  await expect.poll(() => tasks.count()).toBe(4);
  const id = own[0]?.tasks[0] ?? '';
  await tasks.filter({ hasText: id }).getByRole('link', { name: id }).click();
  await page.getByRole('heading', { name: `Task ${id}` }).waitFor();
  await button(page, 'Cancel').click();
  await confirm(page, 'Cancel it');
  await shows(page, 'A cancel is requested.');
  expect((await task(made.client, id))?.runs).toMatchObject([{ cancel_requested: true }]);
  await page.getByText(/^cancel requested (now|\d+\ss ago)$/).waitFor();
  await page
    .getByText(
      /A worker that ignores this goes on .* stop the worker ben: the task is cancelled when/,
    )
    .waitFor();
  expect(await button(page, 'Cancel').count()).toBe(0);
  await goTo(page, 'queues/mail?state=running');
  await expect.poll(() => tasks.filter({ hasText: 'cancel requested' }).count()).toBe(1);
  await tasks.filter({ hasText: id }).getByText('cancel requested').waitFor();
});

test('filters stay in the address, and links to the former page of leases still work', async () => {
  const page = await made.at('leases?queue=images');
  await page.getByRole('heading', { name: 'Workers of images' }).waitFor();
  await page.getByRole('link', { name: 'Workers', exact: true }).waitFor();
  const rows = page.getByRole('table', { name: 'Leases' }).locator('tbody tr');
  const ofImages = await openLeases('&queue=images');
  await expect.poll(() => rows.count()).toBe(ofImages.length);
  await page.getByRole('search').getByLabel('Worker').fill('ann');
  await button(page, 'Search').click();
  await page.getByRole('heading', { name: 'Worker ann of images' }).waitFor();
  expect(new URL(page.url()).hash).toBe('#/workers?queue=images&worker=ann');
  const ofBoth = await openLeases('&queue=images&worker=ann');
  await expect.poll(() => rows.count()).toBe(ofBoth.length);
});

test('of more than 2,000 leases the page says that it read only these', async () => {
  const page = await made.open();
  const [sample] = await openLeases();
  const asked: string[] = [];
  await page.route('**/v1/leases?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    const limit = Number(query.get('limit'));
    asked.push(`${query.get('cursor')} ${limit}`);
    // The first page is empty, as a page may be.
    const length = query.get('cursor') === null ? 0 : limit;
    const leases = Array.from({ length }, (_, n) => ({ ...sample, worker: `w${n % 7}` }));
    return route.fulfill({ json: { leases, cursor: `c${asked.length}`, scanned: limit } });
  });
  await goTo(page, 'workers');
  await page.getByText('There are more than 2,000 open leases').waitFor();
  expect(asked.slice(0, 3)).toEqual(['null 1000', 'c1 1000', 'c2 1000']);
  const rows = page.getByRole('table', { name: 'Workers' }).locator('tbody tr');
  expect(await rows.count()).toBe(7);
  await button(page, 'Show more of 2,000').click();
  expect(await page.getByRole('table', { name: 'Leases' }).locator('tbody tr').count()).toBe(100);
});
