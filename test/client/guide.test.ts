import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ServedApp, serveApp } from '../cli/served.ts';
import { type Database, freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { commandOf, runtimes } from './runtimes.ts';
import { startScript } from './scripts.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-guide-'));
let db: Database;
let server: ServedApp;
let key: string;
let owner: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  server = await serveApp(db);
  owner = await db.connect();
  key = await value(owner, "select key from tock.create_key('k', '{enqueue,claim}')");
});
afterAll(async () => {
  server.close();
  rmSync(folder, { recursive: true });
  await db.drop();
});

const start = (page: string, entry: string, command?: string[]) => {
  const env = { TOCK_URL: server.url, TOCK_KEY: key, DATABASE_URL: db.url };
  return startScript(page, entry, folder, env, command);
};

/** `named`: whether the runtime says the name of the host. */
async function works(command?: string[], named = true): Promise<void> {
  const { child, out, ended } = await start('docs/guides/workers.md', 'tock/client/node', command);
  const lines = ['to ann@a.example: Hello', 'to bob@b.example: Later'];
  const hasAll = () => lines.every((line) => out().includes(`${line}\n`));
  await vi.waitUntil(hasAll, { timeout: conditionTimeout });
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  const [first, second, ...worked] = out().trimEnd().split('\n');
  // On a busy machine both are due before the first claim, which may take them in any order.
  expect([first, second].sort()).toEqual(lines);
  // Bun prints the object on several lines.
  const counts = worked.join(' ').replaceAll(/\s+/g, ' ').replace(', }', ' }');
  expect(counts).toBe('{ done: 2, failed: 0, released: 0, cancelled: 0, lost: 0 }');
  const last = 'select worker from tock.leases where runs > 0 order by claimed_at desc limit 1';
  expect(await value(owner, last)).toBe(named ? `${hostname()}:${child.pid}` : null);
}

test("the guide's worker does the tasks that it enqueues, and ends on SIGTERM", () => works());

test("the README's worker does the task that it enqueues", async () => {
  const { child, out, ended } = await start('README.md', 'tock/client/node');
  await vi.waitUntil(() => out() === 'to ann@a.example: Hello\n', { timeout: conditionTimeout });
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

const linux = process.platform === 'linux' && process.arch === 'x64';
for (const name of Object.keys(runtimes)) {
  test(`the guide's worker runs in ${name}`, async ({ skip }) => {
    skip(!linux, 'It is fetched for Linux on x64 only.');
    // Deno does not say it without --allow-sys=hostname.
    await works(await commandOf(name), name !== 'deno');
  });
}

test("the guide's worker with transactions handles each order once", async () => {
  const admin = await db.connect(db.superUrl);
  await admin.query(
    'create schema shop; create table shop.invoices (order_id integer); grant usage on schema shop to tock; grant insert on shop.invoices to tock',
  );
  await owner.query(
    `select tock.enqueue('orders', '[{"payload": {"id": 7}}, {"payload": {"id": 8}}]')`,
  );
  const { out, ended } = await start('docs/guides/transactions.md', 'tock/client/sql');
  expect(await ended).toBe(0);
  expect(out()).toBe('2\n');
  const { rows } = await admin.query('select order_id from shop.invoices order by 1');
  expect(rows).toEqual([{ order_id: 7 }, { order_id: 8 }]);
});

test("the guide's unit test passes", async () => {
  const { out, ended } = await start('docs/guides/testing.md', 'tock/client/testing');
  expect(await ended).toBe(0);
  expect(out()).toBe("[ 'ann' ]\n");
});
