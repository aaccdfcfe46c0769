import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { save } from '../sql/features/steps/steps.ts';
import { search } from '../sql/read/search.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  type Run,
  row,
} from '../sql/verbs.ts';
import { useDashboard } from './browser.ts';

const made = useDashboard();

beforeAll(async () => {
  await made.client.query(`select tock.put_queue('shop', '{"max_attempts": 1}')`);
  await enqueue(made.client, 'shop', [{ expires_in_seconds: 0 }]);
  expect(await claim(made.client, 'shop')).toEqual([]);
});

const states = ['ready', 'running', 'waiting', 'dead'] as const;
const ended = ['done', 'cancelled', 'expired'] as const;
/** The tabs of waiting tasks, with their reasons. */
const reasons = {
  'for their time': 'time',
  'for a concurrency key': 'concurrency_key',
  'for parents': 'dependency',
  'for a child': 'child',
  'for an event': 'event',
};
type Counts = Record<string, number>;

/** Enqueues, claims, suspends, cancels and ends tasks in several sessions until `stopped`. */
async function load(stopped: () => boolean): Promise<void> {
  const one = async () => {
    const client = await made.database.connect();
    while (!stopped()) {
      await enqueue(client, 'shop', numberedTasks(7));
      const delayed = numberedTasks(2, 0, { delay_seconds: 3600 });
      const [cancelled] = await enqueue(client, 'shop', delayed);
      await client.query('select tock.cancel($1)', [[cancelled]]);
      const runs = await claim(client, 'shop', { limit: 5, lease_seconds: 3600 });
      if (runs.length < 5) continue;
      const [first, second, third, fourth] = runs as [Run, Run, Run, Run];
      await enqueue(client, 'shop', [{ depends_on: [fourth.id] }]);
      await fail(client, leaseOf(runs), [{ id: first.id, error: 'boom' }]);
      await complete(client, leaseOf(runs), [{ id: second.id }]);
      await save(third, { name: 'paid', event: `shop/${third.id}` }, client);
      await save(fourth, { name: 'ship', invoke: { queue: 'ships' } }, client);
    }
    await client.end();
  };
  await Promise.all([one(), one(), one()]);
}

const ofStats = () =>
  row<Counts & { waiting_for: Counts }>(
    made.client,
    `select ready::int, running::int, waiting::int, dead::int, waiting_for
     from tock.queue_stats('shop')`,
  );
const ofAllQueues = () =>
  row<Counts>(
    made.client,
    `select sum(ready)::int as ready, sum(running)::int as running, sum(waiting)::int as waiting,
       sum(dead)::int as dead
     from tock.queue_stats()`,
  );

/** What the lists have: all pages for each value of a filter. */
async function ofLists(field: 'state' | 'waiting_for', values: readonly string[]): Promise<Counts> {
  const counts: Counts = {};
  for (const value of values) {
    counts[value] = (await search(made.client, { queue: 'shop', [field]: value }, 1000)).length;
  }
  return counts;
}

/** The texts of numbers by their names, without signs between the digits. */
const textsIn = async (page: Page, selector: string, names: readonly string[]) => {
  const texts = await page.locator(selector).allInnerTexts();
  return Object.fromEntries(
    names.map((name) => {
      const text = texts.find((part) => part.toLowerCase().startsWith(name)) ?? '';
      return [name, text.replace(/[^0-9+]/g, '')];
    }),
  );
};

const numbersIn = async (page: Page, selector: string, names: readonly string[]) =>
  Object.fromEntries(
    Object.entries(await textsIn(page, selector, names)).map(([name, text]) => [
      name,
      Number(text),
    ]),
  );

test('the counts of each page are those of queue_stats and of the lists, between bursts of load', async () => {
  const [overview, queue] = [await made.open(), await made.at('queues/shop?state=waiting')];
  for (let burst = 0; burst < 3; burst++) {
    let stopped = false;
    const loading = load(() => stopped);
    // The pages read while tasks come and go.
    await queue.waitForResponse((response) => response.url().includes('/v1/queues/shop'));
    await overview.waitForResponse((response) => response.url().endsWith('/v1/queues'));
    stopped = true;
    await loading;
    const { waiting_for, ...stats } = await ofStats();
    expect(await ofLists('state', states)).toEqual(stats);
    expect(await ofLists('waiting_for', Object.values(reasons))).toEqual(waiting_for);
    const tabs = 'nav[aria-label="Tasks by state"] a';
    await expect.poll(() => numbersIn(queue, tabs, states)).toEqual(stats);
    const byReason = 'nav[aria-label="Waiting tasks by reason"] a';
    const expected = Object.entries(reasons).map(([tab, reason]) => [tab, waiting_for[reason]]);
    await expect
      .poll(() => numbersIn(queue, byReason, Object.keys(reasons)))
      .toEqual(Object.fromEntries(expected));
    const sums = await ofAllQueues();
    await expect.poll(() => numbersIn(overview, '.tiles div', states)).toEqual(sums);
    const line = overview.getByRole('row', { name: /shop/ });
    for (const state of states) {
      const cell = line.locator(`[data-name=${state[0]?.toUpperCase()}${state.slice(1)}]`);
      expect(Number((await cell.innerText()).replace(/[^0-9]/g, ''))).toBe(stats[state]);
    }
  }
  const lists = await ofLists('state', ended);
  expect(lists).toMatchObject({ expired: 1 });
  await queue.reload();
  const tabs = 'nav[aria-label="Tasks by state"] a';
  await expect.poll(async () => (await textsIn(queue, tabs, ended)).done).not.toBe('');
  for (const [state, text] of Object.entries(await textsIn(queue, tabs, ended))) {
    // With a plus sign the tab says that the list has at least as many; without a number, nothing.
    if (!/^\d+$/.test(text)) expect(lists[state]).toBeGreaterThanOrEqual(parseInt(text, 10) || 0);
    else expect([state, Number(text)]).toEqual([state, lists[state]]);
  }
});
