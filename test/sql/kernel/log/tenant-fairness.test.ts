import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  promote,
  type Run,
  rows,
  value,
} from '../../verbs.ts';

databasePerTest();

const of = (tenant: string, count: number, options: object = {}) =>
  Array.from({ length: count }, () => ({ payload: tenant, tenant, ...options }));
const balance = () => value<number>(client, 'select tock.isolate_tenants()');
const kept = () =>
  value<Record<string, string>>(client, "select heavy from tock.queues where name = 'q'");

/** Light tenants of a queue of 8 lanes. `beside` are those that share a lane with the tenant "heavy". */
async function lights(): Promise<{ all: string[]; beside: string[] }> {
  const claimedRows = await rows<{ tenant: string; beside: boolean }>(
    client,
    `select t as tenant, lane = (hashtext('heavy') & 2147483647) % 8 as beside
     from (select 'light-' || n as t, (hashtext('light-' || n) & 2147483647) % 8 as lane
           from generate_series(1, 40) n) l`,
  );
  const beside = claimedRows.filter((row) => row.beside).map((row) => row.tenant);
  expect(beside.length).toBeGreaterThan(1);
  return { all: claimedRows.map((row) => row.tenant), beside };
}

/** Claims one by one until each tenant has had a run. Returns how many runs of heavy tenants came before each. */
async function heavyBefore(tenants: string[]): Promise<Map<string, number>> {
  const before = new Map<string, number>();
  let heavy = 0;
  for (let claims = 0; before.size < tenants.length; claims++) {
    expect(claims).toBeLessThan(1000);
    const [run] = await claim(client, 'q');
    if (!run) throw new Error('There is nothing left to claim.');
    await complete(client, run.lease);
    const tenant = run.tenant ?? '';
    if (tenant.startsWith('heavy')) heavy++;
    else if (tenants.includes(tenant) && !before.has(tenant)) before.set(tenant, heavy);
  }
  return before;
}

/** Enqueues a task of each tenant, and expects at most so many runs of heavy tenants before each of them. */
async function expectSoon(tenants: string[], most: number, options: object = {}): Promise<void> {
  for (const tenant of tenants) await enqueue(client, 'q', of(tenant, 1, options));
  const before = await heavyBefore(tenants);
  expect([...before].filter(([, count]) => count > most)).toEqual([]);
}

/** Builds a backlog of a tenant by calls of 100 tasks. */
async function backlog(calls: number, options: object = {}): Promise<void> {
  for (let call = 0; call < calls; call++) await enqueue(client, 'q', of('heavy', 100, options));
}

test("a tenant's huge call delays no other tenant's task", async () => {
  const { all } = await lights();
  await enqueue(client, 'q', of('heavy', 8000));
  // Nine lanes have tasks. Five turns of eight lanes claim the 40 light tasks.
  await expectSoon(all, 40);
  const ready = "select ready::integer from tock.queue_stats('q')";
  expect(await value(client, ready)).toBeGreaterThan(7900);
});

test.each([1, 2])(
  'tasks of a huge call are claimed last, but are also claimed while other tasks are ready: by %i',
  async (limit) => {
    const q = `q${limit}`;
    await enqueue(client, q, of('heavy', 2000));
    await enqueue(client, q, of('light', 900));
    let heavy = 0;
    for (let claimed = 0; claimed < 600; claimed += limit) {
      const runs = await claim(client, q, { limit });
      heavy += runs.filter(({ tenant }) => tenant === 'heavy').length;
    }
    // One claim in 24 begins with the heavy tenant's lane, so 25 tasks are heavy, with a deviation of 5 or 7.
    expect(heavy).toBeGreaterThan(0);
    expect(heavy).toBeLessThan(100);
  },
);

test('a tenant that builds a backlog by small calls gets a lane of its own, and other tenants pass it', async () => {
  const { all } = await lights();
  for (let round = 0; round < 20; round++) {
    await backlog(4);
    await balance();
  }
  expect(Object.values(await kept())).toEqual(['heavy']);
  await expectSoon(all, 40);
});

