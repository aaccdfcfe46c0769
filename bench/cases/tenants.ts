import type pg from 'pg';
import { connected } from '../cluster.ts';
import type { Case, Group, Run, TestDatabase } from '../types.ts';

const tenants = 10_000;
const heavy = 'heavy';
const perClaim = 100;

type Task = { tenant: string; payload: number };

function shuffled<T>(values: T[]): T[] {
  const keyed = values.map((value) => ({ value, key: Math.random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
}

const others = (each: number): Task[] =>
  Array.from({ length: tenants * each }, (_, n) => ({ tenant: `t${n % tenants}`, payload: n }));
const heavyOnes = (count: number): Task[] =>
  Array.from({ length: count }, (_, n) => ({ tenant: heavy, payload: n }));

/** Enqueues tasks in this order, `perCall` in a call, over several connections at once. */
async function enqueue(clients: pg.Client[], queue: string, tasks: Task[], perCall: number) {
  let next = 0;
  const each = async (client: pg.Client) => {
    while (next < tasks.length) {
      const call = tasks.slice(next, next + perCall);
      next += perCall;
      await client.query('select tock.enqueue($1, $2)', [queue, JSON.stringify(call)]);
    }
  };
  await Promise.all(clients.map(each));
}

async function claim(client: pg.Client, queue: string): Promise<Task[]> {
  const { rows } = await client.query({
    name: 'claim',
    text: 'select lease, tenant, payload from tock.claim($1, null, $2, p_own_transaction => true)',
    values: [queue, perClaim],
  });
  if (rows[0]) await client.query('select * from tock.complete($1)', [rows[0].lease]);
  return rows;
}

/** Claims the backlog. Returns, for each task of another tenant, how many tasks were claimed before it. */
async function drained(client: pg.Client, queue: string, count: number): Promise<number[]> {
  const waits: number[] = [];
  for (let before = 0; before < count; ) {
    const got = await claim(client, queue);
    if (got.length === 0) throw new Error(`${queue}: ${count - before} tasks are not claimed.`);
    for (const [n, { tenant }] of got.entries()) if (tenant !== heavy) waits.push(before + n);
    before += got.length;
  }
  return waits;
}

/** Enqueues half a batch before each claim. Returns how many claims each of the new tasks waits for. */
async function flowing(client: pg.Client, queue: string, claims: number): Promise<number[]> {
  const size = perClaim / 2;
  const waits: number[] = [];
  const all = shuffled(others(1));
  for (let now = 0; now < claims; now++) {
    const tasks = Array.from({ length: size }, (_, n) => {
      const payload = now * size + n;
      return { tenant: all[payload % tenants]?.tenant ?? '', payload };
    });
    await enqueue([client], queue, tasks, size);
    for (const { tenant, payload } of await claim(client, queue)) {
      if (tenant !== heavy) waits.push(now - Math.floor(payload / size) + 1);
    }
  }
  return waits;
}

const at = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? 0;

function described(name: string, unit: string, beside: number[], alone: number[]): Case[] {
  return [0.5, 0.99].map((share) => {
    const [value, base] = [at(beside, share), at(alone, share)];
    return {
      name: `${name}, ${share === 0.5 ? 'median' : 'p99'}`,
      unit: 'times alone',
      tock: value / base,
      floor: null,
      peers: {},
      note: `${value} ${unit}, alone ${base}`,
    };
  });
}

async function backlogs(
  database: TestDatabase,
  clients: pg.Client[],
  each: number,
): Promise<Case[]> {
  const count = tenants * each;
  await enqueue(clients, 'alone', shuffled(others(each)), 100);
  const alone = await drained(database.client, 'alone', count);

  await enqueue(clients, 'bulk', heavyOnes(count), 5000);
  await enqueue(clients, 'bulk', shuffled(others(each)), 100);
  const bulk = await drained(database.client, 'bulk', 2 * count);

  // The heavy tenant's tasks come between others, one by one. The job that runs every 5 s must detect the tenant.
  const mixed = shuffled([...others(each), ...heavyOnes(count)]);
  const early = Math.ceil(mixed.length / 5);
  await enqueue(clients, 'drip', mixed.slice(0, early), 100);
  await database.client.query('select tock.isolate_tenants()');
  await enqueue(clients, 'drip', mixed.slice(early), 100);
  const drip = await drained(database.client, 'drip', 2 * count);

  const unit = 'tasks go before';
  return [
    ...described('wait in a backlog, half of it one tenant in bulk before', unit, bulk, alone),
    ...described('wait in a backlog, half of it one tenant among others', unit, drip, alone),
  ];
}

async function flows(
  database: TestDatabase,
  clients: pg.Client[],
  claims: number,
): Promise<Case[]> {
  const alone = await flowing(database.client, 'flow-alone', claims);
  await enqueue(clients, 'flow-beside', heavyOnes(claims * perClaim), 5000);
  const beside = await flowing(database.client, 'flow-beside', claims);
  return described('wait at half load beside a backlog of one tenant', 'claims', beside, alone);
}

async function measured(run: Run): Promise<Case[]> {
  const tock = run.systems.find(({ name }) => name === 'tock');
  if (!tock) return [];
  const database = await run.open(tock);
  const clients = await Promise.all(Array.from({ length: 4 }, () => connected(database.url)));
  try {
    return [
      ...(await backlogs(database, clients, run.quick ? 2 : 10)),
      ...(await flows(database, clients, run.quick ? 200 : 2000)),
    ];
  } finally {
    for (const client of clients) await client.end();
    await run.close(database);
  }
}

export const groups: Group[] = [{ name: 'tenants', slow: true, run: measured }];
