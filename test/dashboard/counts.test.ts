import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks, rows } from '../sql/verbs.ts';
import { useDashboard } from './browser.ts';

const made = useDashboard();

beforeAll(() => made.client.query(`select tock.put_queue('shop', '{"max_attempts": 1}')`));

const states = ['ready', 'running', 'waiting', 'dead'] as const;
type Counts = Record<(typeof states)[number], number>;

/** Enqueues, claims and ends tasks in several sessions until `stopped`. */
async function load(stopped: () => boolean): Promise<void> {
  const one = async () => {
    const client = await made.database.connect();
    while (!stopped()) {
      await enqueue(client, 'shop', numberedTasks(7));
      await enqueue(client, 'shop', numberedTasks(1, 0, { delay_seconds: 3600 }));
      const runs = await claim(client, 'shop', { limit: 5, lease_seconds: 3600 });
      if (runs.length < 3) continue;
      const [first, second] = runs;
      await fail(client, leaseOf(runs), [{ id: first?.id, error: 'boom' }]);
      await complete(client, leaseOf(runs), [{ id: second?.id }]);
    }
    await client.end();
  };
  await Promise.all([one(), one(), one()]);
}

const ofStats = async () => {
  const stats = 'select ready::int, running::int, waiting::int, dead::int from';
  return (await rows<Counts>(made.client, `${stats} tock.queue_stats('shop')`))[0];
};

/** What the lists have: all pages of each state. */
async function ofLists(): Promise<Counts> {
  const counts = { ready: 0, running: 0, waiting: 0, dead: 0 };
  for (const state of states) {
    let cursor: string | null = null;
    do {
      const [page]: { n: number; cursor: string | null }[] = await rows(
        made.client,
        `select jsonb_array_length(t.tasks) as n, t.cursor
         from tock.tasks(jsonb_build_object('queue', 'shop', 'state', $1::text), $2, 1000) t`,
        [state, cursor],
      );
      counts[state] += page?.n ?? 0;
      cursor = page?.cursor ?? null;
    } while (cursor);
  }
  return counts;
}

const numbersIn = async (page: Page, selector: string, names: readonly string[]) => {
  const texts = await page.locator(selector).allInnerTexts();
  return Object.fromEntries(
    names.map((name) => {
      const text = texts.find((part) => part.toLowerCase().startsWith(name)) ?? '';
      return [name, Number(text.replace(/[^0-9]/g, ''))];
    }),
  );
};

test('the counts of each page are those of queue_stats and of the lists, between bursts of load', async () => {
  const [overview, queue] = [await made.open(), await made.at('queues/shop')];
  for (let burst = 0; burst < 3; burst++) {
    let stopped = false;
    const loading = load(() => stopped);
    // The pages read while tasks come and go.
    await queue.waitForResponse((response) => response.url().includes('/v1/queues/shop'));
    await overview.waitForResponse((response) => response.url().endsWith('/v1/queues'));
    stopped = true;
    await loading;
    const stats = await ofStats();
    expect(await ofLists()).toEqual(stats);
    const tabs = 'nav[aria-label="Tasks by state"] a';
    await expect.poll(() => numbersIn(queue, tabs, states)).toEqual(stats);
    await expect.poll(() => numbersIn(overview, '.tiles div', states)).toEqual(stats);
    const row = overview.getByRole('row', { name: /shop/ });
    for (const state of states) {
      const cell = row.locator(`[data-name=${state[0]?.toUpperCase()}${state.slice(1)}]`);
      expect(Number((await cell.innerText()).replace(/[^0-9]/g, ''))).toBe(stats?.[state]);
    }
  }
});
