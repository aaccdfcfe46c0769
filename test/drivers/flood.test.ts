import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { endsPoolName, type Pooler } from '../../scripts/stack/pooler.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';
import { prepare, type TestCluster, testCluster } from '../../scripts/stack/test_cluster.ts';
import { conditionTimeout } from '../timeout.ts';

const name = 'flood';
const MOST = 40;
let made: TestCluster;
let pooler: Pooler | null = null;
let owner: pg.Client;
let watcher: pg.Client;
let key: string;
const log = vi.spyOn(console, 'error').mockImplementation(() => {});
const app = createApp(connect);

const as = (role: string, password: string, port: number, database = name) =>
  `postgres://${role}:${password}@127.0.0.1:${port}/${database}`;

async function opened(connectionString: string | undefined): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  return client;
}

beforeAll(async () => {
  made = await testCluster(name, softly);
  const url = as('tock', made.passwords.owner, made.cluster.port);
  await prepare(url, made.passwords.edge);
  owner = await opened(url);
  watcher = await opened(made.cluster.url(name));
  // With long timeouts a statement waits until the test lets it continue.
  for (const setting of ['lock_timeout', 'statement_timeout']) {
    const own = `in database ${name} set ${setting} = ${conditionTimeout}`;
    await owner.query(`alter role tock_edge ${own}`);
  }
  const { rows } = await owner.query(
    "select key from tock.create_key(p_name => 'flood', p_scopes => '{enqueue,claim,read}')",
  );
  key = rows[0].key;
});
afterEach(async () => {
  log.mockClear();
  await pooler?.stop();
  pooler = null;
});
afterAll(async () => {
  await owner?.end();
  await watcher?.end();
  await made?.close();
});

async function pool(settings: Record<string, number>): Promise<Bindings> {
  pooler = await made.pool({ ends: name, settings });
  const { edge } = made.passwords;
  return {
    DATABASE_URL: as('tock_edge', edge, pooler.port),
    DATABASE_URL_ENDS: as('tock_edge', edge, pooler.port, endsPoolName(name)),
    TOCK_MOST_AT_ONCE: String(MOST),
  };
}

async function send(env: Bindings, path: string, body: object = {}) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const reply = await app.request(path, init, env);
  return { status: reply.status, headers: reply.headers, body: JSON.parse(await reply.text()) };
}

/** Number of statements that wait for the lock of hold(). */
async function hung(): Promise<number> {
  const { rows } = await watcher.query(
    "select count(*)::int as n from pg_stat_activity where usename = 'tock_edge' and wait_event_type = 'Lock'",
  );
  return rows[0].n;
}

let keys = 0;

/** Locks a new unique key: each enqueue with it waits until the returned function is called. */
async function hold(): Promise<() => Promise<unknown>> {
  await owner.query('begin');
  await owner.query(`select tock.enqueue('held', '[{"unique_key": "k${++keys}"}]')`);
  return () => owner.query('commit');
}

const enqueueHeld = (env: Bindings) =>
  send(env, '/v1/queues/held/tasks', { unique_key: `k${keys}`, unique_policy: 'unfinished' });

test('completions are answered while enqueues fill the pool, and enqueues over the limit get a 503', async () => {
  const env = await pool({ default_pool_size: 5, query_wait_timeout: 120 });
  await send(env, '/v1/queues/work/tasks', { tasks: Array.from({ length: 12 }, () => ({})) });
  const leases: string[] = [];
  for (let n = 0; n < 12; n++) {
    leases.push((await send(env, '/v1/queues/work/claim')).body.lease);
  }
  const letGo = await hold();
  let turned = 0;
  const flood = Array.from({ length: MOST + 20 }, async () => {
    const reply = await enqueueHeld(env);
    if (reply.status === 503) turned++;
    return reply;
  });
  await expect.poll(() => turned).toBe(20);
  await expect.poll(hung).toBe(5);
  for (const [n, verb] of ['complete', 'fail', 'release', 'extend'].entries()) {
    const ended = leases.slice(3 * n, 3 * n + 3);
    const replies = ended.map((lease) => send(env, `/v1/leases/${lease}/${verb}`));
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    expect(statuses, verb).toEqual([200, 200, 200]);
  }
  // The flood was still waiting while all these calls ended.
  expect(await hung()).toBe(5);
  expect(turned).toBe(20);
  await letGo();
  const replies = await Promise.all(flood);
  const statuses = Map.groupBy(replies, ({ status }) => status);
  expect([...statuses.keys()].sort()).toEqual([201, 503]);
  expect(statuses.get(201)).toHaveLength(MOST);
  for (const { headers } of statuses.get(503) ?? []) {
    expect(headers.get('retry-after')).toMatch(/^[123]$/);
  }
  expect((await enqueueHeld(env)).status).toBe(201);
});

/** Enqueues where no connection is free. */
async function refused(env: Bindings): Promise<void> {
  const { status, headers, body } = await send(env, '/v1/queues/other/tasks');
  expect([status, body.detail]).toEqual([503, 'All database connections are in use.']);
  expect(body.hint).toMatch(/send more tasks in a call/);
  expect(headers.get('retry-after')).toMatch(/^[123]$/);
}

test('a full pool gives a 503 that says so, with Retry-After', async () => {
  const env = await pool({ default_pool_size: 1, query_wait_timeout: 2, max_client_conn: 3 });
  const letGo = await hold();
  const first = enqueueHeld(env);
  await expect.poll(hung).toBe(1);
  const full = async () => {
    await refused(env);
    return log.mock.calls.flat().join();
  };
  expect(await full()).toContain('query_wait_timeout');
  const idle = [await opened(env.DATABASE_URL), await opened(env.DATABASE_URL)];
  expect(await full()).toContain('max_client_conn');
  for (const client of idle) await client.end();
  await letGo();
  expect((await first).status).toBe(201);
  await expect.poll(async () => (await send(env, '/v1/queues/other/tasks')).status).toBe(201);
});

test('a PostgreSQL without free connections gives such a 503 too, with and without a pooler', async () => {
  const direct = { DATABASE_URL: as('tock_edge', made.passwords.edge, made.cluster.port) };
  const pooled = await pool({ server_login_retry: 1 });
  await owner.query(`alter database ${name} connection limit 0`);
  for (const env of [direct, pooled]) await refused(env);
  await owner.query(`alter database ${name} connection limit -1`);
  for (const env of [direct, pooled]) {
    await expect.poll(async () => (await send(env, '/v1/queues/other/tasks')).status).toBe(201);
  }
});
