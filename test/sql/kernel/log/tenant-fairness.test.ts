import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
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

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((one) => one.drop())));

const of = (tenant: string, count: number, options: object = {}) =>
  Array.from({ length: count }, () => ({ payload: tenant, tenant, ...options }));
const balance = () => value<number>(client, 'select tock.isolate_tenants()');
const kept = () =>
  value<Record<string, string>>(client, "select heavy from tock.queues where name = 'q'");

/** Light tenants of a queue of 8 lanes, and those of them that the heavy one shares its lane with. */
async function lights(): Promise<{ all: string[]; beside: string[] }> {
  const found = await rows<{ tenant: string; beside: boolean }>(
    client,
    `select t as tenant, lane = (hashtext('heavy') & 2147483647) % 8 as beside
     from (select 'light-' || n as t, (hashtext('light-' || n) & 2147483647) % 8 as lane
           from generate_series(1, 40) n) l`,
  );
  const beside = found.filter((one) => one.beside).map((one) => one.tenant);
  expect(beside.length).toBeGreaterThan(1);
  return { all: found.map((one) => one.tenant), beside };
}

/** Claims one by one until each tenant's task was handed out; how many of the heavy one's came before each. */
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

async function expectSoon(tenants: string[], most: number): Promise<void> {
  const before = await heavyBefore(tenants);
  const late = [...before].filter(([, count]) => count > most);
  expect(late).toEqual([]);
}

test("a tenant's huge call stands before nobody else's task", async () => {
  const { all } = await lights();
  await enqueue(client, 'q', of('heavy', 8000));
  for (const tenant of all) await enqueue(client, 'q', of(tenant, 1));
  // nine lanes with something in them: 40 tasks in eight lanes are through after about 5 turns of each
  await expectSoon(all, 40);
  expect(await value(client, "select ready::integer from tock.queue_stats('q')")).toBeGreaterThan(
    7900,
  );
});

test('what comes in bulk is served last, and yet served while others come', async () => {
  await enqueue(client, 'q', of('heavy', 2000));
  await enqueue(client, 'q', of('light', 900));
  let heavy = 0;
  for (let claims = 0; claims < 600; claims++) {
    const [run] = await claim(client, 'q');
    if (run?.tenant === 'heavy') heavy++;
  }
  // one claim in 24 begins with it: 25 of these, give or take 5
  expect(heavy).toBeGreaterThan(0);
  expect(heavy).toBeLessThan(100);
});

test('a tenant that drips its backlog keeps its lane to itself, and newcomers go around it', async () => {
  const { all } = await lights();
  for (let call = 0; call < 80; call++) {
    await enqueue(client, 'q', of('heavy', 100));
    if (call % 4 === 3) await balance();
  }
  expect(Object.values(await kept())).toEqual(['heavy']);
  for (const tenant of all) await enqueue(client, 'q', of(tenant, 1));
  await expectSoon(all, 40);
});

test('a tenant that fills the end of a lane is found behind what others left at its front', async () => {
  const { beside } = await lights();
  const front = await rows<{ tenant: string }>(
    client,
    `select 'front-' || n as tenant from generate_series(1, 200) n
     where (hashtext('front-' || n) & 2147483647) % 8 = (hashtext('heavy') & 2147483647) % 8 limit 6`,
  );
  for (let call = 0; call < 15; call++) {
    for (const { tenant } of front) await enqueue(client, 'q', of(tenant, 10));
  }
  for (let call = 0; call < 20; call++) await enqueue(client, 'q', of('heavy', 100));
  expect(await balance()).toBe(1);
  for (const tenant of beside) await enqueue(client, 'q', of(tenant, 1));
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
  for (const tenant of beside) await enqueue(client, 'q', of(tenant, 1));
  await expectSoon(beside, 40);
  await drain(client, 'q', { limit: 1000 });
  await expectInvariants(client);
});

test('a lane is given back once it has been worked off', async () => {
  for (let call = 0; call < 5; call++) await enqueue(client, 'q', of('heavy', 100));
  expect([await balance(), await balance()]).toEqual([1, 0]);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 250 })));
  expect(await balance()).toBe(0);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 100 })));
  expect(await balance()).toBe(1);
  expect(await kept()).toEqual({});
  await drain(client, 'q');
  await expectInvariants(client);
});

test('a tenant whose tasks have options keeps its lane to itself like any other', async () => {
  const { beside } = await lights();
  const asking = { timeout_seconds: 60 };
  for (let call = 0; call < 12; call++) await enqueue(client, 'q', of('heavy', 100, asking));
  expect(await balance()).toBe(1);
  expect(Object.values(await kept())).toEqual(['heavy']);
  for (const tenant of beside) await enqueue(client, 'q', of(tenant, 1, asking));
  await expectSoon(beside, 20);
  await drain(client, 'q', { limit: 1000 });
  await expectInvariants(client);
});

test('a lane filled by tasks with options is given back once those have been worked off', async () => {
  const asking = { timeout_seconds: 60 };
  for (let call = 0; call < 5; call++) await enqueue(client, 'q', of('heavy', 100, asking));
  await enqueue(client, 'q', of('heavy', 1));
  expect([await balance(), await balance()]).toEqual([1, 0]);
  expect(Object.values(await kept())).toEqual(['heavy']);
  await drain(client, 'q', { limit: 1000 });
  expect(await balance()).toBe(1);
  expect(await kept()).toEqual({});
});

test('a light tenant that goes around a heavy one keeps the order of its concurrency key', async () => {
  const { beside } = await lights();
  const [tenant = ''] = beside;
  const mine = Array.from({ length: 3 }, () => ({ tenant, concurrency_key: 'g' }));
  const ids = await enqueue(client, 'q', mine);
  for (let call = 0; call < 5; call++) {
    await enqueue(client, 'q', of('heavy', 100, { timeout_seconds: 60 }));
  }
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

test("lanes take turns: with each tenant's backlog as long, none is far behind", async () => {
  const tenants = Array.from({ length: 8 }, (_, n) => `even-${n}`);
  for (const tenant of tenants) await enqueue(client, 'q', of(tenant, 300));
  const lanes = await value<number>(client, 'select count(*)::integer from tock.streams');
  const seen = new Map<string, number>();
  for (let claims = 0; claims < 400; claims++) {
    const [run] = await claim(client, 'q');
    seen.set(run?.tenant ?? '', (seen.get(run?.tenant ?? '') ?? 0) + 1);
  }
  // every lane at random: alone in a lane, a tenant gets its share within 5 deviations
  const share = 400 / lanes;
  expect([...seen.values()].reduce((a, b) => a + b)).toBe(400);
  const perLane = await rows<{ n: number }>(
    client,
    'select sum(l.runs)::integer as n from tock.leases l group by l.stream',
  );
  expect(perLane).toHaveLength(lanes);
  for (const { n } of perLane) expect(Math.abs(n - share)).toBeLessThan(5 * Math.sqrt(share));
});

test("a tenant's tasks that one call brings are handed out in their order while it is light", async () => {
  const ids = await enqueue(client, 'q', of('orderly', 500));
  const handedOut = (await drain(client, 'q', { limit: 7 })).flat().map((run) => run.id);
  expect(handedOut).toEqual(ids);
});