test("a heavy tenant at the end of a lane is found behind other tenants' tasks at its front", async () => {
  const { beside } = await lights();
  const front = await rows<{ tenant: string }>(
    client,
    `select 'front-' || n as tenant from generate_series(1, 200) n
     where (hashtext('front-' || n) & 2147483647) % 8 = (hashtext('heavy') & 2147483647) % 8 limit 6`,
  );
  for (let call = 0; call < 15; call++) {
    for (const { tenant } of front) await enqueue(client, 'q', of(tenant, 10));
  }
  await backlog(20);
  expect(await balance()).toBe(1);
  await expectSoon(beside, 20);
});

test('two heavy tenants of one lane have a lane each, and the light ones a third', async () => {
  const { beside } = await lights();
  const second = await value<string>(
    client,
    `select 'heavy-' || n from generate_series(1, 100) n
     where (hashtext('heavy-' || n) & 2147483647) % 8 = (hashtext('heavy') & 2147483647) % 8 limit 1`,
  );
  for (let call = 0; call < 30; call++) {
    await enqueue(client, 'q', of('heavy', 100));
    await enqueue(client, 'q', of(second, 90));
    if (call % 5 === 4) await balance();
  }
  expect(Object.values(await kept()).sort()).toEqual(['heavy', second].sort());
  await expectSoon(beside, 40);
  await drain(client, 'q', { limit: 1000 });
  await expectInvariants(client);
});

test("a heavy tenant's own lane ends once its tasks are claimed", async () => {
  await backlog(5);
  expect([await balance(), await balance()]).toEqual([1, 0]);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 250 })));
  expect(await balance()).toBe(0);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 100 })));
  expect(await balance()).toBe(1);
  expect(await kept()).toEqual({});
  await drain(client, 'q');
  await expectInvariants(client);
});

test('a heavy tenant whose tasks have options gets a lane of its own too, until these are claimed', async () => {
  const { beside } = await lights();
  const asking = { timeout_seconds: 60 };
  await backlog(12, asking);
  expect([await balance(), await balance()]).toEqual([1, 0]);
  expect(Object.values(await kept())).toEqual(['heavy']);
  await expectSoon(beside, 20, asking);
  await enqueue(client, 'q', of('heavy', 1));
  await drain(client, 'q', { limit: 1000 });
  expect(await balance()).toBe(1);
  expect(await kept()).toEqual({});
  await expectInvariants(client);
});

test('a light tenant that passes a heavy one keeps the order of its concurrency key', async () => {
  const { beside } = await lights();
  const [tenant = ''] = beside;
  const mine = Array.from({ length: 3 }, () => ({ tenant, concurrency_key: 'g' }));
  const ids = await enqueue(client, 'q', mine);
  await backlog(5, { timeout_seconds: 60 });
  expect(await balance()).toBe(1);
  ids.push(...(await enqueue(client, 'q', mine)));
  const lanes = "select distinct lane from tock.waiting where concurrency_key = 'g'";
  expect(await rows(client, lanes)).toHaveLength(2);
  const handedOut: Run[] = [];
  while (handedOut.length < 506) {
    await promote(client);
    const runs = await claim(client, 'q', { limit: 100 });
    await complete(client, leaseOf(runs));
    handedOut.push(...runs);
  }
  const taken = handedOut.filter((run) => run.tenant === tenant);
  expect(taken.map((run) => run.id)).toEqual(ids);
  await expectInvariants(client);
});

test('lanes take turns: tenants with equal backlogs get about equal shares', async () => {
  for (let n = 0; n < 8; n++) await enqueue(client, 'q', of(`even-${n}`, 300));
  const lanes = await value<number>(client, 'select count(*)::integer from tock.streams');
  for (let claims = 0; claims < 400; claims++) expect(await claim(client, 'q')).toHaveLength(1);
  // A claim takes a random lane. So a tenant with its own lane gets its share within 5 standard deviations.
  const share = 400 / lanes;
  const perLane = await rows<{ n: number }>(
    client,
    'select sum(l.runs)::integer as n from tock.leases l group by l.stream',
  );
  expect(perLane).toHaveLength(lanes);
  for (const { n } of perLane) expect(Math.abs(n - share)).toBeLessThan(5 * Math.sqrt(share));
});

test("a light tenant's tasks of one call are claimed in their order", async () => {
  const ids = await enqueue(client, 'q', of('orderly', 500));
  const handedOut = (await drain(client, 'q', { limit: 7 })).flat().map((run) => run.id);
  expect(handedOut).toEqual(ids);
});
