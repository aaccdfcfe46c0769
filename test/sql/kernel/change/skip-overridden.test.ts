import type pg from 'pg';
import { expect, test } from 'vitest';
import { watchPlans } from '../../plans.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, complete, drain, enqueue, leaseOf, numberedTasks, value } from '../../verbs.ts';
import { startNextSegment } from '../segment/segments.ts';
import { invariantsAfterEach } from '../sessions.ts';
import { cancel, claimWithState } from './changes.ts';

databasePerTest();
invariantsAfterEach();

/** Enqueues tasks that follow each other in one stream: up to 5,000 tasks of a call share a stream. */
async function inARow(count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count)
    ids.push(...(await enqueue(client, 'q', numberedTasks(Math.min(5000, count - ids.length)))));
  return ids;
}

async function cancelAll(ids: string[]): Promise<void> {
  for (let n = 0; n < ids.length; n += 10_000) await cancel(client, ids.slice(n, n + 10_000));
}

/** Makes a call, and returns its answer and the most rows that one scan read of the tables that grow. */
async function readBy<T>(call: (on: pg.Client) => Promise<T>): Promise<[T, number]> {
  const on = await db.connect(db.superUrl);
  await call(on);
  const plans = await watchPlans(on);
  const answer = await call(on);
  await plans.stop();
  const most = plans
    .scans()
    .filter(({ table }) =>
      /^(runs|leases|results|run_overrides)(_\d+)?$|^(waiting|promotions)$/.test(table),
    );
  return [answer, Math.max(0, ...most.map((scan) => scan.rows))];
}

test('claims skip 50,000 cancelled runs in a row 10,000 at a time, and reach the runs behind them', async () => {
  const ids = await inARow(50_000);
  await cancelAll(ids);
  const [behind] = await enqueue(client, 'q', numberedTasks(1));
  const [lower] = await enqueue(client, 'q', numberedTasks(1, 0, { priority: 9 }));
  // The second call is measured. It reads up to 10,000 runs with their overrides.
  const [answer, most] = await readBy((on) => claimWithState(on, 'q'));
  expect(answer).toEqual({ runs: 0, answer: 'passing' });
  expect(most).toBeGreaterThan(9_000);
  expect(most).toBeLessThan(21_000);
  expect(await value(client, 'select sum(skipped)::int from tock.leases')).toBe(20_000);
  for (let n = 0; n < 2; n++)
    expect(await claimWithState(client, 'q')).toEqual({ runs: 0, answer: 'passing' });
  expect((await claim(client, 'q')).map((run) => run.id)).toEqual([behind]);
  expect(await value(client, 'select sum(skipped)::int from tock.leases')).toBe(50_000);
  expect((await claim(client, 'q')).map((run) => run.id)).toEqual([lower]);
  expect(await claimWithState(client, 'q')).toEqual({ runs: 0, answer: 'empty' });
});

test('a claim skips 10,000 cancelled runs altogether over many streams', async () => {
  const ids = await enqueue(client, 'q', numberedTasks(25_000));
  await cancelAll(ids);
  const [behind] = await enqueue(client, 'q', numberedTasks(1, 0, { priority: 6 }));
  const passed = () => value<number>(client, 'select sum(skipped)::int from tock.leases');
  for (const expected of [10_000, 20_000]) {
    expect(await claimWithState(client, 'q')).toEqual({ runs: 0, answer: 'passing' });
    expect(await passed()).toBe(expected);
  }
  expect((await claim(client, 'q')).map((run) => run.id)).toEqual([behind]);
  expect(await passed()).toBe(25_000);
});

test.each([1, 7, 100])(
  'claims of %i return that many when every second run is cancelled, and read no more than needed',
  async (limit) => {
    const ids = await inARow(20_000);
    await cancelAll(ids.filter((_, n) => n % 2 === 0));
    const [runs, most] = await readBy((on) => claim(on, 'q', { limit }));
    expect(runs).toHaveLength(limit);
    expect(runs.map((run) => run.id)).toEqual(ids.filter((_, n) => n % 2).slice(limit, 2 * limit));
    expect(most).toBeLessThan(4 * limit + 150);
    const rest = (await drain(client, 'q', { limit: 5000 })).map((part) => part.length);
    expect(rest.reduce((sum, count) => sum + count, 0)).toBe(10_000 - 2 * limit);
    // A lease row stores up to 1,000 skipped runs.
    expect(Math.max(...rest)).toBeGreaterThanOrEqual(1000);
    const skipped = 'select max(cardinality(skips)) from tock.leases';
    expect(await value(client, skipped)).toBeLessThanOrEqual(1000);
  },
);

test('a single override far ahead does not slow a claim before it is near', async () => {
  const ids = await inARow(1000);
  await cancel(client, [ids[900] as string]);
  const on = await db.connect(db.superUrl);
  const plans = await watchPlans(on);
  for (let n = 0; n < 8; n++) expect(await claim(on, 'q', { limit: 100 })).toHaveLength(100);
  // Counts the scans of pass_overridden().
  const slow = () =>
    plans.scans().filter(({ query }) => query.startsWith('select r.position, r.timeout_seconds'))
      .length;
  expect(slow()).toBe(0);
  expect(await claim(on, 'q', { limit: 150 })).toHaveLength(150);
  expect(slow()).toBeGreaterThan(0);
  expect(await claim(on, 'q', { limit: 150 })).toHaveLength(49);
  await plans.stop();
});

test.each([1, 9])(
  'a claim of %i in a transaction continues behind cancelled runs at the boundary of a segment',
  async (limit) => {
    await enqueue(client, 'q', numberedTasks(1));
    await complete(client, leaseOf(await claim(client, 'q')));
    await startNextSegment(client);
    const [gone, next] = (await enqueue(client, 'q', numberedTasks(2))) as [string, string];
    await cancel(client, [gone]);
    await client.query('begin');
    expect((await claim(client, 'q', { limit })).map((run) => run.id)).toEqual([next]);
    await client.query('commit');
  },
);

test('claim_state answers for its own claim, not an earlier one', async () => {
  await cancel(client, await inARow(2));
  await enqueue(client, 'other', numberedTasks(1));
  await client.query('begin');
  expect(await claimWithState(client, 'q')).toEqual({ runs: 0, answer: 'empty' });
  expect((await claimWithState(client, 'other'))?.answer).toBe('found');
  expect((await claimWithState(client, 'other'))?.answer).toBe('empty');
  await client.query('commit');
  await client.query(`select tock.put_queue('other', '{"paused": true}')`);
  expect((await claimWithState(client, 'other'))?.answer).toBe('paused');
});

test('a claim continues in the next segment when all runs left in one are skipped', async () => {
  const [gone] = (await enqueue(client, 'q', numberedTasks(1))) as [string];
  await startNextSegment(client);
  const ids = await enqueue(client, 'q', numberedTasks(5));
  await cancel(client, [gone]);
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual(ids);
});
